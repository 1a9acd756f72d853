"""Bytes that are in memory: of requests in work and on their way in, and of answers on their way out."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType

from linkscore_server.grpc.admission import Backlog, Flow
from linkscore_server.grpc.connections import Connection, Connections
from linkscore_server.grpc.overload import overloaded

_STREAM_SHARE = 4
"""Streams of a caller who holds this part of `max_bytes` are read no further, but for one message each: who
reads no answers cannot take all. A bound."""

_LOOK_S = 0.05
"""Seconds between two looks at what came: 50 MB of a network of 8 Gbit/s. Chosen, not measured."""

_AHEAD = 20
"""Looks for which a message holds room at the rate at which it came of late: a second. Chosen."""

_SMALL_BYTES = 60_000
"""A message of which less came is read without waiting for room. Before one is read HTTP/2 lets 65,535 bytes
come, so of one that is larger that many are there."""

_SLOWEST_BYTES_S = 64 << 10
"""Bytes of a message that win it another second to come in: half a Mbit/s. A bound."""

_NEXT_TO_NOTHING = 16
"""Up to this part of `max_bytes` counts as nothing when one message may take all of the room. Chosen."""

_READS = 4_000
"""Messages that are being read at a time; one more, and the one that came to a stop longest ago is refused. A
bound, of the memory of calls that have no message yet."""

_TAKE_S = 30.0
"""Seconds in which an answer must be taken, and more by `_SLOWEST_BYTES_S`, like a request. A bound."""

_AGAIN_S = 1.0
"""Seconds after which a caller whose message was refused on its way shall come again. Chosen."""

_log = logging.getLogger(__name__)


class Reading:
    """A message that is being read, for as long as the context lasts.

    Parameters
    ----------
    room
        Where it is counted.
    connection
        What it comes over.
    caller
        Who sends it.
    wait_s
        Longest wait for room; None: as long as it takes.
    receive_s
        Seconds in which it must come, and more the more of it came.
    may_be_silent
        Whether that time begins only when some of it is there: between two messages of a stream.

    Attributes
    ----------
    size
        Bytes of the message, once it is there.
    reserved
        Bytes of room that it holds.
    """

    __slots__ = ("_room", "_timeout", "caller", "connection", "is_old", "may_be_silent", "receive_s",
                 "refusal", "reserved", "since_s", "size", "wait_s")  # fmt: skip

    def __init__(
        self,
        room: InflightBytes,
        connection: Connection,
        caller: str,
        *,
        wait_s: float | None,
        receive_s: float,
        may_be_silent: bool,
    ) -> None:
        self._room = room
        self.connection, self.caller = connection, caller
        self.wait_s, self.receive_s, self.may_be_silent = wait_s, receive_s, may_be_silent
        self.reserved, self.size, self.since_s = 0, -1, 0.0
        self.is_old, self.refusal = False, ""
        self._timeout: asyncio.Timeout | None = None

    async def __aenter__(self) -> Reading:
        await self._room.begin(self)
        self._timeout = asyncio.timeout(0.0 if self.refusal else None)
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._timeout is not None
        try:
            await self._timeout.__aexit__(kind, error, trace)
        except TimeoutError:
            raise overloaded(self.refusal, _AGAIN_S) from None
        finally:
            self._room.end(self)

    def refuse(self, rule: str) -> None:
        """End it: whoever reads gets `Overloaded`, with this rule, unless the message is just there."""
        if not self.refusal:
            self.refusal = rule
            if self._timeout is not None:
                self._timeout.reschedule(0.0)

    @property
    def is_small(self) -> bool:
        """Whether so little came that it is a small message, or one that has hardly begun.

        What comes over its connection may be of another one: not if there is a large one.
        """
        unread = self.connection.unread()
        return unread is not None and unread < _SMALL_BYTES and not self.connection.large

    def hold(self, size: int) -> int:
        """Hold so much room from now on; return how much more that is."""
        more = size - self.reserved
        self.connection.large += (size > _SMALL_BYTES) - (self.reserved > _SMALL_BYTES)
        self.reserved = size
        return more


class InflightBytes:
    """Bounds the bytes of requests that are in memory, from before they are read until they are answered.

    How large a request is shows only when it is there. So whoever begins to read one holds room for the
    largest, and from the next look on only for what came and what comes in a second at the rate of now.
    A caller has no more than it leaves free to others, so that who has none finds some; those who have least
    are first, then in the order they came; small messages do not wait. Should more come than there is room
    for all the same, or none be left for somebody who has none, those are refused on their way of whom most
    came.

    Answers count until they have left, apart from requests. Nothing but the end of its connection takes back
    an answer that was given to gRPC: who takes none is hung up on, after a while, or when there is no room.

    Parameters
    ----------
    max_bytes
        Bound on all requests together, and on all answers.
    message_bytes
        Largest request; one is always let in, whatever the bound.
    clock
        Seconds, of any origin, that never go back.

    Attributes
    ----------
    connections
        What requests come over.

    References
    ----------
    A. Choudhury, E. Hahne, Dynamic Queue Length Thresholds for Shared-Memory Packet Switches, IEEE/ACM
    Transactions on Networking 6(2), 1998, with a factor of 1.
    """

    def __init__(
        self, max_bytes: int, message_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.max_bytes = max_bytes
        self.connections = Connections()
        self._message_bytes = min(message_bytes, max_bytes)
        self._clock = clock
        self._reads: dict[Reading, None] = {}
        self._used, self._reserved = Backlog(), Backlog()
        self._waiting: dict[Reading, asyncio.Future[None]] = {}
        self._streams: list[asyncio.Future[None]] = []
        self._sending: dict[Connection, None] = {}
        self._unsent = 0
        self._next_look: asyncio.TimerHandle | None = None

    @property
    def used(self) -> int:
        """Bytes of requests that are there."""
        return self._used.total

    def reading(
        self, wait_s: float | None, *, peer: str = "", caller: str = "", receive_s: float = 30.0,
        may_be_silent: bool = False,
    ) -> Reading:  # fmt: skip
        """Hold room for one message of any size for as long as the context lasts.

        Raises
        ------
        Overloaded
            If there is none within `wait_s` seconds; or on the way, see `Reading`.
        """
        connection = self.connections.of(peer)
        return Reading(
            self, connection, caller, wait_s=wait_s, receive_s=receive_s, may_be_silent=may_be_silent
        )

    async def begin(self, reading: Reading) -> None:
        """Wait until a message may be read."""
        if not self._waiting and self._fits(self._of(reading.caller)):
            self._let_in(reading, self._message_bytes)
        elif reading.is_small and not reading.connection.waits:
            self._let_in(reading, _SMALL_BYTES)
        else:
            await self._wait(reading)

    def end(self, reading: Reading) -> None:
        """Say that a message is there, or not waited for any more."""
        del self._reads[reading]
        self._reserve(reading, 0)
        reading.connection.reads -= 1
        if reading.size >= 0:
            reading.connection.gave(reading.size, is_last=not reading.may_be_silent)
        else:
            reading.connection.gave_up()
        self._changed()

    @contextmanager
    def held(self, caller: str, size: int) -> Iterator[None]:
        """Count bytes that a caller has in memory for as long as the context lasts."""
        self.take(caller, size)
        try:
            yield
        finally:
            self.give_back(caller, size)

    def take(self, caller: str, size: int) -> None:
        """Count bytes that a caller has in memory."""
        self._used.add(Flow(caller, ""), size)

    def give_back(self, caller: str, size: int) -> None:
        """Count bytes no more."""
        self._used.add(Flow(caller, ""), -size)
        self._changed()

    async def room_for_a_stream(self, caller: str, held: Callable[[], int]) -> None:
        """Wait until a stream may be read further, whose messages in work hold `held()` bytes."""
        own, share = Flow(caller, ""), self.max_bytes // _STREAM_SHARE
        while held() and (self.used >= self.max_bytes or self._used.of(own) >= share):
            change = asyncio.get_running_loop().create_future()
            self._streams.append(change)
            await change

    def begin_answer(self, peer: str, size: int) -> Callable[..., None]:
        """Count an answer until the function that this returns is called: when it has left."""
        connection, answer = self.connections.of(peer), object()
        connection.answers[answer] = self._clock(), size
        self._sending[connection] = None
        self._unsent += size
        if self._unsent > self.max_bytes:
            self.connections.seek()
            self._hang_up(max(self._sending, key=lambda one: one.unsent))
        self._look_later()
        return partial(self._end_answer, connection, answer)

    def _end_answer(self, connection: Connection, answer: object, *_: object) -> None:
        if answer in connection.answers:  # else it was hung up on
            self._unsent -= connection.answers.pop(answer)[1]
            if not connection.answers:
                del self._sending[connection]

    def _hang_up(self, connection: Connection) -> None:
        unsent = connection.unsent
        _log.warning("%s does not take its answers, %d bytes: it is hung up on", connection.peer, unsent)
        connection.hang_up()
        self._unsent -= unsent
        connection.answers.clear()
        del self._sending[connection]

    def look(self) -> None:
        """See what came of messages that are being read: the room they hold, whether they may go on; and who
        takes no answers."""
        self.connections.seek()
        for connection in list(self._sending):
            began_s, _ = next(iter(connection.answers.values()))
            if self._clock() - began_s > _TAKE_S + connection.unsent / _SLOWEST_BYTES_S:
                self._hang_up(connection)
        by_connection: dict[Connection, list[Reading]] = defaultdict(list)
        for reading in self._reads:
            by_connection[reading.connection].append(reading)
        now, coming = self._clock(), {}
        for connection, readings in by_connection.items():
            unread = connection.unread()
            if unread is not None:
                self._hold(readings, unread + _AHEAD * connection.grown(unread))
                coming[connection] = unread
            for reading in readings:
                _check_pace(reading, unread, now)
                reading.is_old = True
        self._refuse_overflow(coming, by_connection)
        self._changed()

    def close(self) -> None:
        """Look no more."""
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
        self.connections.close()

    async def _wait(self, reading: Reading) -> None:
        if len(self._waiting) >= _READS:
            raise overloaded(f"max_inflight_bytes: {_READS} requests wait for room", _AGAIN_S)
        turn = asyncio.get_running_loop().create_future()
        self._waiting[reading] = turn
        reading.connection.waits += 1
        self._look_later()
        self._admit_waiting()
        try:
            async with asyncio.timeout(reading.wait_s):
                await turn
        except (asyncio.CancelledError, TimeoutError) as error:
            self._waiting.pop(reading, None)
            if reading in self._reads:  # its turn had come
                self.end(reading)
            if isinstance(error, TimeoutError):
                rule = (
                    f"max_inflight_bytes: {self.used} bytes are in work, {len(self._reads)} requests are read"
                )
                raise overloaded(rule, reading.wait_s or _AGAIN_S) from None
            raise
        finally:
            reading.connection.waits -= 1

    def _let_in(self, reading: Reading, size: int) -> None:
        if len(self._reads) >= _READS:
            self._refuse_one()
        reading.since_s = self._clock()
        reading.connection.reads += 1
        self._reads[reading] = None
        self._reserve(reading, size)
        self._look_later()

    def _reserve(self, reading: Reading, size: int) -> None:
        self._reserved.add(Flow(reading.caller, ""), reading.hold(size))

    def _of(self, caller: str) -> int:
        """Return the bytes that a caller holds, of messages that are there and on their way."""
        flow = Flow(caller, "")
        return self._used.of(flow) + self._reserved.of(flow)

    def _fits(self, own: int) -> bool:
        """Return whether one more message may be read of who holds so many bytes."""
        held = self.used + self._reserved.total
        return (
            held <= self.max_bytes // _NEXT_TO_NOTHING or own + held + self._message_bytes <= self.max_bytes
        )

    def _admit_waiting(self) -> None:
        """Let in who waits and holds least, as long as that is within its share."""
        while self._waiting and self._fits(0):
            least = min(self._waiting, key=lambda one: (self._of(one.caller), one.connection.large))
            if not self._fits(self._of(least.caller)):
                return
            self._admit(least, self._message_bytes)

    def _changed(self) -> None:
        self._admit_waiting()
        for change in self._streams:
            if not change.done():
                change.set_result(None)
        self._streams.clear()

    def _admit(self, reading: Reading, size: int) -> None:
        turn = self._waiting.pop(reading)
        if not turn.done():
            self._let_in(reading, size)
            turn.set_result(None)

    def _hold(self, readings: list[Reading], expected: int) -> None:
        """Let messages of one connection hold room for what is expected; a new one still for the largest."""
        for reading in readings:
            if reading.is_old:
                self._reserve(reading, min(self._message_bytes, expected // len(readings)))

    def _refuse_overflow(
        self, coming: dict[Connection, int], by_connection: dict[Connection, list[Reading]]
    ) -> None:
        """Refuse messages of whom most came, until the others have room.

        Somebody who waits and has none gets it from who sends more than one message.
        """
        over = self.used + sum(coming.values()) - self.max_bytes
        wanted = self._message_bytes if any(not self._of(one.caller) for one in self._waiting) else 0
        if over + wanted <= 0:
            return
        of_caller: Counter[str] = Counter()
        for connection, unread in coming.items():
            of_caller[by_connection[connection][0].caller] += unread
        while over + wanted > 0 and coming:
            most = max(coming, key=lambda one: (of_caller[by_connection[one][0].caller], coming[one]))
            sent = of_caller[by_connection[most][0].caller]
            if coming[most] < _SMALL_BYTES or (over <= 0 and sent <= self._message_bytes):
                return
            for reading in by_connection[most]:
                reading.refuse(f"max_inflight_bytes: {coming[most]} bytes came, and there is no room")
            of_caller[by_connection[most][0].caller] -= coming[most]
            over -= coming.pop(most)

    def _refuse_one(self) -> None:
        for reading in self._reads:
            if reading.is_old and not reading.may_be_silent and not reading.refusal:
                reading.refuse(f"{_READS} requests are on their way in")
                return

    def _look_later(self) -> None:
        if self._next_look is None:
            self._next_look = asyncio.get_running_loop().call_later(_LOOK_S, self._look_now)

    def _look_now(self) -> None:
        self._next_look = None
        self.look()
        for reading in list(self._waiting):
            if reading.is_small:
                self._admit(reading, _SMALL_BYTES)
        if self._reads or self._waiting or self._sending or self.connections.is_seeking:
            self._look_later()


def _check_pace(reading: Reading, unread: int | None, now: float) -> None:
    """Refuse a message that does not come: a call that is begun and not ended holds others up for ever."""
    came = unread or 0
    if reading.may_be_silent and came < _SMALL_BYTES:
        reading.since_s = now
    if now - reading.since_s > reading.receive_s + came / _SLOWEST_BYTES_S:
        reading.refuse(f"the request did not come within {reading.receive_s:g} s")
