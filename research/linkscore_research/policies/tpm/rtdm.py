"""How alike two pages are as trees: the restricted top-down distance (RTDM) of Reis 2004.

Nodes are matched level by level below matched parents only, in order, so two trees cost one table of their
children for each pair of matched nodes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.hashing import hash64

_DIGITS = re.compile(r"\d+")
MAX_NODES, MAX_CHILDREN, MAX_DEPTH = 1_000, 200, 128
"""Bounds of a tree, against hostile pages; what lies beyond is left out of the comparison. Chosen, not
measured.
"""


@dataclass(frozen=True, slots=True)
class Tree:
    """An ordered labelled tree."""

    label: str  # Label of the root
    children: tuple[Tree, ...] = ()  # Trees below it, in order
    size: int = field(init=False)  # Number of nodes
    digest: int = field(init=False)  # 64-bit hash of labels and shape: equal trees have equal ones

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", 1 + sum(child.size for child in self.children))
        below = ",".join(str(child.digest) for child in self.children)
        object.__setattr__(self, "digest", hash64(f"{self.label}({below})"))


def tree_of(paths: PathTrie) -> Tree:
    """Return the tag paths of a page as a tree of element names with their classes below a nameless root.

    Differences from the paper, which compares whole documents by element names: a `PathTrie` holds each
    (parent, tag, class) once, so repeated elements of one class are one node and lists of different length
    are alike; elements that display nothing are missing; names carry their classes, digits as ``#``, for
    templates of today share their elements and differ in classes.
    """
    below: list[list[Tree]] = [[] for _ in range(min(len(paths.parents), MAX_NODES) + 1)]
    depths = _depths(paths, len(below) - 1)
    for node in range(len(below) - 2, -1, -1):
        if depths[node] < MAX_DEPTH:
            below[paths.parents[node] + 1].append(Tree(_label(paths, node), _in_order(below[node + 1])))
    return Tree("", _in_order(below[0]))


def _label(paths: PathTrie, node: int) -> str:
    classes = paths.classes[node]
    return f"{paths.tags[node]}.{_DIGITS.sub('#', classes)}" if classes else paths.tags[node]


def _in_order(backwards: list[Tree]) -> tuple[Tree, ...]:
    """Return trees met from the last to the first in document order, the first `MAX_CHILDREN` of them."""
    return tuple(reversed(backwards[-MAX_CHILDREN:]))


def _depths(paths: PathTrie, n: int) -> list[int]:
    depths: list[int] = []
    for parent in paths.parents[:n]:
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
    return depths


def distance(a: Tree, b: Tree) -> int:
    """Return the cost of turning `a` into `b`: inserting, deleting or renaming a node costs 1; symmetric.

    The two roots count as equal whatever their labels. Below them, nodes of different labels share nothing:
    one is renamed, everything under it deleted and inserted.

    Notes
    -----
    Cost O(|a| |b|) at worst, a second for two pages made to be slow, 0.2 ms for pages of usual sites: equal
    subtrees are told by their digest, and a pair whose sizes alone cost too much is not looked into. Source:
    Reis 2004 as used by Vidal 2006, section 3.
    """
    return _distance(a, b, {})


def similarity(a: Tree, b: Tree) -> float:
    """Return 1 - distance / (|a| + |b|), in [0, 1]; 1 for equal trees."""
    return 1.0 - distance(a, b) / (a.size + b.size)


def _distance(a: Tree, b: Tree, known: dict[tuple[int, int], int]) -> int:
    if a.digest == b.digest:
        return 0
    pair = a.digest, b.digest
    if pair not in known:
        known[pair] = _children_distance(a, b, known)
    return known[pair]


def _children_distance(a: Tree, b: Tree, known: dict[tuple[int, int], int]) -> int:
    above = [0]
    for y in b.children:
        above.append(above[-1] + y.size)
    for x in a.children:
        row = [above[0] + x.size]
        for j, y in enumerate(b.children):
            best = min(above[j + 1] + x.size, row[j] + y.size)
            if above[j] + abs(x.size - y.size) < best:
                best = min(best, above[j] + _pair(x, y, known))
            row.append(best)
        above = row
    return above[-1]


def _pair(x: Tree, y: Tree, known: dict[tuple[int, int], int]) -> int:
    return _distance(x, y, known) if x.label == y.label else x.size + y.size - 1
