"""What stands before every call: who makes it, how many bytes it brings, how much time it has.

All of that comes before a message is read: gRPC knows method and metadata first, and a message that nobody
asks for stays with the client, but for the window of HTTP/2 flow control. That is why every handler is
given to gRPC as one that takes a stream of raw bytes, also where the contract has a single request: on the
wire that is the same, and the reading is ours.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from typing import Any

import grpc

from linkscore_server.grpc.access import RPCS, CallerOf, check_crawl, check_role, crawl_of, set_caller
from linkscore_server.grpc.admission import DelayEstimator, Flow, pages_in, work_of
from linkscore_server.grpc.bodies import cut_bodies
from linkscore_server.grpc.errors import BadToken, Leaving, MalformedMessage, NotServing
from linkscore_server.grpc.overload import overloaded
from linkscore_server.grpc.quotas import Quotas
from linkscore_server.grpc.room import InflightBytes
from linkscore_server.grpc.scheduler import LargeTurns
from linkscore_server.tokens import ANYBODY, Caller

_WAITS_FOR_PAGES = "LinkScoringService/"
"""Calls that are worked on in turn on the event loop; the others are short, or wait in threads."""

_RECEIVE_S = 30.0
"""Seconds in which the request of a call must have come, since it holds room: 64 MB at 17 Mbit/s. A bound."""

_STREAMS = 2_000
"""Streams of requests that are open at a time, silent ones too. A bound, of memory."""

_LARGE_BYTES = 1 << 20
"""Bytes from which messages are parsed in turn: that takes some 1 ms. Chosen, not measured."""

_TURN_AWAY_S = 0.1
"""How long new calls are turned away before the server closes: several round trips. Chosen, not measured."""


@dataclass(slots=True)
class Call:
    """One call on its way: who makes it, what it is about, how it ended."""

    method: str
    who: Caller | None
    authorization: str
    context: Any
    peer: str
    request_id: str
    started: float = field(default_factory=time.perf_counter)
    about: str = ""
    code: grpc.StatusCode = grpc.StatusCode.CANCELLED

    @property
    def name(self) -> str:
        """Name of the caller."""
        return self.who.name if self.who is not None else "nobody"

    @property
    def flow(self) -> Flow:
        """Whom it is counted for: its token, or its machine; and the crawl that it is about, once known."""
        is_anybody = self.who is None or self.who is ANYBODY
        return Flow(self.peer.rpartition(":")[0] if is_anybody else self.name, crawl_of(self.about))

    @property
    def is_queued(self) -> bool:
        """Whether it waits for pages of others."""
        return self.method.startswith(_WAITS_FOR_PAGES)


class Gate:
    """Lets calls and their messages in.

    Parameters
    ----------
    inflight
        Bounds the bytes of requests.
    work
        Predicts how long calls wait, each by what its own crawl has in work.
    quotas
        Holds tokens to what they may bring; None: to nothing.
    caller_of
        Gives who sends a header; None: everybody may do everything.
    is_ready
        Whether state is loaded.
    wait_s
        Longest wait for room to read a request, and for what the quota of its token allows.
    receive_s
        Longest time for a request to come once it is read.
    max_body_bytes
        Largest page; what bodies have beyond it is let go.
    """

    def __init__(
        self,
        inflight: InflightBytes,
        work: DelayEstimator,
        *,
        quotas: Quotas | None = None,
        caller_of: CallerOf | None = None,
        is_ready: Callable[[], bool] = lambda: True,
        wait_s: float = 5.0,
        receive_s: float = _RECEIVE_S,
        max_body_bytes: int = sys.maxsize,
    ) -> None:
        self._inflight = inflight
        self._work = work
        self._quotas = quotas or Quotas()
        self._caller_of = caller_of or (lambda _: ANYBODY)
        self._is_ready = is_ready
        self._wait_s = wait_s
        self._receive_s = receive_s
        self._is_leaving = False
        self._max_body_bytes = max_body_bytes
        self._streams = 0
        self._large = LargeTurns()

    def caller_of(self, authorization: str) -> Caller | None:
        """Return who sends a header `authorization`, None for nobody known."""
        return self._caller_of(authorization)

    async def turn_away(self) -> None:
        """Tell new calls, and those a quota holds, to come again once the connection is closed.

        gRPC ends a call without a word of its reason that is sent after the server began to close and before
        its caller hears of it. Who is turned away sends nothing at that moment.
        """
        self._is_leaving = True
        self._quotas.close()
        await asyncio.sleep(_TURN_AWAY_S)

    def close(self) -> None:
        """Let nothing more in."""
        self._inflight.close()

    def check(self, call: Call) -> None:
        """Refuse a call for who makes it, or for the state of the server.

        Raises
        ------
        LinkscoreError
            Saying why.
        """
        if call.who is None:
            raise BadToken("authorization: must be 'Bearer <token>' with a token of this server")
        if self._is_leaving:
            raise Leaving
        if not self._is_ready():
            raise NotServing("state is loading or the server drains, try again")
        check_role(call.who, call.method)
        set_caller(call.who)

    async def answered(self, handler: Any, call: Call) -> Any:
        """Read the one request of a call when there is room and time, and return its answer.

        The request counts while it is in work.

        Raises
        ------
        LinkscoreError
            If it may not be read, or does not come; and whatever the handler raises.
        """
        caller, who = call.flow.caller, call.who or ANYBODY
        counted = await self._quotas.admit(who, call.method, call.context.time_remaining(), self._wait_s)
        async with self._inflight.reading(
            self._wait_s, peer=call.peer, caller=caller, receive_s=self._receive_s
        ) as reading:
            raw = await next_message(call.context)
            if raw is None:
                raise MalformedMessage("there is no request")
            size = reading.size = len(raw)
            self._inflight.take(caller, size)
        self._quotas.take(who, size=size)
        try:
            async with self._turn_for(size):
                raw = cut_bodies(raw, call.method, self._max_body_bytes)
                request, left = _parsed(handler, raw, call), len(raw)
            del raw
            with self._admitted(request, left, call) if call.is_queued else nullcontext():
                self._quotas.take(who, pages=pages_in(request) - counted)
                return await (handler.unary_unary or handler.unary_stream)(request, call.context)
        finally:
            self._inflight.give_back(caller, size)

    def leaving(self, handler: Any, response: Any, call: Call) -> bytes:
        """Return the bytes of the one answer of a call, which count until the running task ends."""
        raw: bytes = handler.response_serializer(response)
        task = asyncio.current_task()
        assert task is not None
        task.add_done_callback(self._inflight.begin_answer(call.peer, len(raw)))
        return raw

    @contextmanager
    def sending(self, raw: bytes, call: Call) -> Iterator[bytes]:
        """Count an answer of a stream for as long as the context lasts."""
        left = self._inflight.begin_answer(call.peer, len(raw))
        try:
            yield raw
        finally:
            left()

    def stream(self, *, is_work: bool = True) -> AbstractContextManager[MessagesInWork]:
        """Count the messages of a stream for as long as the context lasts.

        Parameters
        ----------
        is_work
            Whether others wait for what is done with them.

        Raises
        ------
        Overloaded
            If too many streams are open.
        """
        if self._streams >= _STREAMS:
            raise overloaded(f"{_STREAMS} streams are open", self._wait_s)
        return MessagesInWork(self._inflight, self._work if is_work else None, self._count_stream)

    async def messages(
        self, handler: Any, call: Call, in_work: MessagesInWork, *, one_by_one: bool = False
    ) -> AsyncGenerator[Any, None]:
        """Give the messages of a stream; with `one_by_one` one is done with when the next is asked for.

        Raises
        ------
        BadToken
            If the token of the caller is none any more.
        """
        caller = call.flow.caller
        while True:
            while not await self._quotas.turn(call.who or ANYBODY, call.method):
                self._check_still_known(call)
            await self._inflight.room_for_a_stream(caller, in_work.size)
            async with self._inflight.reading(
                None, peer=call.peer, caller=caller, receive_s=self._receive_s, may_be_silent=True
            ) as reading:
                raw = await next_message(call.context)
                if raw is None:
                    return
                reading.size = len(raw)
                in_work.begin(caller, len(raw))
            self._check_still_known(call)
            self._quotas.take(call.who or ANYBODY, size=len(raw))
            async with self._turn_for(len(raw)):
                raw = cut_bodies(raw, call.method, self._max_body_bytes)
                request = _parsed(handler, raw, call)
            in_work.count_work(call.flow, work_of(request, len(raw)))
            self._quotas.take(call.who or ANYBODY, pages=pages_in(request))
            del raw
            yield request
            del request  # the next one may be long in coming
            if one_by_one:
                in_work.end_oldest()

    def _turn_for(self, size: int) -> AbstractAsyncContextManager[None]:
        """Return the turn to parse a message."""
        return self._large if size >= _LARGE_BYTES else nullcontext()

    def _check_still_known(self, call: Call) -> None:
        if call.method not in RPCS:
            return
        who = self._caller_of(call.authorization)
        if who is None:
            raise BadToken("authorization: the token is none of this server any more")
        if who != call.who:
            check_role(who, call.method)
            call.who = who

    def _admitted(self, request: Any, size: int, call: Call) -> AbstractContextManager[None]:
        """Count a request of so many bytes as work, if it would be answered in time."""
        work = work_of(request, size)
        self._work.check(call.flow, work, call.context.time_remaining())
        return self._work.counted(call.flow, work)

    def _count_stream(self, change: int) -> None:
        self._streams += change


class MessagesInWork:
    """The messages of one stream that are not answered yet, in their order."""

    def __init__(
        self, inflight: InflightBytes, work: DelayEstimator | None, count_stream: Callable[[int], None]
    ) -> None:
        self._inflight = inflight
        self._work = work
        self._count_stream = count_stream
        self._messages: deque[tuple[int, ExitStack]] = deque()
        self._size = 0

    def __enter__(self) -> MessagesInWork:
        self._count_stream(1)
        return self

    def __exit__(self, *error: object) -> None:
        self._count_stream(-1)
        while self._messages:
            self.end_oldest()

    def size(self) -> int:
        """Return their bytes."""
        return self._size

    def begin(self, caller: str, size: int) -> None:
        """Count the bytes of a message of a caller."""
        counts = ExitStack()
        counts.enter_context(self._inflight.held(caller, size))
        self._messages.append((size, counts))
        self._size += size

    def count_work(self, flow: Flow, size: int) -> None:
        """Count so much work of the message that came last."""
        if self._work is not None:
            _, counts = self._messages[-1]
            counts.enter_context(self._work.counted(flow, size))

    def end_oldest(self) -> None:
        """Count the message that came first no more."""
        if self._messages:
            size, counts = self._messages.popleft()
            self._size -= size
            counts.close()


async def next_message(context: Any) -> bytes | None:
    """Return the next message of a call, None after the last.

    The iterator that gRPC gives to a handler would keep the last message until cycles are collected.
    """
    raw = await context.read()
    return None if raw is grpc.aio.EOF else raw


def _parsed(handler: Any, raw: bytes, call: Call) -> Any:
    """Return a request that its caller may make.

    Raises
    ------
    MalformedMessage
        If the bytes are no such message.
    NotAllowed
        If it is about a crawl that its caller must not touch.
    """
    try:
        request = handler.request_deserializer(raw)
    except Exception:  # what protobuf raises depends on its implementation
        raise MalformedMessage(f"the {len(raw)} bytes sent are no request of {call.method}") from None
    if call.who is not None and call.method in RPCS:
        call.about = check_crawl(call.who, call.method, request) or call.about
    return request
