"""Cuts of a pattern tree, worked by hand: description length, and transits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkscore_scoring.browse_logs.cuts import (
    mdl_cut,
    totals,
    transit_cut,
)

# 0 -> 1, 2; 1 -> 3, 4; 2 -> 5, 6
PARENTS = np.array([-1, 0, 0, 1, 1, 2, 2])
LEAVES = np.array([False, False, False, True, True, True, True])


def cut(transits: list[tuple[int, int, int]], threshold: float = 0.9) -> list[int]:
    """Return the leaves after merging."""
    sources, targets, counts = (np.array(column) for column in zip(*transits, strict=True))
    kept = transit_cut(PARENTS, LEAVES, sources, targets, counts.astype(float), threshold=threshold)
    return np.flatnonzero(kept).tolist()


def test_siblings_reached_from_siblings_are_alike_by_their_common_parent() -> None:
    """5 is reached from 3 and 6 from 4: (1, 0, .5) and (0, 1, .5) have cosine .25 / 1.25 = .2; both lead
    nowhere, cosine 1; together .6.
    """
    ways = [(3, 5, 10), (4, 6, 10)]
    assert cut(ways, threshold=0.61) == [3, 4, 5, 6]
    assert cut(ways, threshold=0.59) == [1, 2], "3 and 4 are as alike by where they lead"


def test_a_merged_node_is_compared_by_the_sum_of_its_children() -> None:
    """Both pairs merge, then their parents, which by now only go to themselves and each other alike."""
    ways = [(a, b, 10) for a in (3, 4, 5, 6) for b in (3, 4, 5, 6)]
    assert cut(ways) == [0]


@settings(deadline=None)  # the first example imports scipy
@given(st.lists(st.tuples(st.integers(3, 6), st.integers(3, 6), st.integers(1, 50)), min_size=1, max_size=12))
def test_what_is_left_is_a_cut_and_shrinks_with_the_threshold(ways: list[tuple[int, int, int]]) -> None:
    loose, strict = cut(ways, 0.3), cut(ways, 0.95)
    for kept in (loose, strict):
        for leaf in (3, 4, 5, 6):
            above = [leaf, int(PARENTS[leaf]), 0]
            assert len(set(above) & set(kept)) == 1
    assert len(loose) <= len(strict)


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


def description_length(sizes: np.ndarray, visits: np.ndarray, *, weighted: bool = True) -> float:
    """L(cut) + L(URLs | cut) in nats of the patterns of a cut (eqs. 1 to 4), each URL as often as visited.

    Not weighted: the paper's eq. 3 with the missing logarithm put back.
    """
    total = float(visits.sum())
    of_model = (len(sizes) - 1) / 2 * math.log(total)  # eq. 2
    rows = [(size, n) for size, n in zip(sizes, visits, strict=True) if n or not weighted]
    return of_model + sum((n if weighted else size) * math.log(size * total / n) for size, n in rows)


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
