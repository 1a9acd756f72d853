"""What stands before every call: who may make it, checked before any of its bytes are asked for.

Every handler is given to gRPC as one that takes a stream of raw bytes, also where the contract has a single
request: on the wire that is the same, and a message that nobody asks for stays with the client.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import grpc

from linkscore_frontier.advice import linkscore_name
from linkscore_server.door import Arrivals, BytesInWork
from linkscore_server.services.errors import Overloaded, without_frames
from linkscore_server.tokens import ANYBODY, Caller, Role, TokenFile

ROLES: dict[str, Role] = {
    "ListNodes": Role.READ,
    "ListCrawls": Role.READ,
    "ListQueues": Role.READ,
    "ListURLs": Role.READ,
    "CountURLs": Role.READ,
    "GetStats": Role.READ,
    "GetURLStatus": Role.READ,
    "GetActive": Role.READ,
    "GetURLs": Role.WRITE,
    "PutURLs": Role.WRITE,
    "PutDiscovered": Role.WRITE,
    "BlockQueueUntil": Role.WRITE,
    "SetDelay": Role.WRITE,
    "SetCrawlLimit": Role.WRITE,
    "SetActive": Role.ADMIN,
    "SetLogLevel": Role.ADMIN,
    "DeleteCrawl": Role.ADMIN,
    "DeleteQueue": Role.ADMIN,
    "PurgeURLs": Role.ADMIN,
}
"""Every call of the contract. One that is not here is refused to everybody."""

_RECEIVE_S = 10.0  # in which the message of a call must come; a bound
_log = logging.getLogger(__name__)
_OURS = "/urlfrontier.URLFrontier/"


@dataclass(slots=True)
class _Who:
    """Who makes a call: one for all tasks of it, so that each sees when the token file changes."""

    now: Caller = ANYBODY


_who: ContextVar[_Who] = ContextVar("frontier_caller")


def may_touch(crawl: str) -> bool:
    """Say whether a crawl is among those of the caller; patterns of tokens are of linkscore's crawl names."""
    return _who.get().now.may_touch(linkscore_name(crawl))


def may_touch_all() -> bool:
    """Say whether all crawls are the caller's, those to come too."""
    return "*" in _who.get().now.crawls


class Refused(Exception):
    """A call that ends with a status and the rule that it broke.

    Only the gate aborts calls, in the task that answers them: a stream may be read in another task, and gRPC
    aborts no call that is sending.

    Parameters
    ----------
    code
        The status.
    rule
        What the caller is told.
    """

    def __init__(self, code: grpc.StatusCode, rule: str) -> None:
        super().__init__(rule)
        self.code = code


