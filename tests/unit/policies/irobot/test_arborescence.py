"""Spanning trees of small graphs by hand, and against trying every tree."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from linkscore_scoring.policies.irobot.arborescence import maximum_arborescence


def test_without_cycles_every_vertex_takes_its_heaviest_arc() -> None:
    weights = {(0, 1): 1.0, (0, 2): 5.0, (1, 2): 2.0, (2, 1): 0.5, (2, 3): 1.0}
    assert maximum_arborescence(0, weights) == {1: 0, 2: 0, 3: 2}


def test_a_cycle_is_entered_where_it_costs_least() -> None:
    """1 and 2 prefer each other (10 + 10); entering at 1 gives 5 + 10, at 2 gives 1 + 10."""
    weights = {(0, 1): 5.0, (0, 2): 1.0, (1, 2): 10.0, (2, 1): 10.0}
    assert maximum_arborescence(0, weights) == {1: 0, 2: 1}


def test_cycles_inside_cycles_are_opened_too() -> None:
    """1-2 is a cycle, and merged it forms one with 3; the only way in is 0 -> 3."""
    weights = {(1, 2): 9.0, (2, 1): 9.0, (2, 3): 8.0, (3, 1): 7.0, (0, 3): 1.0}
    assert maximum_arborescence(0, weights) == {3: 0, 1: 3, 2: 1}


def test_arcs_into_the_root_loops_and_unreachable_vertices_do_not_count() -> None:
    weights = {(0, 1): 1.0, (1, 0): 9.0, (1, 1): 9.0, (5, 1): 9.0, (5, 6): 1.0}
    assert maximum_arborescence(0, weights) == {1: 0}
    assert maximum_arborescence(0, {}) == {}


def test_of_equal_arcs_the_one_from_the_smaller_vertex_is_taken() -> None:
    assert maximum_arborescence(0, {(0, 1): 1.0, (0, 2): 1.0, (1, 3): 2.0, (2, 3): 2.0})[3] == 1


@pytest.mark.parametrize("seed", range(20))
def test_no_other_tree_weighs_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    arcs = [(u, v) for u in range(5) for v in range(1, 5) if (u != v and rng.random() < 0.7) or u == 0 < v]
    weights = {arc: float(rng.integers(1, 20)) for arc in arcs}
    found = maximum_arborescence(0, weights)
    assert sum(weights[u, v] for v, u in found.items()) == _best(weights)


def _best(weights: dict[tuple[int, int], float]) -> float:
    choices = [[u for u, w in weights if w == v] for v in range(1, 5)]
    trees = [dict(zip(range(1, 5), parents, strict=True)) for parents in product(*choices)]
    return max(sum(weights[u, v] for v, u in tree.items()) for tree in trees if _is_tree(tree))


def _is_tree(parents: dict[int, int]) -> bool:
    for vertex in parents:
        at, steps = vertex, 0
        while at in parents and steps <= len(parents):
            at, steps = parents[at], steps + 1
        if at != 0:
            return False
    return True
