"""What happens around every call: token, role, readiness, room and time, latency by code, errors to status.

All of that comes before the request is read: gRPC knows method and metadata first, and a message that nobody
asks for stays with the client, but for the window of HTTP/2 flow control. That is why every handler is
given to gRPC as one that takes a stream of raw bytes, also where the contract has a single request: on the
wire that is the same, and the reading is ours.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, aclosing, nullcontext
from dataclasses import dataclass, field
from typing import Any

import grpc
from grpc_status import rpc_status

from linkscore_server.grpc.access import CallerOf, check_crawl, check_role, set_caller, write_audit_line
from linkscore_server.grpc.admission import InflightBytes, WorkAhead
from linkscore_server.grpc.errors import (
    BadToken,
    Leaving,
    MalformedMessage,
    NotServing,
    Overloaded,
    status_of,
)
from linkscore_server.grpc.request_ids import KEY, begin_request
from linkscore_server.observability.metrics import Metrics
from linkscore_server.tokens import ANYBODY, Caller

_OURS = "/linkscore.v1."
_WAITS_FOR_PAGES = "LinkScoringService/"
"""Calls that are worked on in turn on the event loop; the others are short, or wait in threads."""

_RECEIVE_S = 30.0
"""Seconds in which the request of a call must have come, since it holds room: 64 MB at 17 Mbit/s. A bound."""

_SLOW_S = 2.5
"""Seconds from which a call leaves a line in the log: the bound of `LinkscoreSlow`, which sends you there."""

_UNTIMED = frozenset({"StreamPages", "LearnSite", "ImportBrowseRecords", "MineSite"})
"""Calls that last as long as their crawl or a learning takes: slow says nothing of them."""

_log = logging.getLogger(__name__)
_Handler = Any
_Requests = AsyncIterator[bytes]


@dataclass(slots=True)
class _Call:
    """One call on its way: who makes it, what it is about, how it ended."""

    method: str
    who: Caller
    context: Any
    peer: str
    request_id: str
    started: float = field(default_factory=time.perf_counter)
    about: str = ""
    code: grpc.StatusCode = grpc.StatusCode.CANCELLED

    @property
    def is_queued(self) -> bool:
        return self.method.startswith(_WAITS_FOR_PAGES)


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps the calls of linkscore's own services; health and reflection pass through untouched.

    Parameters
    ----------
    metrics
        Where latencies go.
    inflight
        Bounds the bytes of requests.
    work
        Predicts how long calls wait.
    caller_of
        Gives who sends a header; None: everybody may do everything.
    is_ready
        Whether state is loaded.
    wait_s
        Longest wait for room to read a request.
    receive_s
        Longest time for a request to come once it is read.
    trace_id
        Gives the trace of the call that is being answered, empty without one.
    """

    def __init__(
        self,
        metrics: Metrics,
        *,
        inflight: InflightBytes,
        work: WorkAhead,
        caller_of: CallerOf | None = None,
        is_ready: Callable[[], bool] = lambda: True,
        wait_s: float = 5.0,
        receive_s: float = _RECEIVE_S,
        trace_id: Callable[[], str] = str,
    ) -> None:
        self._metrics = metrics
        self._inflight = inflight
        self._work = work
        self._caller_of = caller_of or (lambda _: ANYBODY)
        self._is_ready = is_ready
        self._wait_s = wait_s
        self._receive_s = receive_s
        self._trace_id = trace_id
        self._in_flight = 0
        self._is_leaving = False
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Wait until no call of linkscore's own services is in flight."""
        await self._idle.wait()

    async def turn_away(self) -> None:
        """Answer new calls from now on that they shall come again when the connection is closed.

        gRPC ends a call without a word of its reason that is sent after the server began to close and before
        its caller hears of it. Who is turned away sends nothing at that moment.
        """
        self._is_leaving = True
        await asyncio.sleep(_TURN_AWAY_S)

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[_Handler]], details: Any
    ) -> _Handler:
        """Wrap the handler of one call."""
        handler = await continuation(details)
        if handler is None or not details.method.startswith(_OURS):
            return handler
        method = details.method.removeprefix(_OURS)
        metadata = dict(details.invocation_metadata)
        who = self._caller_of(str(metadata.get("authorization", "")))
        given_id = str(metadata.get(KEY, ""))
        if handler.response_streaming:
            streamed = self._stream(handler, method, who, given_id)
            return grpc.stream_stream_rpc_method_handler(streamed, None, handler.response_serializer)
        unary = self._unary(handler, method, who, given_id)
        return grpc.stream_unary_rpc_method_handler(unary, None, handler.response_serializer)

    def _unary(
        self, handler: _Handler, method: str, who: Caller | None, given_id: str
    ) -> Callable[[_Requests, Any], Awaitable[Any]]:
        async def answer(_: _Requests, context: Any) -> Any:
            call = self._begin(method, who, context, given_id)
            try:
                self._check(who, method)
                response = await self._respond(handler, call)
                call.code = grpc.StatusCode.OK
                return response
            except Exception as exc:
                await self._fail(call, exc)
            finally:
                self._end(call)

        return answer

    def _stream(
        self, handler: _Handler, method: str, who: Caller | None, given_id: str
    ) -> Callable[[_Requests, Any], AsyncIterator[Any]]:
        async def answer(_: _Requests, context: Any) -> AsyncIterator[Any]:
            call = self._begin(method, who, context, given_id)
            try:
                self._check(who, method)
                with _MessagesInWork(self._inflight, self._work) as in_work:
                    messages = self._messages(handler, call, in_work)
                    async with aclosing(handler.stream_stream(messages, context)) as responses:
                        async for response in responses:
                            in_work.end_oldest()
                            yield response
                call.code = grpc.StatusCode.OK
            except Exception as exc:
                await self._fail(call, exc)
            finally:
                self._end(call)

        return answer

    async def _respond(self, handler: _Handler, call: _Call) -> Any:
        if handler.request_streaming:
            with _MessagesInWork(self._inflight, None) as in_work:
                return await handler.stream_unary(
                    self._messages(handler, call, in_work, one_by_one=True), call.context
                )
        return await self._respond_to_one(handler, call)

    def _check(self, who: Caller | None, method: str) -> None:
        if who is None:
            raise BadToken("authorization: must be 'Bearer <token>' with a token of this server")
        if self._is_leaving:
            raise Leaving("this process of the server makes room for another one, try again")
        if not self._is_ready():
            raise NotServing("state is loading or the server drains, try again")
        check_role(who, method)
        set_caller(who)

    async def _respond_to_one(self, handler: _Handler, call: _Call) -> Any:
        """Read the request of a call when there is room and time; it counts while it is in work."""
        self._check_time(call)
        async with self._inflight.reading(self._wait_s):
            self._check_time(call)
            raw = await self._received(call)
            size = len(raw)
            self._inflight.take(size)
        try:
            self._check_time(call, size)
            with self._work.counted(size) if call.is_queued else nullcontext():
                request = _parsed(handler, raw, call)
                del raw
                return await handler.unary_unary(request, call.context)
        finally:
            self._inflight.give_back(size)

    async def _messages(
        self,
        handler: _Handler,
        call: _Call,
        in_work: _MessagesInWork,
        *,
        one_by_one: bool = False,
    ) -> AsyncGenerator[Any, None]:
        """Give the messages of a stream; with `one_by_one` one is done with when the next is asked for."""
        while True:
            await self._inflight.room_for_a_stream(in_work.size)
            raw = await _next_message(call)
            if raw is None:
                return
            in_work.begin(len(raw))
            yield _parsed(handler, raw, call)
            if one_by_one:
                in_work.end_oldest()

    async def _received(self, call: _Call) -> bytes:
        try:
            async with asyncio.timeout(self._receive_s):
                raw = await _next_message(call)
        except TimeoutError:
            raise Overloaded(f"the request did not come within {self._receive_s:g} s") from None
        if raw is None:
            raise MalformedMessage("there is no request")
        return raw

    def _check_time(self, call: _Call, size: int = 0) -> None:
        if call.is_queued and not self._work.is_idle:
            self._work.check(size, call.context.time_remaining())

    async def _fail(self, call: _Call, error: Exception) -> None:
        """Set the status of a failed call; the handler then ends without a response.

        Raises
        ------
        grpc.aio.AbortError
            If the call was aborted already, or its caller may repeat it.
        """
        if isinstance(error, grpc.aio.AbortError):
            raise error
        if isinstance(error, MalformedMessage):
            _log.warning("%s of %s at %s: %s", call.method, call.who.name, call.peer, error)
        if isinstance(error, Overloaded):
            self._metrics.calls_shed.labels(call.method).inc()
        status = rpc_status.to_status(status_of(error))
        call.context.set_code(status.code)
        call.context.set_details(status.details)
        trailers = [*status.trailing_metadata, (KEY, call.request_id)]
        if isinstance(error, Leaving):
            trailers.append((_PUSHBACK, str(_COME_AGAIN_MS)))
        call.context.set_trailing_metadata(trailers)
        call.code = status.code
        # Frames hold the request, and cycles of frames and errors are collected rarely.
        error.__traceback__ = error.__context__ = error.__cause__ = None
        if status.code is grpc.StatusCode.UNAVAILABLE:
            # Only a call that is aborted is answered by trailers alone, which is what gRPC's retries ask for.
            await call.context.abort(status.code, status.details, tuple(trailers))

    def _begin(self, method: str, who: Caller | None, context: Any, given_id: str) -> _Call:
        self._in_flight += 1
        self._idle.clear()
        name = begin_request(given_id)
        context.set_trailing_metadata(((KEY, name),))
        # Asked now: of a call that gRPC has cancelled its C core gives no address, it crashes.
        return _Call(method, who or _NOBODY, context, context.peer(), name)

    def _end(self, call: _Call) -> None:
        self._in_flight -= 1
        if not self._in_flight:
            self._idle.set()
        seconds = time.perf_counter() - call.started
        self._metrics.count_call(
            call.method, call.code.name, seconds, request_id=call.request_id, trace_id=self._trace_id()
        )
        if seconds > _SLOW_S and call.method.rpartition("/")[2] not in _UNTIMED:
            _log.warning(
                "request %s: %s of %s at %s took %.1f s, %s",
                *(call.request_id, call.method, call.who.name, call.peer, seconds, call.code.name),
            )
        write_audit_line(call.who, call.method, call.about, peer=call.peer, code=call.code.name)


