"""Which link waits where: one queue per bucket and download slot, a link in up to four of them."""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from linkscore.scrapy.scoring import GUESSED, MAX_BUCKETS

QueueKey = tuple[str, str]
"""The queue of a bucket's links in one download slot: names of both."""


@dataclass(slots=True)
class WaitingRequest:
    """One waiting request: its fingerprint and its queues, and whether the queue is a guess."""

    fingerprint: bytes
    queues: list[QueueKey]
    guessed: bool


class FrontierIndex:
    """Order of the waiting requests, by number; the requests themselves are elsewhere.

    Within a queue the higher own part of the score goes first, and first in, first out among equals. A
    request is taken once, from whichever of its queues comes first; its traces in the others are skipped.
    """

    def __init__(self) -> None:
        self._entries: dict[int, WaitingRequest] = {}
        self._numbers: dict[bytes, int] = {}
        self._heaps: dict[QueueKey, list[tuple[float, int]]] = {}
        self._sizes: dict[QueueKey, int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def size(self, queue: QueueKey) -> int:
        """Count the requests waiting in a queue."""
        return self._sizes.get(queue, 0)

    def queues(self) -> Iterable[QueueKey]:
        """Name the queues that are not empty."""
        return self._sizes.keys()

    def push(self, number: int, fingerprint: bytes, entries: Sequence[tuple[QueueKey, float]]) -> None:
        """Let a new request wait."""
        self._entries[number] = WaitingRequest(fingerprint, [], _guessed(entries))
        self._numbers[fingerprint] = number
        for queue, own in entries:
            self._enter(number, queue, own)

    def also(
        self, fingerprint: bytes, entries: Sequence[tuple[QueueKey, float]]
    ) -> tuple[int, list[tuple[QueueKey, float]]]:
        """Let a waiting request wait in further queues; give its number and those that were new to it."""
        number = self._numbers.get(fingerprint)
        if number is None:
            return 0, []
        entry = self._entries[number]
        new = [(queue, own) for queue, own in entries if queue not in entry.queues]
        new = new[: MAX_BUCKETS - len(entry.queues)]
        for queue, own in new:
            self._enter(number, queue, own)
        return number, new

    def _enter(self, number: int, queue: QueueKey, own: float) -> None:
        self._entries[number].queues.append(queue)
        heapq.heappush(self._heaps.setdefault(queue, []), (-own, number))
        self._sizes[queue] = self._sizes.get(queue, 0) + 1

    def head(self, queue: QueueKey) -> int | None:
        """Number of the request that is next in a queue."""
        heap = self._heaps.get(queue, [])
        while heap and not self._waits(heap[0][1], queue):
            heapq.heappop(heap)
        return heap[0][1] if heap else None

    def _waits(self, number: int, queue: QueueKey) -> bool:
        entry = self._entries.get(number)
        return entry is not None and queue in entry.queues

    def guessed(self, fingerprint: bytes) -> int:
        """Give the number of a request that waits by a guess; 0 if it does not."""
        number = self._numbers.get(fingerprint, 0)
        return number if number and self._entries[number].guessed else 0

    def move(self, number: int, entries: Sequence[tuple[QueueKey, float]]) -> list[QueueKey]:
        """Let a request wait in these queues and no others; give those that are empty now."""
        entry = self._entries[number]
        emptied = self._shrink(entry.queues)
        entry.queues, entry.guessed = [], _guessed(entries)
        for queue, own in entries:
            self._enter(number, queue, own)
        return [queue for queue in emptied if not self.size(queue)]

    def take(self, number: int) -> list[QueueKey]:
        """Take a request out of all its queues; give the queues that are empty now."""
        entry = self._entries.pop(number)
        if self._numbers.get(entry.fingerprint) == number:
            del self._numbers[entry.fingerprint]
        return self._shrink(entry.queues)

    def _shrink(self, queues: Iterable[QueueKey]) -> list[QueueKey]:
        emptied = []
        for queue in queues:
            self._sizes[queue] -= 1
            if not self._sizes[queue]:
                del self._sizes[queue], self._heaps[queue]
                emptied.append(queue)
        return emptied


def _guessed(entries: Sequence[tuple[QueueKey, float]]) -> bool:
    return any(own == GUESSED for _, own in entries)


class BucketRanking:
    """Keeps the queues that are not empty sorted by value, best first.

    A bucket's value is what RankBuckets said last; one it was never asked about has the value it arrived
    with.
    """

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self._ranks: dict[str, float] = {}
        self._order: list[tuple[float, QueueKey]] = []

    def add(self, queue: QueueKey, value: float) -> bool:
        """Take in a queue; `value` counts if its bucket has none yet. Say whether it counted."""
        fresh = queue[0] not in self.values
        self._ranks.setdefault(queue[0], self.values.setdefault(queue[0], value))
        key = self._key(queue)
        i = bisect_left(self._order, key)
        if i == len(self._order) or self._order[i] != key:
            insort(self._order, key)
        return fresh

    def drop(self, queue: QueueKey) -> None:
        """Leave out a queue that is empty."""
        key = self._key(queue)
        i = bisect_left(self._order, key)
        if i < len(self._order) and self._order[i] == key:
            del self._order[i]

    def weigh(self, worth: Callable[[str, float], float]) -> None:
        """Order buckets by what is left of their values, until `refresh`."""
        for bucket in {queue[0] for _, queue in self._order}:
            self._ranks[bucket] = worth(bucket, self.values[bucket])
        self._sort()

    def refresh(self, values: Mapping[str, float]) -> None:
        """Take over new values."""
        self.values.update(values)
        self._ranks = dict(self.values)
        self._sort()

    def _key(self, queue: QueueKey) -> tuple[float, QueueKey]:
        return -self._ranks[queue[0]], queue

    def _sort(self) -> None:
        self._order = sorted(self._key(queue) for _, queue in self._order)

    def groups(self) -> Iterator[list[QueueKey]]:
        """Give the queues of equal value together, best first."""
        for _, same in groupby(self._order, key=lambda entry: entry[0]):
            yield [queue for _, queue in same]
