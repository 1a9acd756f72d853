"""What other processes of one server ask this one: the calls of the contract, and what is beside it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from operator import methodcaller
from typing import Any

import grpc
import msgpack
from grpc_status import rpc_status

from linkscore_scoring.engine.groups import is_crawl_name
from linkscore_server.access import crawl_in
from linkscore_server.crawls import reads
from linkscore_server.crawls.registry import set_wait
from linkscore_server.grpc.contract import add_services
from linkscore_server.grpc.errors import REQUEST_ID as KEY
from linkscore_server.grpc.errors import begin_request, status_of
from linkscore_server.grpc.reading import ReadOtherwise
from linkscore_server.routing.handlers import servicers_of
from linkscore_server.routing.owners import STREAM, LocalOwner, Owners, Values
from linkscore_server.routing.peers import ASK, OWNER, Peer, options_of
from linkscore_server.routing.reading import (
    READ_INGEST,
    READ_STREAM,
    ReadCall,
    unpacked_call,
    unpacked_message,
)
from linkscore_server.routing.router import CHANGES, Router

Answered = Callable[[], Awaitable[Any]]


class PeerCalls:
    """Answers what other processes ask: about shards by the services here, about crawls whose home this is.

    Parameters
    ----------
    local
        The services.
    router
        Makes, changes and deletes crawls.
    owners
        All of the server, of whom one may leave for a while.
    """

    def __init__(self, local: LocalOwner, router: Router, owners: Owners) -> None:
        self._local = local
        self._owners = owners
        self._router = router

    def add_to(self, server: grpc.aio.Server) -> None:
        """Let a server for other processes answer."""
        add_services(servicers_of(self), server)
        serialized = methodcaller("SerializeToString")
        methods: dict[str, Any] = {
            ASK: grpc.unary_unary_rpc_method_handler(self._ask),
            READ_INGEST: grpc.unary_unary_rpc_method_handler(self._ingest, unpacked_call, serialized),
            READ_STREAM: grpc.stream_stream_rpc_method_handler(self._stream, unpacked_message, serialized),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(OWNER, methods),))

    async def call(self, method: str, request: Any, context: Any) -> Any:
        """See `handlers.AnswersAll`."""
        is_of_crawl = method in CHANGES and is_crawl_name(crawl_in(method, request))
        answers = self._router if is_of_crawl else self._local
        return await _passed_on(context, lambda: answers.call(method, request, context))

    async def stream(
        self, method: str, requests: AsyncIterator[Any], context: Any
    ) -> AsyncGenerator[Any, None]:
        """See `handlers.AnswersAll`."""
        _begin(context)
        try:
            async with aclosing(self._local.stream(method, requests, context)) as responses:
                async for response in responses:
                    yield response
        except Exception as exc:
            await _end(context, exc)

    async def collect(self, method: str, requests: AsyncIterator[Any], context: Any) -> Any:
        """See `handlers.AnswersAll`."""
        return await _passed_on(context, lambda: self._local.collect(method, requests, context))

    async def _ingest(self, call: ReadCall, context: Any) -> Any:
        """Take in pages that were read where they came in."""
        return await _passed_on(context, lambda: self._local.ingest(*call, context))

    async def _stream(self, messages: AsyncIterator[Any], context: Any) -> AsyncGenerator[Any, None]:
        async with aclosing(self.stream(STREAM, messages, context)) as responses:
            async for response in responses:
                yield response

    async def _ask(self, raw: bytes, context: Any) -> Any:
        question, values = msgpack.unpackb(raw)

        async def answer() -> Any:
            if question == "probe":
                return msgpack.packb(self._owners.about())
            if question in ("pause", "resume"):
                return msgpack.packb(await self._tell(question, **values))
            return msgpack.packb(await self._local.ask(question, **values))

        return await _passed_on(context, answer)

    async def _tell(self, word: str, number: int) -> Values:
        """Let what is asked of another process wait, or go on."""
        peer = self._owners.all[number]
        if isinstance(peer, Peer):
            await peer.resume() if word == "resume" else peer.pause()
        return {}


def server_for_peers(
    address: str,
    local: LocalOwner,
    router: Router,
    owners: Owners,
    max_message_bytes: int,
    credentials: grpc.ServerCredentials | None = None,
) -> tuple[grpc.aio.Server, int]:
    """Return what answers the other processes, to be started when the state is there, and its port."""
    server = grpc.aio.server(options=options_of(max_message_bytes))
    PeerCalls(local, router, owners).add_to(server)
    if credentials is None:
        return server, server.add_insecure_port(address)
    return server, server.add_secure_port(address, credentials)


async def _passed_on(context: Any, answer: Answered) -> Any:
    _begin(context)
    try:
        return await answer()
    except Exception as exc:
        return await _end(context, exc)


async def _end(context: Any, error: Exception) -> Any:
    """End a call; one of pages that were read otherwise as if it were not known: they come unread then."""
    if isinstance(error, ReadOtherwise):
        return await context.abort(grpc.StatusCode.UNIMPLEMENTED, str(error))
    return await context.abort_with_status(rpc_status.to_status(status_of(error)))


def _begin(context: Any) -> None:
    metadata = dict(context.invocation_metadata() or ())
    set_wait(context.time_remaining())
    begin_request(str(metadata.get(KEY, "")))
    reads.set_reads(str(metadata.get(reads.KEY, "")))
