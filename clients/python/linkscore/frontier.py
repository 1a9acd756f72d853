"""URLs that wait in memory, best first: for adapters of crawlers that have no queue to be ordered."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linkscore.allotment import Allotment
from linkscore.allowance import Allowance
from linkscore.outages import Outlook

MAX_PLACES = 4
"""Buckets a URL waits in at most; a bound, chosen."""

# How far behind the best link of a bucket one waits that is only guessed to belong there: behind all others.
_GUESSED = 1.0

# Digits of a part of a score that count: differences below are noise of the server's arithmetic.
_DIGITS = 6


class Place(NamedTuple):
    """A bucket a link stands in: its name, the score there, the value the bucket had, and the ticket."""

    bucket: str
    score: float
    value: float
    ticket: bytes = b""


@dataclass(slots=True, eq=False)
class Item:
    """A URL that waits, or that was taken.

    Attributes
    ----------
    url
        The URL, as it was added.
    ticket
        Ticket of the bucket it was taken from.
    score
        What it was worth when it was taken: value of the bucket and the link's own part; 1 for seeds, 0 for
        links the server did not know.
    value
        Whatever the caller keeps with it.
    bucket
        Bucket it was taken from; empty if from none.
    guessed
        Whether the bucket it waits in is a guess.
    """

    url: str
    value: Any = None
    ticket: bytes = b""
    score: float = 0.0
    bucket: str = ""
    places: dict[str, tuple[float, bytes]] = field(default_factory=dict)
    taken: bool = False
    guessed: bool = False


class Frontier:
    """One queue a bucket; seeds go before all of them, links the server did not know behind.

    A URL that is found again waits in further buckets, and is taken once. What is taken is under way until
    `done` is called. Memory grows with the URLs that wait. Not for several threads.

    Attributes
    ----------
    allotment
        What the server handed out: links of these buckets go first, and no others if it is short.
    outlook
        How far values hold while the server is away, and where new links belong.
    allowance
        What the budget of the crawl allows: links of a site that has stopped are not taken.

    Examples
    --------
    >>> frontier = Frontier()
    >>> frontier.add_unknown("http://a.org/other")
    >>> frontier.add("http://a.org/1", [Place("list", score=0.4, value=0.4)])
    >>> frontier.add("http://a.org/2", [Place("thread", score=0.9, value=0.9)])
    >>> frontier.revalue({"list": 0.8, "thread": 0.1})
    >>> [frontier.take().url for _ in range(3)]
    ['http://a.org/1', 'http://a.org/2', 'http://a.org/other']
    """

    def __init__(self) -> None:
        self.allotment = Allotment()
        self.outlook = Outlook()
        self.allowance = Allowance()
        self._under_way: set[Item] = set()
        self._waiting: dict[str, Item] = {}
        self._heaps: dict[str, list[tuple[float, int, Item]]] = {}
        self._sizes: dict[str, int] = {}
        self._values: dict[str, float] = {}
        self._seeds: list[tuple[int, Item]] = []
        self._unknown: list[tuple[int, Item]] = []
        self._numbers = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, url: str) -> bool:
        return url in self._waiting

    def clear(self) -> None:
        """Forget all that waits and is under way; what buckets are worth stays."""
        for queue in (self._waiting, self._heaps, self._sizes, self._seeds, self._unknown, self._under_way):
            queue.clear()
        self.allotment.lift()

    @property
    def waiting(self) -> dict[str, int]:
        """How many links wait in each bucket that is not empty; first the one whose head waits longest."""
        return dict(sorted(self._sizes.items(), key=lambda size: self._head(size[0])[1]))

    @property
    def under_way(self) -> Counter[str]:
        """How many links that are not done were taken from each bucket."""
        return Counter(item.bucket for item in self._under_way if item.bucket)

    @property
    def taken(self) -> int:
        """How many URLs were taken and are not done."""
        return len(self._under_way)

    @property
    def ended(self) -> bool:
        """Whether the crawl has stopped: its budget is spent, or what waits is of sites that have stopped."""
        if self.allowance.spent:
            return True
        bucketless = self._seeds or self._unknown
        return bool(self._sizes) and not bucketless and all(map(self.allowance.holds, self._sizes))

    @property
    def held(self) -> bool:
        """Whether something waits that should not be taken before something under way is done."""
        waits = bool(self._waiting) and not self._seeds
        return waits and bool(self._under_way) and self.allotment.short and not self._next_bucket()

    def add_seed(self, url: str, value: Any = None) -> None:
        """Let a URL wait ahead of every scored one; one that waits already stays where it is."""
        if url not in self._waiting:
            heapq.heappush(self._seeds, (self._number(), self._new(url, value)))

    def add_unknown(self, url: str, value: Any = None) -> None:
        """Let a URL that the server said nothing about wait behind every scored one."""
        if url not in self._waiting:
            heapq.heappush(self._unknown, (self._number(), self._new(url, value)))

    def add(self, url: str, places: Sequence[Place], value: Any = None) -> None:
        """Let a link wait in its buckets."""
        item = self._waiting.get(url)
        if item is None:
            item = self._new(url, value)
            for place in places[:1]:
                self.outlook.placed(url, place.bucket, place.value)
        if item.guessed:
            self._withdraw(item)
        for place in places:
            if place.bucket in item.places or len(item.places) >= MAX_PLACES:
                continue
            score_penalty = round(place.value - place.score, _DIGITS)
            self._enter(item, place.bucket, score_penalty, place)

    def add_guess(self, url: str, bucket: str, worth: float, value: Any = None) -> None:
        """Let a link wait behind the scored links of a bucket worth so much, until `add` says more."""
        if url not in self._waiting:
            item = self._new(url, value)
            item.guessed = True
            self._enter(item, bucket, _GUESSED, Place(bucket, 0.0, worth))

    def _enter(self, item: Item, bucket: str, score_penalty: float, place: Place) -> None:
        item.places[bucket] = (score_penalty, place.ticket)
        self._values.setdefault(bucket, place.value)
        heapq.heappush(self._heaps.setdefault(bucket, []), (score_penalty, self._number(), item))
        self._sizes[bucket] = self._sizes.get(bucket, 0) + 1

    def _withdraw(self, item: Item) -> None:
        item.guessed = False
        self._shrink(item)
        item.places.clear()

    def revalue(self, values: Mapping[str, float]) -> None:
        """Take in what buckets are worth now."""
        self._values.update(values)

    def take(self) -> Item | None:
        """Take the best URL; None if none waits, or none should be taken before something is done."""
        item = _first(self._seeds)
        if item is not None:
            return self._leave(item, 1.0)
        if bucket := self._next_bucket():
            score_penalty, _, item = self._head(bucket)
            item.bucket, item.ticket = bucket, item.places[bucket][1]
            self.allotment.take(bucket)
            score = min(1.0, max(0.0, self._values[bucket] - score_penalty))
            self.outlook.taken(bucket)
            return self._leave(item, score)
        if self.allotment.short and self._under_way:
            return None
        item = _first(self._unknown)
        return None if item is None else self._leave(item, 0.0)

    def done(self, item: Item) -> None:
        """Note that the server knows what came of a URL that was taken, or never will."""
        self._under_way.discard(item)

    def _next_bucket(self) -> str:
        """Return the best bucket that may be taken from; empty if there is none."""
        for may_go in self.allotment.rounds(idle=not self._under_way):
            able = [name for name in self._sizes if may_go(name) and not self.allowance.holds(name)]
            if able:
                return max(able, key=self._rank_of)
        return ""

    def _rank_of(self, bucket: str) -> tuple[float, int]:
        return self.outlook.worth(bucket, self._values[bucket]), -self._head(bucket)[1]

    def _head(self, bucket: str) -> tuple[float, int, Item]:
        """Return what is first in a bucket, without what was taken or moved elsewhere."""
        heap = self._heaps[bucket]
        while heap[0][2].taken or heap[0][0] != heap[0][2].places.get(bucket, (None,))[0]:
            heapq.heappop(heap)
        return heap[0]

    def _leave(self, item: Item, score: float) -> Item:
        item.taken, item.score = True, score
        self._under_way.add(item)
        del self._waiting[item.url]
        self._shrink(item)
        return item

    def _shrink(self, item: Item) -> None:
        """Take an item out of its buckets; what is left of it in their heaps is skipped."""
        for bucket in item.places:
            self._sizes[bucket] -= 1
            if not self._sizes[bucket]:
                del self._sizes[bucket], self._heaps[bucket]

    def _new(self, url: str, value: Any) -> Item:
        item = self._waiting[url] = Item(url, value)
        return item

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers


def _first(queue: list[tuple[int, Item]]) -> Item | None:
    """Take the oldest of a queue that was not taken elsewhere."""
    while queue:
        item = heapq.heappop(queue)[1]
        if not item.taken:
            return item
    return None