class _MessagesInWork:
    """The messages of one stream that are not answered yet, in their order."""

    def __init__(self, inflight: InflightBytes, work: WorkAhead | None) -> None:
        self._inflight = inflight
        self._work = work
        self._messages: deque[tuple[int, ExitStack]] = deque()
        self._size = 0

    def __enter__(self) -> _MessagesInWork:
        return self

    def __exit__(self, *error: object) -> None:
        while self._messages:
            self.end_oldest()

    def size(self) -> int:
        """Return their bytes."""
        return self._size

    def begin(self, size: int) -> None:
        """Count a message."""
        counts = ExitStack()
        counts.enter_context(self._inflight.held(size))
        if self._work is not None:
            counts.enter_context(self._work.counted(size))
        self._messages.append((size, counts))
        self._size += size

    def end_oldest(self) -> None:
        """Count the message that came first no more."""
        if self._messages:
            size, counts = self._messages.popleft()
            self._size -= size
            counts.close()


_TURN_AWAY_S = 0.1
"""How long new calls are turned away before the server closes: several round trips. Chosen, not measured."""
_PUSHBACK, _COME_AGAIN_MS = "grpc-retry-pushback-ms", 250
"""Trailer that tells gRPC's own retries when to begin, and the time: after the server has closed."""
_NOBODY = Caller("nobody", ANYBODY.role, ())


async def _next_message(call: _Call) -> bytes | None:
    """Return the next message of a call, None after the last.

    The iterator that gRPC gives to a handler would keep the last message until cycles are collected.
    """
    raw = await call.context.read()
    return None if raw is grpc.aio.EOF else raw


def _parsed(handler: _Handler, raw: bytes, call: _Call) -> Any:
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
    call.about = check_crawl(call.who, call.method, request) or call.about
    return request
