"""The threshold with most hits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.browse_logs.news.calibration import NewsThreshold, fit_threshold


def fitted(pages: list[tuple[float, bool]]) -> NewsThreshold | None:
    return fit_threshold(np.array([v for v, _ in pages]), np.array([n for _, n in pages], dtype=np.bool_))


def test_kinds_that_are_parted_clean_are_parted_midway() -> None:
    assert fitted([(1.0, False), (4.0, True), (2.0, False)]) == NewsThreshold(3.0, 3, 0, 0, 3)


def test_of_equals_the_larger_threshold_counts() -> None:
    # Below 2 | between 2 and 3 | above: cuts at 1.5 and 3.5 have 3 hits each, 2.5 has 2.
    found = fitted([(1.0, False), (2.0, True), (3.0, False), (4.0, True)])
    assert found == NewsThreshold(3.5, 3, 1, 0, 4)


def test_misses_and_false_alarms_are_counted_apart() -> None:
    found = fitted([(1.0, False), (1.0, True), (2.0, False), (3.0, True), (4.0, True), (5.0, False)])
    assert found == NewsThreshold(2.5, 4, 1, 1, 6)


@pytest.mark.parametrize(
    "pages", [[], [(1.0, True)], [(1.0, True), (2.0, True)], [(1.0, True), (1.0, False)]]
)
def test_pages_that_cannot_be_parted_fit_nothing(pages: list[tuple[float, bool]]) -> None:
    assert fitted(pages) is None


@given(st.lists(st.tuples(st.integers(0, 8).map(float), st.booleans()), min_size=2, max_size=30))
def test_no_midpoint_has_more_hits(pages: list[tuple[float, bool]]) -> None:
    found = fitted(pages)
    if found is None:
        return
    values = sorted({value for value, _ in pages})
    hits = {
        cut: sum((value > cut) == news for value, news in pages)
        for cut in ((a + b) / 2 for a, b in pairwise(values))
    }
    assert found.hits == max(hits.values())
    assert found.value == max(cut for cut, n in hits.items() if n == found.hits)
    assert found.hits + found.misses + found.false_alarms == found.n == len(pages)
