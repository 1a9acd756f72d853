"""Columns of a sampled page: the kernels give what Python does; without them these are skipped."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("linkscore_native", reason="the compiled kernels are not installed: make native")

import linkscore_native
from linkscore_scoring.site import sampled_pages
from linkscore_scoring.site.sampled_pages import NameColumn, SampledLinks

NUMBERS = st.sampled_from([0, 1, 255, 2**63, 2**64 - 1])


def both(make: Any, *columns: Any) -> list[Any]:
    """Return what is made of columns by Python and by the kernels."""
    made = []
    for kernels in (None, linkscore_native):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sampled_pages, "kernels", kernels)
            made.append(make(*columns))
    return made


@given(st.lists(st.text(max_size=2) | st.sampled_from(["", "\ud800", "\u0416 b"])))
def test_names_are_numbered_alike(names: list[str]) -> None:
    pure, compiled = both(NameColumn.of, names)
    assert list(pure) == list(compiled) == names
    assert pure.names == compiled.names


@pytest.mark.parametrize("many", [255, 256, 257, 70_000])
def test_columns_of_many_names(many: int) -> None:
    names = [str(n) for n in range(many)]
    pure, compiled = both(NameColumn.of, names * 2)
    assert list(pure) == list(compiled) == names * 2


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS)))
def test_distinct_rows_are_the_same(rows: list[tuple[int, int, int]]) -> None:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    pure, compiled = both(SampledLinks.distinct, *map(list, columns))
    assert pure == compiled
    assert list(pure) == list(dict.fromkeys(rows))
    assert pure.counts() == Counter(apath for apath, _, _ in pure)


@pytest.mark.parametrize("many", [256, 257, 70_000])
def test_links_of_many_places(many: int) -> None:
    pure, compiled = both(SampledLinks.distinct, [*range(many)] * 2, [*range(many)] * 2, [7] * 2 * many)
    assert pure == compiled
    assert list(pure) == [(n, n, 7) for n in range(many)]


def test_columns_of_different_length_are_refused() -> None:
    for columns in ([1], [], []), ([], [], [1]):
        with pytest.raises(ValueError, match="length"):
            linkscore_native.distinct_links(*columns)
