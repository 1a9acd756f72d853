"""The cut of least description length: the dynamic program is exact, and the formula is what it should be."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkscore_scoring.browse_logs.behavior.mdl_cut import description_length, mdl_cut, totals


@st.composite
def trees(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw parents, sizes and visits of a small tree; leaves have URLs, all may have visits."""
    n = draw(st.integers(1, 9))
    parents = np.array([-1, *(draw(st.integers(0, at - 1)) for at in range(1, n))])
    leaf = ~np.isin(np.arange(n), parents)
    sizes = np.where(leaf, [draw(st.integers(1, 40)) for _ in range(n)], 0)
    visits = np.where(leaf, [draw(st.integers(0, 400)) for _ in range(n)], 0)
    return parents, totals(parents, sizes.astype(float)), totals(parents, visits.astype(float))


def cuts(parents: np.ndarray, at: int = 0) -> Iterator[list[int]]:
    """Yield every cut of the subtree of a node."""
    yield [at]
    children = [c for c in range(len(parents)) if parents[c] == at]
    if not children:
        return
    ways: list[list[int]] = [[]]
    for child in children:
        ways = [[*way, *cut] for way in ways for cut in cuts(parents, child)]
    yield from ways


@given(trees())
@settings(max_examples=150, deadline=None)
def test_the_cut_is_the_best_of_all(tree: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    parents, sizes, visits = tree
    found = np.flatnonzero(mdl_cut(parents, sizes, visits))
    if visits[0] <= 1:
        assert found.tolist() == [0]
        return
    best = min(description_length(sizes[cut], visits[cut]) for cut in cuts(parents))
    assert description_length(sizes[found], visits[found]) == pytest.approx(best)


@given(trees())
@settings(max_examples=150, deadline=None)
def test_the_printed_form_always_prefers_the_root(tree: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    """Eq. 3 without the visits as weights: merging never costs, so the formula cannot be meant so."""
    parents, sizes, visits = tree
    for cut in cuts(parents):
        if (visits[cut] > 0).all():
            root = description_length(sizes[:1], visits[:1], weighted=False)
            assert root <= description_length(sizes[cut], visits[cut], weighted=False) + 1e-9


def test_lengths_worked_by_hand() -> None:
    """Two patterns, 1 URL with 90 visits and 9 URLs with 10: eq. 2 gives ln(100) / 2, eq. 3 the rest."""
    sizes, visits = np.array([1.0, 9.0]), np.array([90.0, 10.0])
    expected = 0.5 * math.log(100) + 90 * math.log(100 / 90) + 10 * math.log(9 * 100 / 10)
    assert description_length(sizes, visits) == pytest.approx(expected)
    assert description_length(np.array([10.0]), np.array([100.0])) == pytest.approx(100 * math.log(10))


def test_siblings_that_are_visited_alike_merge_and_others_do_not() -> None:
    parents = np.array([-1, 0, 0])
    alike = mdl_cut(parents, np.array([20.0, 10.0, 10.0]), np.array([101.0, 50.0, 51.0]))
    unlike = mdl_cut(parents, np.array([20.0, 10.0, 10.0]), np.array([101.0, 100.0, 1.0]))
    assert alike.tolist() == [True, False, False]
    assert unlike.tolist() == [False, True, True]


def test_a_pattern_without_visits_costs_only_its_place() -> None:
    parents = np.array([-1, 0, 0])
    assert mdl_cut(parents, np.array([2.0, 1.0, 1.0]), np.array([900.0, 900.0, 0.0])).tolist() == [
        False,
        True,
        True,
    ]
