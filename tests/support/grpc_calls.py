"""A call as an interceptor sees it, without a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple, NoReturn

import grpc

from linkscore_server.door import BytesInWork, Door
from linkscore_server.observability import Metrics


class Details(NamedTuple):
    method: str


class Context:
    """Notes the status that a call ends with."""

    code = details = None
    sent: Any = None
    metadata: tuple[tuple[str, str], ...] = ()

    def __init__(self, remaining_s: float | None = None) -> None:
        self.remaining_s = remaining_s
        self.is_cancelled = False

    def set_code(self, code: grpc.StatusCode) -> None:
        self.code = code

    def set_details(self, details: str) -> None:
        self.details = details

    def set_trailing_metadata(self, metadata: Any) -> None:
        self.trailers = metadata

    async def abort(self, code: grpc.StatusCode, details: str, metadata: Any) -> NoReturn:
        self.code, self.details, self.trailers = code, details, metadata
        raise grpc.aio.AbortError

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return self.metadata

    def time_remaining(self) -> float | None:
        return self.remaining_s

    def cancelled(self) -> bool:
        return self.is_cancelled

    async def read(self) -> Any:
        return await anext(self.sent, grpc.aio.EOF)

    def peer(self) -> str:
        return "ipv4:127.0.0.1:1"


class Sent:
    """The requests of a call; says how many were read."""

    def __init__(self, *messages: bytes) -> None:
        self.messages = list(messages)
        self.read = 0

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self.read == len(self.messages):
            raise StopAsyncIteration
        self.read += 1
        return self.messages[self.read - 1]


class Wrapped:
    """A handler as gRPC calls it: requests are read from the context."""

    def __init__(self, handler: Any, metadata: dict[str, str]) -> None:
        self._handler, self._metadata = handler, tuple(metadata.items())

    def stream_unary(self, sent: Sent, context: Context) -> Any:
        context.sent, context.metadata = sent, self._metadata
        return self._handler.stream_unary(sent, context)


def door(metrics: Metrics | None = None, room: BytesInWork | None = None, **options: Any) -> Door:
    """A door that lets everything in, but for what `options` say."""
    return Door(metrics or Metrics(), room or BytesInWork(1 << 20), **options)


async def intercepted(
    guard: Door, handler: Any, method: str = "CrawlService/GetCrawl", **metadata: str
) -> Any:
    """Return the handler that gRPC gets for a call."""

    async def found(_: Any) -> Any:
        return handler

    return Wrapped(await guard.intercept_service(found, Details(f"/linkscore.v1.{method}")), metadata)