class Gate(grpc.aio.ServerInterceptor):
    """Refuses calls without a token of the file, and those whose role does not include the call.

    What goes wrong inside a call is logged, and said to its caller without a word of the inside.

    Parameters
    ----------
    tokens
        Who may call; None: everybody may do everything.
    in_work
        Bounds the bytes of messages.
    """

    def __init__(self, tokens: TokenFile | None, in_work: BytesInWork) -> None:
        self._tokens = tokens
        self._in_work = in_work
        self._arrivals = Arrivals()

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Wrap the handler of one call; health and reflection pass."""
        handler = await continuation(details)
        if handler is None or not details.method.startswith(_OURS):
            return handler
        header = str(dict(details.invocation_metadata).get("authorization", ""))
        method = details.method.removeprefix(_OURS)
        if handler.response_streaming:
            streamed = self._streamed(handler, method, header)
            return grpc.stream_stream_rpc_method_handler(streamed, None, handler.response_serializer)
        answered = self._answered(handler, method, header)
        return grpc.stream_unary_rpc_method_handler(answered, None, handler.response_serializer)

    def _answered(self, handler: Any, method: str, header: str) -> Callable[[Any, Any], Awaitable[Any]]:
        async def answer(_: Any, context: Any) -> Any:
            _who.set(_Who())
            try:
                self._check(method, header)
                request = await self._only_message(handler, method, context)
                return await handler.unary_unary(request, context)
            except Exception as exc:
                await _failed(method, exc, context)

        return answer

    def _streamed(self, handler: Any, method: str, header: str) -> Callable[[Any, Any], AsyncIterator[Any]]:
        async def answer(_: Any, context: Any) -> AsyncIterator[Any]:
            _who.set(_Who())
            try:
                self._check(method, header)
                if handler.request_streaming:
                    with _InWork(self._in_work, _caller(context)) as in_work:
                        messages = self._messages(handler, method, header, context, in_work)
                        async with aclosing(handler.stream_stream(messages, context)) as answers:
                            async for one in answers:
                                in_work.end_oldest()
                                yield one
                else:
                    request = await self._only_message(handler, method, context)
                    async for one in handler.unary_stream(request, context):
                        yield one
            except Exception as exc:
                await _failed(method, exc, context)

        return answer

    async def _messages(
        self, handler: Any, method: str, header: str, context: Any, in_work: _InWork
    ) -> AsyncIterator[Any]:
        """Give the messages of a stream; the token is looked up for each, as it may have been revoked."""
        while True:
            await in_work.room()
            raw = await self._arrivals.next(context, None)
            if raw is None:
                return
            in_work.begin(len(raw))
            self._check(method, header)
            yield _parsed(handler, method, raw)

    async def _only_message(self, handler: Any, method: str, context: Any) -> Any:
        raw = await self._arrivals.next(context, _RECEIVE_S)
        if raw is None:
            raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "there is no request")
        return _parsed(handler, method, raw)

    def _check(self, method: str, header: str) -> None:
        if self._tokens is None:
            return
        who = self._tokens.caller_of(header)
        if who is None:
            rule = "authorization: must be 'Bearer <token>' with a token of this frontier"
            raise Refused(grpc.StatusCode.UNAUTHENTICATED, rule)
        need = ROLES.get(method)
        if need is None or who.role < need:
            wanted = "none" if need is None else need.name.lower()
            rule = f"{method} needs role {wanted}, {who.name} has {who.role.name.lower()}"
            raise Refused(grpc.StatusCode.PERMISSION_DENIED, rule)
        _who.get().now = who


class _InWork:
    """The messages of one stream that are not acknowledged yet; each has one, in their order."""

    def __init__(self, in_work: BytesInWork, caller: str) -> None:
        self._in_work = in_work
        self._caller = caller
        self._sizes: deque[int] = deque()
        self._is_over = False

    def __enter__(self) -> _InWork:
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over = True
        while self._sizes:
            self.end_oldest()

    async def room(self) -> None:
        """Wait until more of the stream may be read."""
        if self._sizes:
            await self._in_work.room(self._caller)

    def begin(self, size: int) -> None:
        """Count a message; one that is read when the call is over goes with it."""
        if self._is_over:
            return
        self._in_work.take(self._caller, size)
        self._sizes.append(size)

    def end_oldest(self) -> None:
        """Count the message that came first no more."""
        if self._sizes:
            self._in_work.give_back(self._caller, self._sizes.popleft())


def _caller(context: Any) -> str:
    """Return whom a message is counted for: its token, or its machine."""
    who = _who.get().now
    return str(context.peer()).rpartition(":")[0] if who is ANYBODY else who.name


def _parsed(handler: Any, method: str, raw: bytes) -> Any:
    try:
        return handler.request_deserializer(raw)
    except Exception:  # what protobuf raises depends on its implementation
        rule = f"the {len(raw)} bytes sent are no request of {method}"
        raise Refused(grpc.StatusCode.INVALID_ARGUMENT, rule) from None


async def _failed(method: str, error: Exception, context: Any) -> None:
    if not isinstance(error, Refused | Overloaded):
        _log.error("%s failed", method, exc_info=error)
    without_frames(error)
    if isinstance(error, Refused):
        await context.abort(error.code, str(error))
    if isinstance(error, Overloaded):
        await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
    await context.abort(grpc.StatusCode.INTERNAL, f"{method} failed inside the frontier; its log says why")
