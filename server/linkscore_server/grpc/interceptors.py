"""What happens around every call: latency by code, errors to status, a line of those that are slow.

What comes before it is in `gate`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any

import grpc
from grpc_status import rpc_status

from linkscore_scoring.errors import LinkscoreError
from linkscore_server.crawls import reads
from linkscore_server.crawls.turns import set_wait
from linkscore_server.grpc.access import write_audit_line
from linkscore_server.grpc.errors import Leaving, MalformedMessage, status_of
from linkscore_server.grpc.frames import without_frames
from linkscore_server.grpc.gate import Call, Gate
from linkscore_server.grpc.overload import Overloaded, QuotaExceeded
from linkscore_server.grpc.request_ids import KEY, begin_request
from linkscore_server.observability.metrics import Metrics
from linkscore_server.tokens import ANYBODY

METADATA = ("authorization", KEY, reads.KEY)
"""What a call says beside its request."""

_OURS = "/linkscore.v1."

_SLOW_S = 2.5
"""Seconds from which a call leaves a line in the log: the bound of `LinkscoreSlow`, which sends you there."""

_UNTIMED = frozenset({"StreamPages", "LearnSite", "ImportBrowseRecords", "MineSite"})
"""Calls that last as long as their crawl or a learning takes: slow says nothing of them."""

_log = logging.getLogger(__name__)
_Handler = Any
_Requests = AsyncIterator[bytes]
_Metadata = Mapping[str, str | bytes]


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps the calls of linkscore's own services; of health and reflection only the bytes count.

    Parameters
    ----------
    metrics
        Where latencies go.
    gate
        Lets calls in.
    trace_id
        Gives the trace of the call that is being answered, empty without one.
    """

    def __init__(self, metrics: Metrics, gate: Gate, *, trace_id: Callable[[], str] = str) -> None:
        self._metrics = metrics
        self._gate = gate
        self._trace_id = trace_id
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Wait until no call of linkscore's own services that was let in is in flight."""
        await self._idle.wait()

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[_Handler]], details: Any
    ) -> _Handler:
        """Wrap the handler of one call."""
        handler = await continuation(details)
        if handler is None:
            return None
        if not details.method.startswith(_OURS):
            return _open(handler, self._gate, details.method)
        method = details.method.removeprefix(_OURS)
        metadata = dict(details.invocation_metadata)
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(self._stream(handler, method, metadata))
        return grpc.stream_unary_rpc_method_handler(self._unary(handler, method, metadata))

    def _unary(
        self, handler: _Handler, method: str, metadata: _Metadata
    ) -> Callable[[_Requests, Any], Awaitable[Any]]:
        async def answer(_: _Requests, context: Any) -> Any:
            call = self._begin(method, metadata, context)
            try:
                self._gate.check(call)
                with self._in_work():
                    response = await self._respond(handler, call)
                call.code = grpc.StatusCode.OK
                return self._gate.leaving(handler, response, call)
            except Exception as exc:
                await self._fail(call, exc)
            finally:
                self._end(call)

        return answer

    def _stream(
        self, handler: _Handler, method: str, metadata: _Metadata
    ) -> Callable[[_Requests, Any], AsyncIterator[Any]]:
        async def answer(_: _Requests, context: Any) -> AsyncIterator[Any]:
            call = self._begin(method, metadata, context)
            try:
                self._gate.check(call)
                with self._in_work(), self._gate.stream() as in_work:
                    messages = self._gate.messages(handler, call, in_work)
                    async with aclosing(handler.stream_stream(messages, context)) as responses:
                        async for response in responses:
                            in_work.end_oldest()
                            with self._gate.sending(handler.response_serializer(response), call) as raw:
                                yield raw
                call.code = grpc.StatusCode.OK
            except Exception as exc:
                await self._fail(call, exc)
            finally:
                self._end(call)

        return answer

    @contextmanager
    def _in_work(self) -> Iterator[None]:
        # Calls that are turned away do not count: callers may begin the next before the last has ended.
        self._in_flight += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._idle.set()

    async def _respond(self, handler: _Handler, call: Call) -> Any:
        if not handler.request_streaming:
            return await self._gate.answered(handler, call)
        with self._gate.stream(is_work=False) as in_work:
            messages = self._gate.messages(handler, call, in_work, one_by_one=True)
            return await handler.stream_unary(messages, call.context)

    async def _fail(self, call: Call, error: Exception) -> None:
        """Set the status of a failed call; the handler then ends without a response.

        Raises
        ------
        grpc.aio.AbortError
            If the call was aborted already, or its caller may repeat it.
        """
        if isinstance(error, grpc.aio.AbortError):
            raise error
        if isinstance(error, MalformedMessage):
            _log.warning("%s of %s at %s: %s", call.method, call.name, call.peer, error)
        if isinstance(error, QuotaExceeded):
            self._metrics.quota_refusals.labels(call.name).inc()
        elif isinstance(error, Overloaded):
            self._metrics.calls_shed.labels(call.method).inc()
        status = rpc_status.to_status(status_of(error))
        call.context.set_code(status.code)
        call.context.set_details(status.details)
        trailers = [*status.trailing_metadata, (KEY, call.request_id)]
        if isinstance(error, Leaving):
            trailers.append((_PUSHBACK, str(_COME_AGAIN_MS)))
        call.context.set_trailing_metadata(trailers)
        call.code = status.code
        without_frames(error)
        if status.code is grpc.StatusCode.UNAVAILABLE:
            # Only a call that is aborted is answered by trailers alone, which is what gRPC's retries ask for.
            await call.context.abort(status.code, status.details, tuple(trailers))

    def _begin(self, method: str, metadata: _Metadata, context: Any) -> Call:
        name = begin_request(str(metadata.get(KEY, "")))
        set_wait(context.time_remaining())
        reads.set_reads(str(metadata.get(reads.KEY, "")))
        authorization = str(metadata.get("authorization", ""))
        context.set_trailing_metadata(((KEY, name),))
        # Asked now: of a call that gRPC has cancelled its C core gives no address, it crashes.
        peer, who = context.peer(), self._gate.caller_of(authorization)
        return Call(method, who, authorization, context, peer, name)

    def _end(self, call: Call) -> None:
        seconds = time.perf_counter() - call.started
        self._metrics.count_call(
            call.method, call.code.name, seconds, request_id=call.request_id, trace_id=self._trace_id()
        )
        if seconds > _SLOW_S and call.method.rpartition("/")[2] not in _UNTIMED:
            _log.warning(
                "request %s: %s of %s at %s took %.1f s, %s",
                *(call.request_id, call.method, call.name, call.peer, seconds, call.code.name),
            )
        write_audit_line(call.name, call.method, call.about, peer=call.peer, code=call.code.name)


