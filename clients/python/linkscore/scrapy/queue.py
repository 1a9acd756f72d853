"""The scheduler priority queue: one queue per bucket, in the order of the buckets' values."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.settings.default_settings import SCHEDULER_PRIORITY_QUEUE
from scrapy.utils.misc import load_object

from linkscore.messages import Row
from linkscore.scrapy.engine import Throttle, flush_seen
from linkscore.scrapy.frontier import BucketRanking, FrontierIndex, QueueKey
from linkscore.scrapy.request_store import DiskRequestStore, MemoryRequestStore, RequestStore
from linkscore.scrapy.scoring import META, QueueEntry, entries_of, is_guessed, mark
from linkscore.scrapy.session import Session

State = dict[str, Any]

# A bound, chosen: requests that wait without a score whose place is looked for when the server is back.
_MAX_UNSCORED = 100_000


class BucketQueue:
    """Pops from the bucket that is worth most now, first in, first out.

    Requests without a bucket wait in the priority queue that is Scrapy's default. It goes first while it
    holds a start request, a redirect or one the spider gave a positive priority, and last otherwise. With no
    scored request waiting - the server was never there, or only watches - the order is thus Scrapy's own.

    While the server is away, a new request waits behind the scored ones of the bucket where links like it
    were last found. Values fade with what is taken from their buckets (`linkscore.outages.Outlook`). When the
    server is back `place` lets requests wait where they belong.

    A URL found again while it waits also waits in the buckets it was found through then, at most four in all.
    With `JOBDIR` the buckets are kept in one file that also survives a kill.
    """

    @classmethod
    def from_crawler(
        cls,
        crawler: Any,
        downstream_queue_cls: Any,
        key: str,
        startprios: State | Sequence[int] = (),
        *,
        start_queue_cls: Any = None,
    ) -> Self:
        """Make the queue, as Scrapy's scheduler does: once in memory, and once on disk with `JOBDIR`."""
        return cls(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)

    def __init__(
        self,
        crawler: Any,
        downstream_queue_cls: Any,
        key: str,
        startprios: State | Sequence[int] = (),
        *,
        start_queue_cls: Any = None,
    ) -> None:
        state = _checked(startprios)
        self._crawler = crawler
        self._key = key
        self._session = Session.of(crawler)
        self._throttle = Throttle(crawler, self._session)
        self._plain = load_object(SCHEDULER_PRIORITY_QUEUE).from_crawler(
            crawler,
            downstream_queue_cls,
            f"{key}/plain" if key else "",
            state.get("plain") or (),
            start_queue_cls=start_queue_cls,
        )
        self._urgent: int = state.get("urgent", 0)
        #: Requests of the plain queue that came while the server was away, by fingerprint.
        self._unscored: dict[bytes, Any] = {}
        #: Those of the plain queue that wait in buckets by now, or did: they are passed over there.
        self._moved: set[bytes] = {bytes.fromhex(mark) for mark in state.get("moved", ())}
        self._index, self._ranking = FrontierIndex(), BucketRanking()
        self._numbers = itertools.count(1)
        self._store: RequestStore = self._disk(key) if key else MemoryRequestStore()
        self._session.queues.add(self)
        crawler.signals.connect(self._seen_again, signals.request_dropped)

    def _disk(self, key: str) -> DiskRequestStore:
        places = self._crawler.settings.getint("CONCURRENT_REQUESTS")
        store = DiskRequestStore(
            Path(key, "buckets.sqlite"), spider=self._crawler.spider, in_flight=2 * places
        )
        values = store.values()
        last = 0
        for last, fingerprint, entries in store.entries():
            self._index.push(last, fingerprint, entries)
            for queue, _ in entries:
                self._ranking.add(queue, values.get(queue[0], 0.0))
        self._numbers = itertools.count(last + 1)
        return store

    def __len__(self) -> int:
        return len(self._index) + len(self._plain) - len(self._moved)

    def buckets(self) -> dict[str, int]:
        """Count the links of each bucket that is not empty; the one with the oldest link comes first."""
        oldest: dict[str, int] = {}
        sizes: Counter[str] = Counter()
        for queue in list(self._index.queues()):
            head = self._index.head(queue)
            if head is not None:
                oldest[queue[0]] = min(head, oldest.get(queue[0], head))
                sizes[queue[0]] += self._index.size(queue)
        return {bucket: sizes[bucket] for bucket in sorted(oldest, key=oldest.__getitem__)}

    def reorder(self, values: Mapping[str, float]) -> None:
        """Take over the values RankBuckets answered."""
        self._ranking.refresh(values)
        self._store.save(values)

    def push(self, request: Any) -> None:
        """Let a request wait; ValueError if it cannot be stored on disk."""
        entries = [] if self._session.config.observe_only else entries_of(request)
        if not entries:
            self._push_plain(request)
            return
        number = next(self._numbers)
        fingerprint = self._crawler.request_fingerprinter.fingerprint(request)
        queues = self._queues(request, entries)
        self._store.put(number, request, fingerprint, queues)
        if self._key:
            flush_seen(self._crawler)
        self._index.push(number, fingerprint, queues)
        self._rank(queues, entries)
        if not is_guessed(request):  # links that were fetched before do not come here, and teach nothing
            best = entries[0]
            self._session.connection.outlook.placed(request.url, best.bucket, best.score - best.own)

    def _push_plain(self, request: Any) -> None:
        self._plain.push(request)
        urgent = _is_urgent(request)
        self._urgent += urgent
        if self._session.away and not (urgent or self._session.config.observe_only):
            self._unscored[self._crawler.request_fingerprinter.fingerprint(request)] = request
            if len(self._unscored) > _MAX_UNSCORED:
                del self._unscored[next(iter(self._unscored))]

    def place(self, fingerprint: bytes, found: list[Row], values: dict[str, float]) -> bool:
        """Let a request that waits without a score, or by a guess, wait where it belongs; say if it did."""
        if number := self._index.guessed(fingerprint):
            request = self._store.get(number)
            mark(request, found, values)
            self._move(number, request)
            return True
        request = self._unscored.pop(fingerprint, None)
        if request is None:
            return False
        mark(request, found, values)
        self._moved.add(fingerprint)
        self.push(request)
        return True

    def _replace(self, fingerprint: bytes, scored: Any) -> bool:
        """Let a request that waits by a guess wait as one of the same URL that is scored; say if it did."""
        number = self._index.guessed(fingerprint)
        if not number:
            return False
        request = self._store.get(number)
        request.meta[META], request.priority = scored.meta[META], scored.priority
        self._move(number, request)
        return True

    def _move(self, number: int, request: Any) -> None:
        entries = entries_of(request)
        queues = self._queues(request, entries)
        for queue in self._index.move(number, queues):
            self._ranking.drop(queue)
        self._store.move(number, request, queues)
        self._rank(queues, entries)

    def weigh(self, worth: Callable[[str, float], float]) -> None:
        """Order buckets by what is left of their values: the server is away."""
        self._ranking.weigh(worth)

    def _queues(self, request: Any, entries: list[QueueEntry]) -> list[tuple[QueueKey, float]]:
        slot = self._throttle.slot_of(request)
        return [((bucket, slot), own) for bucket, _, own in entries]

    def _rank(self, queues: list[tuple[QueueKey, float]], entries: list[QueueEntry]) -> None:
        for (queue, own), entry in zip(queues, entries, strict=True):
            if self._ranking.add(queue, entry.score - own):
                self._store.save({queue[0]: entry.score - own})

    def _seen_again(self, request: Any) -> None:
        """Let a URL that was found again, and dropped as a duplicate, wait where it was found too."""
        entries = entries_of(request)
        if not entries or is_guessed(request):
            return
        fingerprint = self._crawler.request_fingerprinter.fingerprint(request)
        if self._replace(fingerprint, request):
            return
        number, new = self._index.also(fingerprint, self._queues(request, entries))
        if not new:
            return
        self._store.also(number, new)
        names = {queue[0] for queue, _ in new}
        self._rank(new, [entry for entry in entries if entry.bucket in names])
        self._session.count("also_waits", len(new))

    def pop(self) -> Any:
        """Give the request to fetch next; None if there is none, or none may go now."""
        if self._session.releasing or self._stops():
            return None
        if self._plain_first():
            return self._pop_plain()
        head = self._next()
        if head is None:
            return self._pop_plain() if self._all_held() else None
        number, (bucket, _) = head
        for queue in self._index.take(number):
            self._ranking.drop(queue)
        request = self._store.take(number)
        self._session.took(request, bucket)
        return request

    def _stops(self) -> bool:
        """Say whether no fetch may begin; close the spider when none ever will."""
        allowance = self._session.allowance
        if not (allowance.holds_any or allowance.left is not None):
            return False
        allowance.without_answer(self._session.connection.uncounted)
        if allowance.spent or (self._all_held() and not self._plain and self._throttle.is_last()):
            self._session.stop()
            return True
        return allowance.is_full(self._throttle.pending())

    def _all_held(self) -> bool:
        """Say whether something waits, and all of that in buckets of sites that have stopped."""
        holds = self._session.allowance.holds
        queues = list(self._index.queues()) if self._session.allowance.holds_any else []
        return bool(queues) and all(holds(bucket) for bucket, _ in queues)

    def peek(self) -> Any:
        """Give the request `pop` would give, and keep it."""
        if self._plain_first():
            return self._plain.peek()
        head = self._next()
        return None if head is None else self._store.get(head[0])

    def _plain_first(self) -> bool:
        return not self._index or bool(self._urgent and self._plain)

    def _pop_plain(self) -> Any:
        while (request := self._plain.pop()) is not None:
            if self._urgent:
                self._urgent -= _is_urgent(request)
            if not self._left_plain(request):
                return request
        return None

    def _left_plain(self, request: Any) -> bool:
        """Say whether a request of the plain queue waits in buckets by now, or did."""
        if not (self._moved or self._unscored):
            return False
        fingerprint = self._crawler.request_fingerprinter.fingerprint(request)
        self._unscored.pop(fingerprint, None)
        moved = fingerprint in self._moved
        self._moved.discard(fingerprint)
        return moved

    def _next(self) -> tuple[int, QueueKey] | None:
        return None if self._throttle.must_wait() else self._best()

    def _best(self) -> tuple[int, QueueKey] | None:
        """Oldest head among the best queues that may go now and whose host has room, with its queue."""
        busy = self._throttle.busy()
        for may_go in self._session.allotment.rounds(idle=self._session.idle):
            for group in self._ranking.groups():
                heads = [
                    (head, queue)
                    for queue in group
                    if may_go(queue[0])
                    and not self._session.allowance.holds(queue[0])
                    and self._throttle.has_room(queue[1], busy)
                    and (head := self._index.head(queue)) is not None
                ]
                if heads:
                    return min(heads)
        return None

    def close(self) -> State:
        """Close what is open; give the state that Scrapy keeps for the next run."""
        self._store.close()
        moved = {"moved": sorted(mark.hex() for mark in self._moved)} if self._moved else {}
        return {"plain": self._plain.close(), "urgent": self._urgent, **moved}


def _is_urgent(request: Any) -> bool:
    marks = ("is_start_request", "redirect_times")
    return request.priority > 0 or any(request.meta.get(mark) for mark in marks)


def _checked(state: Any) -> State:
    if isinstance(state, dict) and set(state) - {"moved"} == {"plain", "urgent"}:
        return state
    if state:
        raise ValueError(
            f"BucketQueue cannot resume the state of another SCHEDULER_PRIORITY_QUEUE: {state!r}"
        )
    return {}
