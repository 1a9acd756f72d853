"""The cut of a pattern tree, worked by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkscore_research.behavior.cuts import mdl_cut, pruned
from linkscore_scoring.browse_logs.behavior import totals
from linkscore_scoring.browse_logs.patterns import key_values, pattern_tree

URLS = [
    "http://h/",
    *(f"http://h/tag/t{n}" for n in range(30)),
    *(f"http://h/show.php?t={n}" for n in range(20)),
    *(f"http://h/show.php?start=10&t={n}" for n in range(12)),
]


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


def test_pruning_moves_urls_to_the_leaf_above_them() -> None:
    tree, leaf = pattern_tree(URLS)
    cut = np.zeros(len(tree), dtype=bool)
    cut[list(tree.nodes[0].children.values())] = True
    kept, ids = pruned(tree, cut)
    assert kept.leaves().sum() == cut.sum()
    assert [kept.match(key_values(url)) for url in URLS] == [(at, True) for at in ids[leaf].tolist()]