_PUSHBACK, _COME_AGAIN_MS = "grpc-retry-pushback-ms", 250
"""Trailer that tells gRPC's own retries when to begin, and the time: after the server has closed."""


def _open(handler: _Handler, gate: Gate, method: str) -> _Handler:
    """Wrap a call that anybody may make at any time: health and reflection."""

    async def unary(_: _Requests, context: Any) -> Any:
        try:
            return await gate.answered(handler, _call_of_anybody(method, context))
        except LinkscoreError as exc:
            await context.abort_with_status(rpc_status.to_status(status_of(exc)))

    async def streamed(_: _Requests, context: Any) -> AsyncIterator[Any]:
        try:
            with gate.stream(is_work=False) as in_work:
                call = _call_of_anybody(method, context)
                messages = gate.messages(handler, call, in_work, one_by_one=True)
                async with aclosing(handler.stream_stream(messages, context)) as responses:
                    async for response in responses:
                        yield response
        except LinkscoreError as exc:
            await context.abort_with_status(rpc_status.to_status(status_of(exc)))

    if handler.stream_stream is not None:
        return grpc.stream_stream_rpc_method_handler(streamed, None, handler.response_serializer)
    if handler.unary_stream is not None:  # it writes its answers itself
        return grpc.stream_stream_rpc_method_handler(unary, None, handler.response_serializer)
    return grpc.stream_unary_rpc_method_handler(unary, None, handler.response_serializer)


def _call_of_anybody(method: str, context: Any) -> Call:
    return Call(method, ANYBODY, "", context, context.peer(), "")
