"""Columns of a sampled page: each name once, each link once, in the order of the page."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.site.sampled_pages import NameColumn, SampledLinks

NUMBERS = st.sampled_from([0, 1, 255, 2**63, 2**64 - 1])


@given(st.lists(st.text(max_size=2) | st.sampled_from(["", "\ud800", "\u0416 b"])))
def test_names_are_kept_once_and_read_in_their_order(names: list[str]) -> None:
    column = NameColumn.of(names)
    assert list(column) == names
    assert column.names == tuple(dict.fromkeys(names))


@pytest.mark.parametrize("many", [255, 256, 257, 70_000])
def test_columns_of_many_names(many: int) -> None:
    names = [str(n) for n in range(many)]
    assert list(NameColumn.of(names * 2)) == names * 2


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS)))
def test_links_are_the_distinct_rows_in_their_order(rows: list[tuple[int, int, int]]) -> None:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    links = SampledLinks.distinct(*map(list, columns))
    assert list(links) == list(dict.fromkeys(rows))
    assert links.counts() == Counter(link_path for link_path, _, _ in links)


@pytest.mark.parametrize("many", [256, 257, 70_000])
def test_links_of_many_places(many: int) -> None:
    links = SampledLinks.distinct([*range(many)] * 2, [*range(many)] * 2, [7] * 2 * many)
    assert list(links) == [(n, n, 7) for n in range(many)]


@pytest.mark.parametrize("columns", [([1], [], []), ([], [], [1])])
def test_columns_of_different_length_are_refused(columns: tuple[list[int], list[int], list[int]]) -> None:
    with pytest.raises(ValueError, match="zip"):
        SampledLinks.distinct(*columns)
