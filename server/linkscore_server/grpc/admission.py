"""How much one server takes on at a time: items, and seconds of work that wait; bytes are in `room`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

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

_DECAY = 0.9
"""Weight of earlier calls in the cost of a byte: the last ten count. Chosen, not measured."""

_MARGIN = 0.75
"""Share of the time a caller left that a call may be expected to take: others are served between its pages.
Chosen, not measured."""


class AdmissionLimit:
    """Counts pages and feedback events of unary calls from their arrival to their answer.

    When the log is slow they would gather in memory without bound; beyond `limit` new calls are sent away.
    A stream needs no such bound, its window is one. A call larger than the limit is admitted when there is no
    other.

    Parameters
    ----------
    limit
        Items in work at a time.
    check_room
        Raises if there is no memory or disk for more, see `CrawlRegistry.check_room`; asked for pages of
        streams too.
    """

    def __init__(self, limit: int, check_room: Callable[[], None] = lambda: None) -> None:
        self._limit = limit
        self._items = 0
        self.check_room = check_room

    @contextmanager
    def admitted(self, items: int) -> Iterator[None]:
        """Count `items` for as long as the context lasts.

        Raises
        ------
        LimitExceeded
            If they would exceed the limit.
        MemoryError, OSError
            If there is no memory or disk for more.
        """
        self.check_room()
        if self._items and self._items + items > self._limit:
            rule = f"max_items_in_work: {self._items} items are in work and {items} more exceed {self._limit}"
            raise LimitExceeded(rule)
        self._items += items
        try:
            yield
        finally:
            self._items -= items


@dataclass(slots=True)
class _Counted:
    """A call that `WorkAhead` counts: its bytes, and whether that is all of it."""

    size: int
    is_whole: bool = True


class WorkAhead:
    """Predicts how long a call waits, and refuses it at once when that is too long.

    The work in front of a call is counted in bytes of requests and turned into seconds by what a byte took
    of late, wall time, whatever it was: a page to parse, links to score. While a queue stands, at most
    `target_s` may wait; a burst after an idle time may be `4 * target_s`. Nothing is refused while nothing is
    in work, so a wrong estimate is mended by the next call.

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
    of late. Differs in that the delay is predicted at the arrival, before a request is read, instead of
    measured when a request leaves the queue; and in that the deadline of the call counts too.
    """

    def __init__(self, target_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._target_s = target_s
        self._clock = clock
        self._bytes = 0
        self._last_empty = self._last_end = clock()
        self._seconds, self._done = _FIRST_S_PER_BYTE, 1.0
        self._own: ContextVar[_Counted] = ContextVar("counted")

    @property
    def delay_s(self) -> float:
        """Seconds until what is in work is answered."""
        return self._bytes * self._seconds / self._done

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in work: then no call is refused."""
        return not self._bytes

    def check(self, size: int, remaining_s: float | None) -> None:
        """Refuse a call that would wait too long.

        Parameters
        ----------
        size
            Bytes of its request; 0 if that is not known yet.
        remaining_s
            Seconds until its caller gives up; None for never.

        Raises
        ------
        Overloaded
            Saying how long it would wait.
        """
        delay_s = self.delay_s
        standing = self._bytes and self._clock() - self._last_empty > _INTERVAL * self._target_s
        allowed_s = self._target_s if standing else _INTERVAL * self._target_s
        if delay_s > allowed_s:
            raise overloaded(f"{delay_s:.1f} s of work wait, {allowed_s:g} s may", delay_s - allowed_s / 2)
        own_s = size * self._seconds / self._done
        if self._bytes and remaining_s is not None and delay_s + own_s > remaining_s * _MARGIN:
            rule = f"{delay_s:.1f} s of work wait and the deadline is in {remaining_s:.1f} s"
            raise overloaded(rule, delay_s)

    def check_turn(self, size: int, remaining_s: float | None, *, among: int) -> None:
        """Refuse a call whose turn comes too late: it would end after its deadline, its work for nothing.

        Calls wait in the order they came, so when work gets slower than it was predicted, those in front are
        late first; without this each would be begun, none would be in time, and nothing would be answered.

        Parameters
        ----------
        size
            Bytes of its request, which is `counted`.
        remaining_s
            Seconds until its caller gives up; None for never.
        among
            Calls that are worked on in turn, this one included.

        Raises
        ------
        Overloaded
            Saying how long it would take.
        """
        own_s = size * among * self._seconds / self._done
        is_alone = self._bytes <= size + _CALL_BYTES  # it mends a wrong estimate
        if not is_alone and remaining_s is not None and own_s > remaining_s:
            raise overloaded(f"it would take {own_s:.1f} s and the deadline is in {remaining_s:.1f} s", own_s)

    @contextmanager
    def counted(self, size: int) -> Iterator[None]:
        """Count a call as work for as long as the context lasts; the cost of a byte is learned at its end."""
        size += _CALL_BYTES
        if not self._bytes:
            self._last_end = self._last_empty = self._clock()
        self._bytes += size
        counted = _Counted(size)
        self._own.set(counted)
        finished = False
        try:
            yield
            finished = True
        finally:
            size, counted.size = counted.size, 0
            self._end(size, is_finished=finished and counted.is_whole)

    def size_of(self, request: Any) -> int:
        """Return the bytes of the call of the running task that are counted, or those of a request that came
        otherwise; asking a message for its size copies it."""
        counted = self._own.get(None)
        size: int = counted.size if counted is not None else request.ByteSize()
        return size

    def leave(self, size: float = math.inf) -> None:
        """Count so many bytes of the call of the running task no more, or none of it: what is worked on where
        others do not wait for it."""
        counted = self._own.get(None)
        if counted is not None and size:
            left = int(min(size, counted.size))
            counted.size, counted.is_whole = counted.size - left, False
            self._end(left, is_finished=False)

    def _end(self, size: int, *, is_finished: bool) -> None:
        self._bytes -= size
        now = self._clock()
        if is_finished:
            self._seconds = self._seconds * _DECAY + now - self._last_end
            self._done = self._done * _DECAY + size
            self._last_end = now
        if not self._bytes:
            self._last_empty = now


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
