"""Who may make which call: by the tokens of a file, as it is at each call and at each message of a stream."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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
    "BlockQueueUntil": Role.WRITE,
    "SetDelay": Role.WRITE,
    "SetCrawlLimit": Role.WRITE,
    "SetActive": Role.ADMIN,
    "DeleteCrawl": Role.ADMIN,
    "DeleteQueue": Role.ADMIN,
}
"""Every call that is served; others of the contract are UNIMPLEMENTED."""

_OURS = "/urlfrontier.URLFrontier/"

# Gives the caller of the call that is being answered; None once its token is revoked.
_caller: ContextVar[Callable[[], Caller | None]] = ContextVar("frontier_caller", default=lambda: ANYBODY)


def may_touch(crawl: str) -> bool:
    """Say whether a crawl is among those of the caller; patterns of tokens are of linkscore's crawl names."""
    who = _caller.get()()
    return who is not None and who.may_touch(linkscore_name(crawl))


def may_touch_all() -> bool:
    """Say whether all crawls are the caller's, those to come too."""
    who = _caller.get()()
    return who is not None and "*" in who.crawls


class Gate(grpc.aio.ServerInterceptor):
    """Refuses calls without a token of the file (None: all may do all), and those that are not of its role.

    Nothing is read of a call that is refused. Health and reflection are for everybody.
    """

    def __init__(self, tokens: TokenFile | None) -> None:
        self._tokens = tokens

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Give the handler of one call."""
        if not details.method.startswith(_OURS):
            return await continuation(details)
        method, tokens = details.method.removeprefix(_OURS), self._tokens
        if (need := ROLES.get(method)) is None:
            return None
        if tokens is not None:
            header = str(dict(details.invocation_metadata).get("authorization", ""))
            who = tokens.caller_of(header)
            if who is None:
                rule = "authorization: must be 'Bearer <token>' with a token of this frontier"
                return _refusing(grpc.StatusCode.UNAUTHENTICATED, rule)
            if who.role < need:
                rule = f"{method} needs role {need.name.lower()}, {who.name} has {who.role.name.lower()}"
                return _refusing(grpc.StatusCode.PERMISSION_DENIED, rule)
            _caller.set(lambda: tokens.caller_of(header))
        return await continuation(details)


def _refusing(code: grpc.StatusCode, rule: str) -> Any:
    async def refuse(_: Any, context: Any) -> None:
        await context.abort(code, rule)

    return grpc.stream_stream_rpc_method_handler(refuse)
