"""Frontiers as crawlers keep them: one queue a bucket, or one queue by score."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple, Protocol


class Waiting(NamedTuple):
    """A link in the frontier: the record it leads to, the identity to ask for, and its ticket."""

    number: int
    key: str
    ticket: bytes


class Frontier(ABC):
    """Links that wait; each record is handed out once."""

    @abstractmethod
    def offer(self, link: Waiting, bucket: str, score: float) -> None:
        """Add a link, or add what else is known of one that waits; the latest score counts."""

    def rescore(self, number: int, score: float) -> None:  # noqa: B027 - most have no place for it
        """Note the new score of a record that waits."""

    @abstractmethod
    def taken(self, number: int) -> None:
        """Note that a record was fetched and must not be handed out."""

    def ended(self, number: int) -> None:  # noqa: B027 - most need not know
        """Note that the fetch of a record that was handed out was answered."""

    @abstractmethod
    def pop(self) -> Waiting | None:
        """Hand out the best link; None if nothing waits, or nothing is to be fetched before an answer."""


class PlanFetches(Protocol):
    """Says how many links of each bucket to fetch next; see `CrawlScorer.plan`."""

    def __call__(
        self, buckets: Sequence[str], waiting: Sequence[int], in_flight: Mapping[str, int], n: int
    ) -> tuple[Sequence[float], Sequence[int]]: ...


class BucketFrontier(Frontier):
    """One FIFO queue a bucket; which come next is asked for every `every` fetches.

    A link waits in every bucket it was given; buckets with nothing left sleep. Among equal buckets the link
    that came first into its bucket comes first: buckets are named in that order, and one bucket or several
    of equal value are the same.
    """

    def __init__(self, plan: PlanFetches, *, every: int = 1) -> None:
        self._plan = plan
        self._every = every
        self._ids: dict[str, int] = {}
        self._names: list[str] = []
        self._queues: list[deque[tuple[int, Waiting]]] = []
        self._live: dict[int, int] = {}
        self._where: dict[int, set[int]] = {}
        self._offers = 0
        self._taken: set[int] = set()
        self._next: deque[int] = deque()
        self._begun: dict[int, str] = {}

    def offer(self, link: Waiting, bucket: str, score: float) -> None:
        if link.number in self._taken:
            return
        id_ = self._ids.setdefault(bucket, len(self._ids))
        if id_ == len(self._names):
            self._names.append(bucket)
            self._queues.append(deque())
        where = self._where.setdefault(link.number, set())
        if id_ not in where:
            where.add(id_)
            self._offers += 1
            self._queues[id_].append((self._offers, link))
            self._live[id_] = self._live.get(id_, 0) + 1

    def taken(self, number: int) -> None:
        self._taken.add(number)
        for id_ in self._where.pop(number, ()):
            self._live[id_] -= 1
            if not self._live[id_]:
                del self._live[id_]

    def ended(self, number: int) -> None:
        self._begun.pop(number, None)

    def pop(self) -> Waiting | None:
        while self._next and self._next[0] not in self._live:
            self._next.popleft()
        if not self._next:
            self._next.extend(self._ask())
        if not self._next:
            return None
        id_ = self._next.popleft()
        self._first_offered(id_)
        _, link = self._queues[id_].popleft()
        self.taken(link.number)
        self._begun[link.number] = self._names[id_]
        return link

    def _ask(self) -> Iterator[int]:
        """Yield the bucket of each of the next fetches, best first; none if nothing should be fetched now."""
        ids = sorted(self._live, key=self._first_offered)
        if not ids:
            return
        values, takes = self._plan(
            [self._names[id_] for id_ in ids],
            [self._live[id_] for id_ in ids],
            Counter(self._begun.values()),
            self._every,
        )
        for row in sorted(range(len(ids)), key=lambda row: -values[row]):
            yield from repeat(ids[row], takes[row])

    def _first_offered(self, id_: int) -> int:
        queue = self._queues[id_]
        while queue[0][1].number in self._taken:
            queue.popleft()
        return queue[0][0]


class ScoreFrontier(Frontier):
    """One queue by score; first discovered first among equals."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, int]] = []
        self._links: dict[int, tuple[int, Waiting]] = {}
        self._scores: dict[int, float] = {}
        self._taken: set[int] = set()
        self._found = 0

    def offer(self, link: Waiting, bucket: str, score: float) -> None:
        if link.number in self._taken:
            return
        if link.number not in self._links:
            self._found += 1
            self._links[link.number] = (self._found, link)
        self.rescore(link.number, score)

    def rescore(self, number: int, score: float) -> None:
        if number in self._links and self._scores.get(number) != score:
            self._scores[number] = score
            heapq.heappush(self._heap, (-score, self._links[number][0], number))

    def taken(self, number: int) -> None:
        self._taken.add(number)
        self._links.pop(number, None)
        self._scores.pop(number, None)

    def pop(self) -> Waiting | None:
        while self._heap:
            score, _, number = heapq.heappop(self._heap)
            if self._scores.get(number) == -score:
                link = self._links[number][1]
                self.taken(number)
                return link
        return None
