"""What pages behind links turned out to be, pooled by the place of the link and by URL pattern."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from linkscore_scoring.types import INDEX, OTHER, THREAD
from linkscore_scoring.urls.pattern_tree import UrlPatterns

ANY, ABOVE = -1, -2
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
_FLIP_VOTES, _FLIP_SHARE = 1.5, 0.4
_GROUP_VOTES, _GROUP_SHARE = 2.0, 0.25


@dataclass(frozen=True, slots=True)
class Judged:
    """What links of one pattern and place lead to: kind (`UNDECIDED` if open), probability, support.

    `likely` is the most probable kind, decided or not; `support` counts the votes behind it.
    """

    kind: int
    prob: float
    support: float
    likely: int


class KindVotes:
    """Page types of fetched pages, counted for the ways that led to them.

    A way is (URL pattern, Apath). The distribution of a node is shrunk towards that of the node above it,
    down the chain even -> Apath -> patterns above -> pattern -> (pattern, Apath): the type of one page is
    noisy, the majority of a pattern is not, and a pattern nobody opened yet is taken for what its neighbours
    on the page and in the tree of URLs are.
    Links that turn pages add up to 1.5 votes for the kind of page they stand on. A kind is decided from two
    votes on if its probability is at least .6, from ten on if it is the largest. Every page moves its votes,
    so no early mistake lasts.

    Parameters
    ----------
    patterns
        The tree of URL patterns.
    max_nodes
        Nodes kept; beyond it the half with the fewest votes is forgotten.

    Notes
    -----
    Source: Jiang 2013, section 4.3.1 (majority over the destinations of one link group of one page).
    Differences: the votes of a group are pooled over all pages, weighted by how sure the classifier is, and
    revised for as long as pages come. A pattern whose pages mostly name another URL as their canonical form
    is OTHER: permalinks show what thread pages show.
    """

    def __init__(self, patterns: UrlPatterns, *, max_nodes: int = 60_000) -> None:
        self.patterns = patterns
        self.max_nodes = max_nodes
        self._nodes: dict[Node, list[float]] = {}
        self._flips: dict[int, list[float]] = {}
        self._memo: dict[Node, Judged] | None = None

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
        nodes = [(above, ABOVE) for above in self.patterns.above(pattern)]
        nodes += [(pattern, ANY), *((ANY, apath) for apath in ways), *((pattern, apath) for apath in ways)]
        for node in nodes:
            counts = self._nodes.setdefault(node, [0.0] * 5)
            for at, share in enumerate(shares):
                counts[at] += share
            counts[_COPIES] += copy
            counts[_PAGES] += 1.0
        if len(self._nodes) > self.max_nodes:
            self._forget()

    def flip(self, pattern: int, kind: int, share: float) -> None:
        """Count a page of a kind with links of a pattern, of which a share turn its pages."""
        if pattern in self._flips or (share and len(self._flips) < self.max_nodes):
            counts = self._flips.setdefault(pattern, [0.0, 0.0, 0.0])
            counts[2] += 1.0
            if share and kind in (INDEX, THREAD):
                counts[KINDS.index(kind)] += share

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
        """Say whether links of a pattern turn pages: at least two of them, and half of all."""
        index, thread, pages = self._flips.get(pattern, (0.0, 0.0, 0.0))
        return index + thread >= max(1.5, _FLIP_SHARE * pages)

    @contextmanager
    def still(self) -> Iterator[None]:
        """Remember judgements within the block, in which nothing may be cast."""
        self._memo = {}
        try:
            yield
        finally:
            self._memo = None

    def judge(self, pattern: int, apath: int) -> Judged:
        """Return what links of a pattern at an Apath lead to; `ANY` for an Apath that is not known."""
        if self._memo is None:
            return self._judge(pattern, apath)
        known = self._memo.get((pattern, apath))
        if known is None:
            known = self._memo[pattern, apath] = self._judge(pattern, apath)
        return known

    def turning(self) -> int:
        """Return how many patterns turned pages of indexes or threads, be it on one page."""
        rows = self._flips.values()
        return sum(index + thread >= max(0.9, _FLIP_SHARE * pages) for index, thread, pages in rows)

    def _judge(self, pattern: int, apath: int) -> Judged:
        if self.is_copied(pattern):
            return Judged(OTHER, 1.0, self.pages(pattern), OTHER)
        place = self._mean((ANY, apath), [_EVEN] * 3, 1.0) if apath != ANY else [_EVEN] * 3
        flips = self._flips.get(pattern, [])[:2] if self.is_flip(pattern) else []
        for above in self.patterns.above(pattern):
            place = self._mean((above, ABOVE), place, 1.0)
        if flips:
            place = _with_flips(place, flips)
        whole = self._mean((pattern, ANY), place, 1.0)
        shares = self._mean((pattern, apath), whole, 2.0) if apath != ANY else whole
        support = self._support(pattern, apath) + (min(_FLIP_VOTES, sum(flips)))
        best = max(range(3), key=shares.__getitem__)
        sure = _SURE if flips or (pattern, ANY) in self._nodes else _SURE_UNSEEN
        decided = support >= _FINAL or (support >= _ENOUGH and shares[best] >= sure)
        return Judged(KINDS[best] if decided else UNDECIDED, shares[best], support, KINDS[best])

    def _support(self, pattern: int, apath: int) -> float:
        near = [(ANY, apath)] if apath != ANY else []
        near += [(above, ABOVE) for above in self.patterns.above(pattern)[-2:]]
        most = max((self._nodes[node][_PAGES] for node in near if node in self._nodes), default=0.0)
        return self.pages(pattern) + min(_GROUP_VOTES, _GROUP_SHARE * most)

    def _mean(self, node: Node, prior: list[float], weight: float) -> list[float]:
        counts = self._nodes.get(node)
        if counts is None:
            return prior
        whole = counts[0] + counts[1] + counts[2] + weight
        return [(counts[at] + weight * prior[at]) / whole for at in range(3)]

    def follow(self) -> None:
        """Move the votes of patterns that were generalised to what stands for them now; cost O(nodes)."""
        resolve = self.patterns.resolve
        for node in [node for node in self._nodes if node[0] != ANY and resolve(node[0]) != node[0]]:
            moved, to = self._nodes.pop(node), (resolve(node[0]), node[1])
            kept = self._nodes.get(to)
            self._nodes[to] = moved if kept is None else [a + b for a, b in zip(kept, moved, strict=True)]
        for pattern in [pattern for pattern in self._flips if resolve(pattern) != pattern]:
            moved = self._flips.pop(pattern)
            kept = self._flips.get(resolve(pattern), [0.0] * 3)
            self._flips[resolve(pattern)] = [a + b for a, b in zip(kept, moved, strict=True)]

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
        self._flips = {int(p): list(map(float, counts)) for p, *counts in state["flips"]}
        lengths = {len(c) for c in self._nodes.values()} | {2 + len(c) for c in self._flips.values()}
        if lengths - {5}:
            raise ValueError("votes: want five counts a node, three of page flips")


def _with_flips(place: list[float], flips: list[float]) -> list[float]:
    """Return a prior that also counts links that turn pages, at most 1.5 votes of them."""
    weight = min(_FLIP_VOTES, sum(flips)) / sum(flips)
    counts = [place[0] + weight * flips[0], place[1] + weight * flips[1], place[2]]
    return [count / sum(counts) for count in counts]
