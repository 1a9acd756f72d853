"""The heaviest tree of arcs away from a root (Chu and Liu 1965, Edmonds 1967)."""

from __future__ import annotations

from collections.abc import Mapping

Arc = tuple[int, int]


def maximum_arborescence(root: int, weights: Mapping[Arc, float]) -> dict[int, int]:
    """Return the parent of every vertex reached from the root, such that the weights add up to most.

    Notes
    -----
    Cost O(vertices x arcs). Every vertex takes its heaviest arc; a cycle that arises is contracted to one
    vertex, arcs into it are charged with the arc they would replace, and the smaller graph is solved.

    Examples
    --------
    >>> maximum_arborescence(0, {(0, 1): 1.0, (1, 2): 5.0, (2, 1): 4.0, (0, 2): 1.0})  # child: parent
    {1: 0, 2: 1}
    """
    reached = _reached(root, weights)
    inner = {(u, v): weight for (u, v), weight in weights.items() if u in reached and v != root and u != v}
    return _solve(inner)


def _reached(root: int, weights: Mapping[Arc, float]) -> set[int]:
    below: dict[int, list[int]] = {}
    for u, v in weights:
        below.setdefault(u, []).append(v)
    reached, waiting = {root}, [root]
    while waiting:
        new = [v for v in below.get(waiting.pop(), []) if v not in reached]
        reached.update(new)
        waiting += new
    return reached


def _solve(weights: Mapping[Arc, float]) -> dict[int, int]:
    parents = _heaviest(weights)
    cycle = _cycle(parents)
    if not cycle:
        return parents
    merged = max(max(arc) for arc in weights) + 1
    smaller: dict[Arc, float] = {}
    stands_for: dict[Arc, Arc] = {}
    for (u, v), weight in sorted(weights.items()):
        if u in cycle and v in cycle:
            continue
        arc = (merged if u in cycle else u, merged if v in cycle else v)
        gain = weight - weights[parents[v], v] if v in cycle else weight
        if arc not in smaller or gain > smaller[arc]:
            smaller[arc], stands_for[arc] = gain, (u, v)
    return _expanded(_solve(smaller), stands_for, {v: parents[v] for v in cycle})


def _expanded(
    parents: dict[int, int], stands_for: Mapping[Arc, Arc], cycle: dict[int, int]
) -> dict[int, int]:
    """Return the parents with a contracted cycle opened where the tree enters it."""
    opened = dict(cycle)
    for v, u in parents.items():
        source, target = stands_for[u, v]
        opened[target] = source
    return opened


def _heaviest(weights: Mapping[Arc, float]) -> dict[int, int]:
    parents: dict[int, int] = {}
    for (u, v), weight in sorted(weights.items()):
        if v not in parents or weight > weights[parents[v], v]:
            parents[v] = u
    return parents


def _cycle(parents: Mapping[int, int]) -> set[int]:
    """Return the vertices of one cycle of parents, empty if there is none."""
    done: set[int] = set()
    for start in parents:
        path: dict[int, None] = {}
        at = start
        while at in parents and at not in done and at not in path:
            path[at] = None
            at = parents[at]
        if at in path:
            met = list(path)
            return set(met[met.index(at) :])
        done.update(path)
    return set()
