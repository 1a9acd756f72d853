"""How much one server takes on at a time: items, and seconds of work that wait; bytes are in `room`.

Both are shared: a call waits for its share of what others brought, and is refused for what its own crawl did.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

from linkscore_scoring.errors import LimitExceeded
from linkscore_server.grpc.errors import CallerGone
from linkscore_server.grpc.overload import overloaded

_INTERVAL = 4
"""Targets that a burst may last: as long must a queue have been there before only `target_s` is allowed.
Maurer has 20; here calls are long beside the target. Chosen, not measured."""

_FIRST_S_PER_BYTE = 0.2e-6
"""Cost of a byte until calls were measured: 4 ms for a page of 20 KB (benchmarks, `ingest`)."""

_CALL_BYTES = 1_000
"""What a call costs beside its bytes, as bytes: 0.2 ms. A judgement."""

_PAGE_BYTES = 4_000
"""What a page costs beside its bytes, as bytes: 0.8 ms, to apply and to answer it. A judgement."""

_DECAY = 0.9
"""Weight of earlier calls in the cost of a byte: the last ten count. Chosen, not measured."""

_MARGIN = 0.75
"""Share of the time a caller left that a call may be expected to take: others are served between its pages.
Chosen, not measured."""


class Flow(NamedTuple):
    """Calls that share one queue, as fair queueing has the word: those of one caller about one crawl."""

    caller: str
    crawl: str


class Backlog:
    """What is in work, by flow, and how much of it is done before a call is.

    Attributes
    ----------
    total
        All of it.

    References
    ----------
    A. Demers, S. Keshav, S. Shenker, Analysis and Simulation of a Fair Queueing Algorithm, SIGCOMM 1989:
    while work `w` of a flow is done, no other gets more than `w`. Here in two levels: callers share, and the
    crawls of each share what it has.
    """

    def __init__(self) -> None:
        self.total = 0
        self._of: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def of(self, flow: Flow) -> int:
        """Return what of one flow is in work."""
        return self._of[flow.caller][flow.crawl] if flow.caller in self._of else 0

    def add(self, flow: Flow, size: int) -> None:
        """Begin more work, or with a negative size end some."""
        self.total += size
        crawls = self._of[flow.caller]
        crawls[flow.crawl] += size
        if not crawls[flow.crawl]:
            del crawls[flow.crawl]
            if not crawls:
                del self._of[flow.caller]

    def until(self, flow: Flow, size: int) -> int:
        """Return how much work of all is done until so much of one flow is, if all get equal shares."""
        own: Mapping[str, int] = self._of.get(flow.caller, {})
        mine = size + sum(min(work, size) for crawl, work in own.items() if crawl != flow.crawl)
        others = (sum(of.values()) for caller, of in self._of.items() if caller != flow.caller)
        return mine + sum(min(work, mine) for work in others)


class AdmissionLimit:
    """Counts pages and feedback events of unary calls from their arrival to their answer.

    When the log is slow they would gather in memory without bound; beyond `limit` new calls are sent away.
    A stream needs no such bound, its window is one. A call larger than the limit is admitted when there is no
    other of its flow.

    Parameters
    ----------
    limit
        Items in work at a time: of one flow, of several some more.
    check_room
        Raises if there is no memory or disk for more, see `CrawlRegistry.check_room`; asked for pages of
        streams too.
    """

    def __init__(self, limit: int, check_room: Callable[[], None] = lambda: None) -> None:
        self._limit = limit
        self._items = Backlog()
        self.check_room = check_room

    @contextmanager
    def admitted(self, flow: Flow, items: int) -> Iterator[None]:
        """Count `items` for as long as the context lasts.

        Raises
        ------
        LimitExceeded
            If they would exceed the limit.
        MemoryError, OSError
            If there is no memory or disk for more.
        """
        self.check_room()
        own = self._items.of(flow)
        if own and self._items.until(flow, own + items) > self._limit:
            rule = f"max_items_in_work: {own} items of this crawl are in work and {items} more exceed "
            raise LimitExceeded(f"{rule}its share of {self._limit}")
        self._items.add(flow, items)
        try:
            yield
        finally:
            self._items.add(flow, -items)


@dataclass(slots=True)
class _Counted:
    """A call that `DelayEstimator` counts: its work, and whether that is all of it."""

    flow: Flow
    size: int
    is_whole: bool = True


class DelayEstimator:
    """Predicts how long a call waits, and refuses it when that is too long.

    Work in front of a call is counted in bytes of requests and turned into seconds by what a byte took of
    late, wall time, whatever it was: a page to parse, links to score. Of other flows as much stands in front
    as they get while this call is served, see `Backlog`: who brings little waits for little, however much
    others brought. While a queue stands, at most `target_s` may wait; a burst after an idle time may be
    `4 * target_s`. Nothing is refused while nothing is in work, so a wrong estimate is mended by the next
    call.

    Parameters
    ----------
    target_s
        Seconds of work that may stand in front of a call.
    clock
        Seconds, of any origin, that never go back.

    References
    ----------
    B. Maurer, Fail at Scale, ACM Queue 13(8), 2015, "Controlled Delay", a CoDel (Nichols and Jacobson, ACM
    Queue 10(5), 2012; RFC 8289) for servers: the delay that is allowed depends on whether the queue was empty
    of late. Differs in that the delay is predicted when a request is there, by its flow, instead of measured
    when it leaves the queue; and in that the deadline of the call counts too.
    """

    def __init__(self, target_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._target_s = target_s
        self._clock = clock
        self._work = Backlog()
        self._last_empty = self._last_end = clock()
        self._seconds, self._done = _FIRST_S_PER_BYTE, 1.0
        self._own: ContextVar[_Counted] = ContextVar("counted")

    @property
    def delay_s(self) -> float:
        """Seconds until all that is in work is answered."""
        return self._seconds_of(self._work.total)

    def flow(self, crawl: str = "") -> Flow:
        """Return the flow of the call of the running task, or that of a crawl if its call is not counted."""
        counted = self._own.get(None)
        return counted.flow if counted is not None else Flow("", crawl)

    def check(self, flow: Flow, size: int, remaining_s: float | None) -> None:
        """Refuse a call that would wait too long.

        Parameters
        ----------
        flow
            Whose it is.
        size
            Its work, as of `work_of`.
        remaining_s
            Seconds until its caller gives up; None for never.

        Raises
        ------
        Overloaded
            Saying how long it would wait.
        """
        if not self._work.total:
            return
        end_s = self._seconds_of(self._work.until(flow, self._work.of(flow) + size))
        delay_s = end_s - self._seconds_of(size)
        standing = self._clock() - self._last_empty > _INTERVAL * self._target_s
        allowed_s = self._target_s if standing else _INTERVAL * self._target_s
        if delay_s > allowed_s:
            raise overloaded(f"{delay_s:.1f} s of work wait, {allowed_s:g} s may", delay_s - allowed_s / 2)
        if remaining_s is not None and end_s > remaining_s * _MARGIN:
            rule = f"{delay_s:.1f} s of work wait and the deadline is in {remaining_s:.1f} s"
            raise overloaded(rule, delay_s)

    def check_turn(self, flow: Flow, size: int, remaining_s: float | None, *, among: int) -> None:
        """Refuse a call whose turn comes too late: it would end after its deadline, its work for nothing.

        Calls of a flow wait in the order they came, so when work gets slower than it was predicted, those in
        front are late first; without this each would be begun, none would be in time, and nothing would be
        answered.

        Parameters
        ----------
        flow
            Whose it is.
        size
            Its work, which is `counted`.
        remaining_s
            Seconds until its caller gives up; None for never.
        among
            Calls of the flow that are worked on in turn, this one included.

        Raises
        ------
        Overloaded
            Saying how long it would take.
        """
        if remaining_s is None or self._work.total <= size:  # one that is alone mends a wrong estimate
            return
        own_s = self._seconds_of(self._work.until(flow, min(size * among, self._work.of(flow))))
        if own_s > remaining_s:
            raise overloaded(f"it would take {own_s:.1f} s and the deadline is in {remaining_s:.1f} s", own_s)

    @contextmanager
    def counted(self, flow: Flow, size: int) -> Iterator[None]:
        """Count a call as work for as long as the context lasts; the cost of a byte is learned at its end."""
        if not self._work.total:
            self._last_end = self._last_empty = self._clock()
        self._work.add(flow, size)
        counted = _Counted(flow, size)
        self._own.set(counted)
        finished = False
        try:
            yield
            finished = True
        finally:
            size, counted.size = counted.size, 0
            self._end(flow, size, is_finished=finished and counted.is_whole)

    def size_of(self, request: Any) -> int:
        """Return the work of the call of the running task that is counted, or that of a request that came
        otherwise; asking a message for its size copies it."""
        counted = self._own.get(None)
        return counted.size if counted is not None else work_of(request, request.ByteSize())

    def leave(self, size: float = math.inf) -> None:
        """Count so many bytes of the call of the running task no more, or none of it: what is worked on where
        others do not wait for it."""
        counted = self._own.get(None)
        if counted is not None and size:
            left = int(min(size, counted.size))
            counted.size, counted.is_whole = counted.size - left, False
            self._end(counted.flow, left, is_finished=False)

    def _seconds_of(self, size: int) -> float:
        return size * self._seconds / self._done

    def _end(self, flow: Flow, size: int, *, is_finished: bool) -> None:
        self._work.add(flow, -size)
        now = self._clock()
        if is_finished:
            self._seconds = self._seconds * _DECAY + now - self._last_end
            self._done = self._done * _DECAY + size
            self._last_end = now
        if not self._work.total:
            self._last_empty = now


def work_of(request: Any, size: int) -> int:
    """Return the work of a request of so many bytes, in bytes."""
    return size + _CALL_BYTES + _PAGE_BYTES * pages_in(request)


def pages_in(request: Any) -> int:
    """Return how many pages a request brings."""
    return len(request.pages) if hasattr(request, "pages") else hasattr(request, "page")


def require_caller(context: Any) -> None:
    """Stop work that nobody waits for any more, before it is durable.

    Raises
    ------
    CallerGone
        If the deadline of the call has passed, or its caller is gone.
    """
    remaining_s = context.time_remaining()
    if context.cancelled() or (remaining_s is not None and remaining_s <= 0):
        raise CallerGone("the caller is gone or its deadline has passed")
