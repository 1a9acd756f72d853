"""What other servers ask this one: the calls of the contract about its shards, and what is beside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import grpc
import msgpack
from grpc_status import rpc_status

from linkscore_scoring.engine.groups import is_crawl_name
from linkscore_server.crawls.registry import set_wait
from linkscore_server.front.owners import ASK, OWNER, LocalOwner, options_of
from linkscore_server.front.router import UPDATE, Router
from linkscore_server.services.contract import SERVICES, add_services, crawl_in
from linkscore_server.services.errors import REQUEST_ID as KEY
from linkscore_server.services.errors import begin_request, status_of


def servicers_of(answers: Any) -> dict[str, Any]:
    """Return the services as gRPC takes them, all of whose calls somebody answers by `call`."""
    return {
        name: SimpleNamespace(
            **{
                method.name: _handler(answers, f"{name}/{method.name}")
                for method in file.services_by_name[name].methods
            }
        )
        for name, file in SERVICES.items()
    }


def _handler(answers: Any, name: str) -> Any:
    async def answer(request: Any, context: Any) -> Any:
        return await answers.call(name, request, context)

    return answer


class ForPeers:
    """Answers other servers: about shards by the services here, about crawls at home here by the router."""

    def __init__(self, local: LocalOwner, router: Router) -> None:
        self._local, self._router = local, router

    def add_to(self, server: grpc.aio.Server) -> None:
        """Let a gRPC server answer so."""
        add_services(servicers_of(self), server)
        methods: dict[str, Any] = {ASK: grpc.unary_unary_rpc_method_handler(self._ask)}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(OWNER, methods),))

    async def call(self, method: str, request: Any, context: Any) -> Any:
        """See `owners.Owner`."""
        is_of_crawl = method == UPDATE and is_crawl_name(crawl_in(method, request))
        answers = self._router if is_of_crawl else self._local
        return await _answered(context, lambda: answers.call(method, request, context))

    async def _ask(self, raw: bytes, context: Any) -> Any:
        question, values = msgpack.unpackb(raw)
        answer = await _answered(context, lambda: self._local.ask(question, **values))
        return msgpack.packb(answer)


def server_for_peers(
    address: str,
    answers: ForPeers,
    max_message_bytes: int,
    credentials: grpc.ServerCredentials | None = None,
) -> tuple[grpc.aio.Server, int]:
    """Return what answers the other servers, to be started when the state is there, and its port."""
    server = grpc.aio.server(options=options_of(max_message_bytes))
    answers.add_to(server)
    if credentials is None:
        return server, server.add_insecure_port(address)
    return server, server.add_secure_port(address, credentials)


async def _answered(context: Any, answer: Callable[[], Awaitable[Any]]) -> Any:
    _begin(context)
    try:
        return await answer()
    except Exception as exc:
        return await context.abort_with_status(rpc_status.to_status(status_of(exc)))


def _begin(context: Any) -> None:
    set_wait(context.time_remaining())
    begin_request(str(dict(context.invocation_metadata() or ()).get(KEY, "")))
