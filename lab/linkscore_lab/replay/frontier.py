"""Frontiers as crawlers keep them: one queue a bucket, or one queue by score; and one that obeys verdicts."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple, Protocol

from linkscore_lab.replay.scorer import CrawlScorer


class Waiting(NamedTuple):
    """A link in the frontier: the record it leads to, the identity to ask for, and its ticket."""

    number: int
    key: str
    ticket: bytes


class Frontier(Protocol):
    """Links that wait; each record is handed out once."""

    def offer(self, link: Waiting, bucket: str, score: float) -> None:
        """Add a link, or add what else is known of one that waits."""
        ...

    def rescore(self, number: int, score: float) -> None:
        """Note the new score of a record that waits."""
        ...

    def taken(self, number: int) -> None:
        """Note that a record was fetched and must not be handed out."""
        ...

    def pop(self) -> Waiting | None:
        """Hand out the best link; None if nothing waits."""
        ...


class BucketFrontier:
    """One FIFO queue a bucket, whose order is asked for every `every` fetches.

    A link waits in every bucket it was given; buckets with nothing left sleep. Among equal buckets the link
    that was found first comes first.

    Parameters
    ----------
    values
        Returns the value of each of some buckets.
    every
        Fetches between two questions for the order, >= 1; in between the best bucket by the last answer is
        used.
    """

    def __init__(self, values: Callable[[Sequence[str]], Sequence[float]], *, every: int = 1) -> None:
        self._values = values
        self._every = every
        self._since = 0
        self._ids: dict[str, int] = {}
        self._names: list[str] = []
        self._queues: list[deque[tuple[int, Waiting]]] = []
        self._live: dict[int, int] = {}
        self._where: dict[int, set[int]] = {}
        self._found: dict[int, int] = {}
        self._taken: set[int] = set()
        self._order: list[tuple[float, int]] = []

    def offer(self, link: Waiting, bucket: str, score: float) -> None:
        """See `Frontier.offer`."""
        if link.number in self._taken:
            return
        id_ = self._ids.setdefault(bucket, len(self._ids))
        if id_ == len(self._names):
            self._names.append(bucket)
            self._queues.append(deque())
        where = self._where.setdefault(link.number, set())
        if id_ not in where:
            where.add(id_)
            found = self._found.setdefault(link.number, len(self._found))
            self._queues[id_].append((found, link))
            self._live[id_] = self._live.get(id_, 0) + 1

    def rescore(self, number: int, score: float) -> None:
        """See `Frontier.rescore`; a bucket's value moves all its links, one alone has no place."""

    def taken(self, number: int) -> None:
        """See `Frontier.taken`."""
        self._taken.add(number)
        for id_ in self._where.pop(number, ()):
            self._live[id_] -= 1
            if not self._live[id_]:
                del self._live[id_]

    def pop(self) -> Waiting | None:
        """See `Frontier.pop`."""
        if not self._live:
            return None
        self._since += 1
        if self._since >= self._every or not any(id_ in self._live for _, id_ in self._order):
            self._rank()
        _, link = self._queues[self._best()].popleft()
        self.taken(link.number)
        return link

    def _rank(self) -> None:
        ids = sorted(self._live)
        values = self._values([self._names[id_] for id_ in ids])
        self._order = sorted(((-value, id_) for value, id_ in zip(values, ids, strict=True)))
        self._since = 0

    def _best(self) -> int:
        """Return the best bucket that is not empty; of equal ones that whose first link was found first."""
        top = next(value for value, id_ in self._order if id_ in self._live)
        equal = takewhile(lambda entry: entry[0] <= top, self._order)
        return min((id_ for _, id_ in equal if id_ in self._live), key=self._first_found)

    def _first_found(self, id_: int) -> int:
        queue = self._queues[id_]
        while queue[0][1].number in self._taken:
            queue.popleft()
        return queue[0][0]


class ScoreFrontier:
    """One queue by score; first discovered first among equals."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int]] = []
        self._links: dict[int, tuple[int, Waiting]] = {}
        self._scores: dict[int, float] = {}
        self._taken: set[int] = set()
        self._found = 0

    def offer(self, link: Waiting, bucket: str, score: float) -> None:
        """See `Frontier.offer`; the latest score counts."""
        if link.number in self._taken:
            return
        if link.number not in self._links:
            self._found += 1
            self._links[link.number] = (self._found, link)
        self.rescore(link.number, score)

    def rescore(self, number: int, score: float) -> None:
        """See `Frontier.rescore`."""
        if number in self._links and self._scores.get(number) != score:
            self._scores[number] = score
            heapq.heappush(self._heap, (-score, self._links[number][0], number))

    def taken(self, number: int) -> None:
        """See `Frontier.taken`."""
        self._taken.add(number)
        self._links.pop(number, None)
        self._scores.pop(number, None)

    def pop(self) -> Waiting | None:
        """See `Frontier.pop`."""
        while self._heap:
            score, _, number = heapq.heappop(self._heap)
            if self._scores.get(number) == -score:
                link = self._links[number][1]
                self.taken(number)
                return link
        return None


# A bound: links by which a record is remembered to have been found. Chosen, not measured.
MAX_WAYS = 6


class VerdictFrontier:
    """A frontier that asks about a link once more before it hands it out, and keeps aside what is to skip.

    A link is handed out unless every way it was found by is to skip at that moment: a link that was taken
    for good before the policy knew better is left, one that was to skip and no longer is comes back. What is
    kept aside is asked about again when nothing else waits.

    Parameters
    ----------
    inner
        The frontier that orders.
    scorer
        Whom to ask.
    ask
        Whether to ask at all; if not, only requests are obeyed.
    """

    def __init__(self, inner: Frontier, scorer: CrawlScorer, *, ask: bool = True) -> None:
        self._inner, self._scorer, self._ask = inner, scorer, ask
        self._ways: dict[int, dict[bytes, Waiting]] = {}
        self._aside: dict[int, Waiting] = {}

    def offer(self, link: Waiting, bucket: str, score: float) -> None:
        """See `Frontier.offer`."""
        ways = self._ways.setdefault(link.number, {})
        if len(ways) < MAX_WAYS:
            ways.setdefault(link.ticket, link)
        self._inner.offer(link, bucket, score)

    def rescore(self, number: int, score: float) -> None:
        """See `Frontier.rescore`."""
        self._inner.rescore(number, score)

    def taken(self, number: int) -> None:
        """See `Frontier.taken`."""
        self._aside.pop(number, None)
        self._ways.pop(number, None)
        self._inner.taken(number)

    def pop(self) -> Waiting | None:
        """See `Frontier.pop`; None when all that waits is to skip."""
        while (link := self._inner.pop()) is not None:
            if (chosen := self._allowed(link.number)) is not None:
                self._ways.pop(link.number, None)
                return chosen
            self._aside[link.number] = link
        for number in list(self._aside):
            if (chosen := self._allowed(number)) is not None:
                self.taken(number)
                return chosen
        return None

    def request(self, link: Waiting) -> Waiting:
        """Hand out a record that was asked for, whatever the verdict, by a way it was found by if any."""
        ways = self._ways.get(link.number)
        chosen = next(iter(ways.values())) if ways else link
        self.taken(link.number)
        return chosen

    def _allowed(self, number: int) -> Waiting | None:
        """Return a way by which a record is not to skip, None if there is none."""
        ways = list(self._ways.get(number, {}).values())
        if not self._ask:
            return ways[0] if ways else None
        skips = self._scorer.skips([(way.key, way.ticket) for way in ways])
        return next((way for way, skip in zip(ways, skips, strict=True) if not skip), None)
