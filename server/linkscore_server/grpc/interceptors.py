"""What happens around every call: bearer token, readiness, latency by method and code, errors to status."""

from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import grpc
from grpc_status import rpc_status

from linkscore_server.grpc.errors import BadToken, NotServing, status_of
from linkscore_server.observability.metrics import Metrics

_OURS = "/linkscore.v1."
_Handler = Any


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps the calls of linkscore's own services; health and reflection pass through untouched.

    Parameters
    ----------
    metrics
        Where latencies go.
    token
        Bearer token every call must carry; empty: none.
    is_ready
        Whether state is loaded.
    """

    def __init__(
        self, metrics: Metrics, *, token: str = "", is_ready: Callable[[], bool] = lambda: True
    ) -> None:
        self._metrics = metrics
        self._expected = f"Bearer {token}" if token else ""
        self._is_ready = is_ready
        self._in_flight = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def idle(self) -> None:
        """Wait until no call of linkscore's own services is in flight."""
        await self._idle.wait()

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[_Handler]], details: Any
    ) -> _Handler:
        """Wrap the handler of one call."""
        handler = await continuation(details)
        if handler is None or not details.method.startswith(_OURS):
            return handler
        given = dict(details.invocation_metadata).get("authorization", "")
        allowed = not self._expected or hmac.compare_digest(str(given).encode(), self._expected.encode())
        method = details.method.removeprefix(_OURS)
        if handler.response_streaming:
            streamed = self._stream(handler.stream_stream, method, allowed)
            return grpc.stream_stream_rpc_method_handler(
                streamed, handler.request_deserializer, handler.response_serializer
            )
        if handler.request_streaming:
            taken = self._unary(handler.stream_unary, method, allowed)
            return grpc.stream_unary_rpc_method_handler(
                taken, handler.request_deserializer, handler.response_serializer
            )
        unary = self._unary(handler.unary_unary, method, allowed)
        return grpc.unary_unary_rpc_method_handler(
            unary, handler.request_deserializer, handler.response_serializer
        )

    def _unary(
        self, call: Callable[..., Awaitable[Any]], method: str, allowed: bool
    ) -> Callable[..., Awaitable[Any]]:
        async def answer(request: Any, context: Any) -> Any:
            started = self._begin()
            code = grpc.StatusCode.CANCELLED
            try:
                self._check(allowed)
                response = await call(request, context)
                code = grpc.StatusCode.OK
                return response
            except Exception as exc:
                code = await self._abort(context, exc)
            finally:
                self._end(method, code, started)

        return answer

    def _stream(
        self, call: Callable[..., AsyncGenerator[Any, None]], method: str, allowed: bool
    ) -> Callable[..., AsyncIterator[Any]]:
        async def answer(requests: Any, context: Any) -> AsyncIterator[Any]:
            started = self._begin()
            code = grpc.StatusCode.CANCELLED
            try:
                self._check(allowed)
                async with aclosing(call(requests, context)) as responses:
                    async for response in responses:
                        yield response
                code = grpc.StatusCode.OK
            except Exception as exc:
                code = await self._abort(context, exc)
            finally:
                self._end(method, code, started)

        return answer

    def _check(self, allowed: bool) -> None:
        if not allowed:
            raise BadToken("authorization: must be 'Bearer <token>' with the token of this server")
        if not self._is_ready():
            raise NotServing("state is loading or the server drains, try again")

    async def _abort(self, context: Any, error: Exception) -> grpc.StatusCode:
        """Set the status of a failed call and return its code; the handler then ends without a response."""
        if isinstance(error, grpc.aio.AbortError):
            raise error
        status = rpc_status.to_status(status_of(error))
        context.set_code(status.code)
        context.set_details(status.details)
        context.set_trailing_metadata(status.trailing_metadata)
        code: grpc.StatusCode = status.code
        return code

    def _begin(self) -> float:
        self._in_flight += 1
        self._idle.clear()
        return time.perf_counter()

    def _end(self, method: str, code: grpc.StatusCode, started: float) -> None:
        self._in_flight -= 1
        if not self._in_flight:
            self._idle.set()
        self._metrics.rpc_seconds.labels(method, code.name).observe(time.perf_counter() - started)
