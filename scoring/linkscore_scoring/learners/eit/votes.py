"""What pages behind links turned out to be, pooled by the place of the link and by URL pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from linkscore_scoring.site.url_rules import INDEX, OTHER, THREAD

ANY = -1
UNDECIDED = 0
KINDS = (INDEX, THREAD, OTHER)
Node = tuple[int, int]
Shares = tuple[float, float, float]
"""Probabilities of INDEX, THREAD and OTHER."""

_COPIES, _PAGES = 3, 4
_EVEN = 1.0 / len(KINDS)
_COPY_SHARE, _COPY_PAGES = 0.6, 2.5
_ENOUGH, _FINAL = 2.0, 10.0
_SURE, _SURE_UNSEEN = 0.6, 0.8
_FLIP_VOTES = 1.5
_GROUP_VOTES, _GROUP_SHARE = 2.0, 0.25


@dataclass(frozen=True, slots=True)
class Judged:
    """What links of one pattern and place lead to: kind (`UNDECIDED` if open), its probability, pages seen."""

    kind: int
    prob: float
    support: float


NOTHING = Judged(UNDECIDED, 0.0, 0.0)


class KindVotes:
    """Page types of fetched pages, counted for the ways that led to them.

    A way is (URL pattern, Apath). The distribution of a node is shrunk towards that of the node above it,
    down the chain even -> Apath -> pattern -> (pattern, Apath): the type of one page is noisy, the majority
    of a pattern is not, and a pattern nobody opened yet is taken for what its neighbours on the page are.
    Links that turn pages add up to 1.5 votes for the kind of page they stand on. A kind is decided from two
    votes on if its probability is at least .6, from ten on if it is the largest. Every page moves its votes,
    so no early mistake lasts.

    Parameters
    ----------
    max_nodes
        Nodes kept; beyond it the half with the fewest votes is forgotten.

    Notes
    -----
    Source: Jiang 2013, section 4.3.1 (majority over the destinations of one link group of one page).
    Differences: the votes of a group are pooled over all pages, weighted by how sure the classifier is, and
    revised for as long as pages come. A pattern whose pages mostly name another URL as their canonical form
    is OTHER: permalinks show what thread pages show.
    """

    def __init__(self, *, max_nodes: int = 60_000) -> None:
        self.max_nodes = max_nodes
        self._nodes: dict[Node, list[float]] = {}
        self._flips: dict[int, list[float]] = {}

    def cast(self, pattern: int, apaths: Iterable[int], shares: Shares, *, copy: float) -> None:
        """Count a page for every way that led to it.

        Parameters
        ----------
        pattern, apaths
            Its URL pattern, and the folded Apaths it was linked through.
        shares
            What it is.
        copy
            How far it only repeats another page, [0, 1].
        """
        ways = dict.fromkeys(apaths)
        nodes = [(pattern, ANY), *((ANY, apath) for apath in ways), *((pattern, apath) for apath in ways)]
        for node in nodes:
            counts = self._nodes.setdefault(node, [0.0] * 5)
            for at, share in enumerate(shares):
                counts[at] += share
            counts[_COPIES] += copy
            counts[_PAGES] += 1.0
        if len(self._nodes) > self.max_nodes:
            self._forget()

    def flip(self, pattern: int, kind: int) -> None:
        """Count a page of a kind with links of a pattern that turn its pages."""
        if kind in (INDEX, THREAD) and len(self._flips) < self.max_nodes:
            self._flips.setdefault(pattern, [0.0, 0.0])[KINDS.index(kind)] += 1.0

    def drop(self, pattern: int) -> None:
        """Forget what pages of a pattern were, and what their place on pages said."""
        for node in [node for node in self._nodes if node[0] == pattern]:
            del self._nodes[node]
        self._flips.pop(pattern, None)

    def pages(self, pattern: int) -> float:
        """Return the pages of a pattern that voted."""
        return self._nodes.get((pattern, ANY), [0.0] * 5)[_PAGES]

    def is_copied(self, pattern: int) -> bool:
        """Say whether the pages of a pattern mostly repeat others, as permalinks do."""
        counts = self._nodes.get((pattern, ANY))
        return bool(
            counts
            and counts[_PAGES] >= _COPY_PAGES
            and counts[_COPIES] >= _COPY_SHARE * counts[_PAGES]
            and not self.is_flip(pattern)
        )

    def is_flip(self, pattern: int) -> bool:
        """Say whether links of a pattern turned pages, on two pages or more."""
        return sum(self._flips.get(pattern, ())) >= 2.0

    def judge(self, pattern: int, apath: int) -> Judged:
        """Return what links of a pattern at an Apath lead to; `ANY` for an Apath that is not known."""
        if self.is_copied(pattern):
            return Judged(OTHER, 1.0, self.pages(pattern))
        place = self._mean((ANY, apath), [_EVEN] * 3, 1.0) if apath != ANY else [_EVEN] * 3
        flips = self._flips.get(pattern)
        if flips is not None:
            place = _with_flips(place, flips)
        whole = self._mean((pattern, ANY), place, 1.0)
        shares = self._mean((pattern, apath), whole, 2.0) if apath != ANY else whole
        support = self._support(pattern, apath) + (min(_FLIP_VOTES, sum(flips)) if flips else 0.0)
        best = max(range(3), key=shares.__getitem__)
        sure = _SURE if flips or (pattern, ANY) in self._nodes else _SURE_UNSEEN
        decided = support >= _FINAL or (support >= _ENOUGH and shares[best] >= sure)
        return Judged(KINDS[best] if decided else UNDECIDED, shares[best], support)

    def _support(self, pattern: int, apath: int) -> float:
        group = self._nodes.get((ANY, apath)) if apath != ANY else None
        neighbours = min(_GROUP_VOTES, _GROUP_SHARE * group[_PAGES]) if group else 0.0
        return self.pages(pattern) + neighbours

    def _mean(self, node: Node, prior: list[float], weight: float) -> list[float]:
        counts = self._nodes.get(node)
        if counts is None:
            return prior
        whole = counts[0] + counts[1] + counts[2] + weight
        return [(counts[at] + weight * prior[at]) / whole for at in range(3)]

    def follow(self, resolve: Callable[[int], int]) -> None:
        """Move the votes of patterns that were generalised to what stands for them now; cost O(nodes)."""
        for node in [node for node in self._nodes if node[0] != ANY and resolve(node[0]) != node[0]]:
            moved, to = self._nodes.pop(node), (resolve(node[0]), node[1])
            kept = self._nodes.get(to)
            self._nodes[to] = moved if kept is None else [a + b for a, b in zip(kept, moved, strict=True)]
        for pattern in [pattern for pattern in self._flips if resolve(pattern) != pattern]:
            index, thread = self._flips.pop(pattern)
            counts = self._flips.setdefault(resolve(pattern), [0.0, 0.0])
            counts[0], counts[1] = counts[0] + index, counts[1] + thread

    def _forget(self) -> None:
        order = sorted(self._nodes, key=lambda node: self._nodes[node][_PAGES])
        for node in order[: len(order) // 2]:
            del self._nodes[node]

    def to_state(self) -> dict[str, Any]:
        """Return the votes as plain values."""
        nodes = [[*node, *counts] for node, counts in self._nodes.items()]
        return {"nodes": nodes, "flips": [[pattern, *counts] for pattern, counts in self._flips.items()]}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the votes of `to_state`."""
        self._nodes = {(int(p), int(a)): list(map(float, counts)) for p, a, *counts in state["nodes"]}
        self._flips = {int(p): [float(index), float(thread)] for p, index, thread in state["flips"]}
        if any(len(counts) != 5 for counts in self._nodes.values()):
            raise ValueError("votes: want five counts a node")


def _with_flips(place: list[float], flips: list[float]) -> list[float]:
    """Return a prior that also counts links that turn pages, at most 1.5 votes of them."""
    weight = min(_FLIP_VOTES, sum(flips)) / sum(flips)
    counts = [place[0] + weight * flips[0], place[1] + weight * flips[1], place[2]]
    return [count / sum(counts) for count in counts]
