"""Who may do what: the role each call of the contract asks for, checked before it is answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import grpc

from linkscore_frontier.advice import linkscore_name
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

_OURS = "/urlfrontier.URLFrontier/"
_caller: ContextVar[Caller] = ContextVar("frontier_caller", default=ANYBODY)


def may_touch(crawl: str) -> bool:
    """Say whether a crawl is among those of the caller; patterns of tokens are of linkscore's crawl names."""
    return _caller.get().may_touch(linkscore_name(crawl))


class TokenInterceptor(grpc.aio.ServerInterceptor):
    """Refuses calls without a token of the file, and those whose role does not include the call."""

    def __init__(self, tokens: TokenFile) -> None:
        self._tokens = tokens

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Check one call; health and reflection pass."""
        handler = await continuation(details)
        if handler is None or not details.method.startswith(_OURS):
            return handler
        header = str(dict(details.invocation_metadata).get("authorization", ""))
        refused = self._refusal(header, details.method.removeprefix(_OURS))
        return handler if refused is None else _refusing(handler, *refused)

    def _refusal(self, header: str, method: str) -> tuple[grpc.StatusCode, str] | None:
        who = self._tokens.caller_of(header)
        if who is None:
            rule = "authorization: must be 'Bearer <token>' with a token of this frontier"
            return grpc.StatusCode.UNAUTHENTICATED, rule
        need = ROLES.get(method)
        if need is None or who.role < need:
            wanted = "none" if need is None else need.name.lower()
            rule = f"{method} needs role {wanted}, {who.name} has {who.role.name.lower()}"
            return grpc.StatusCode.PERMISSION_DENIED, rule
        _caller.set(who)
        return None


def _refusing(handler: Any, code: grpc.StatusCode, message: str) -> Any:
    """Return a handler of the same kind that refuses the call."""

    async def refuse(_: Any, context: Any) -> None:
        await context.abort(code, message)

    async def refuse_stream(_: Any, context: Any) -> AsyncIterator[Any]:
        await context.abort(code, message)
        yield  # never reached: makes this a generator

    kinds = {
        (False, False): (grpc.unary_unary_rpc_method_handler, refuse),
        (False, True): (grpc.unary_stream_rpc_method_handler, refuse_stream),
        (True, True): (grpc.stream_stream_rpc_method_handler, refuse_stream),
    }
    make, answer = kinds[handler.request_streaming, handler.response_streaming]
    return make(answer, handler.request_deserializer, handler.response_serializer)
