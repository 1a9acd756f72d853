"""Who answers for a shard: the services of this process, or another server over a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import grpc
import msgpack
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.hashing import hash64
from linkscore_server.crawls.registry import CrawlNotFound, CrawlRegistry
from linkscore_server.groups import Shard
from linkscore_server.observability import REQUEST_ID as KEY
from linkscore_server.observability import begin_request, request_id
from linkscore_server.operator_files import listening
from linkscore_server.services import messages
from linkscore_server.services.contract import (
    METHODS,
    CallerGone,
    Forwarded,
    NotServing,
    is_unavailable,
    messages_of,
    status_of,
)
from linkscore_server.services.crawls import shard_row

T = TypeVar("T")
Values = dict[str, Any]
"""What questions and their answers are made of: numbers, texts, bytes, lists and dicts of them."""
_PACKAGE = "linkscore.v1"
_ASK = "/linkscore.internal.Owner/Ask"
"""Method by which a server asks what is beside the contract."""
_SLACK_BYTES = 1 << 20
"""What a part of a message may be larger than the whole: longer names, columns that are repeated. Chosen."""
_RECONNECT = [
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
]
"""A process that was killed is there again within seconds. Chosen, not measured."""
_LOOK_S = 0.05  # between two looks whether an owner answers; chosen, not measured
_ASK_S = 30.0
"""Longest wait for the answer to a question, which takes milliseconds: a process may be stopped. A bound."""
_AWAY = "the server that has these sites starts again or has handed them over, try again"
_LOST = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
}
"""How gRPC ends calls to a process that is gone. Answers of linkscore with these codes have details."""
_CLOSED = (grpc.aio.UsageError, grpc.aio.InternalError)
"""What gRPC raises for a call over a connection that was closed meanwhile."""


class LocalOwner:
    """The services of this process, and answers to what others ask; errors end a call, as of a `Peer`."""

    is_there = True
    """Whether it can be asked now."""

    def __init__(
        self, services: Mapping[str, Any], registry: CrawlRegistry, metrics: CollectorRegistry
    ) -> None:
        self._registry, self._counted = registry, metrics
        self.answers: dict[str, Callable[[Any, Any], Awaitable[Any]]] = {
            name: getattr(services[one.containing_service.name], one.name)
            for name, one in METHODS.items()
            if hasattr(services[one.containing_service.name], one.name)  # else `Front` answers it
        }

    async def call(self, method: str, request: Any, context: Any) -> Any:
        return await self.answers[method](request, context)

    async def ask(self, question: str, **values: Any) -> Any:
        """Answer a question: there is a method of its name."""
        return await getattr(self, f"answer_{question}")(**values)

    async def answer_shards(self, crawls: list[str]) -> Values:
        """Return what the shards of some crawls take that are here, damaged or not."""
        asked = set(crawls)
        keys = filter(lambda key: Shard.of(key).crawl in asked, list(self._registry.keys()))
        rows = [await shard_row(self._registry, key) for key in keys]
        return {"rows": [row.SerializeToString() for row in rows]}

    async def answer_metrics(self) -> Values:
        """Return the metrics of this process in the text format of OpenMetrics."""
        return {"text": (await asyncio.to_thread(generate_latest, self._counted)).decode()}

    async def answer_configure(self, shard: str, config: Values) -> None:
        """Give a shard the configuration that its crawl has by now."""
        await self._registry.configure(shard, CrawlConfig.from_state(config))

    async def answer_drop(self, crawl: str) -> None:
        """Forget a crawl that the store has no more."""
        await self._registry.drop(crawl)

    async def answer_bids(self, request: bytes) -> Values:
        """Return the values of buckets, and the fetches that the group offers."""
        asked = pb.RankBucketsRequest.FromString(request)
        actor = await self._registry.open(messages.parse_crawl(asked.crawl))
        await actor.value_new(asked.buckets)
        values, offered = await actor.ask(
            lambda: actor.queries.offer_fetches(
                asked.buckets,
                asked.n,
                waiting=asked.waiting,
                in_flight=messages.fetches_in_flight(asked),
                fill=asked.fill,
            )
        )
        return {
            "values": values.tolist(),
            "bids": [list(offer) for offer in offered],
            "policy": actor.model.config.order.name,
            "event_seq": actor.model.seq,
        }


class Peer:
    """Another server, as an owner of shards."""

    def __init__(
        self, address: str, max_message_bytes: int, credentials: grpc.ChannelCredentials | None = None
    ) -> None:
        options = _options(max_message_bytes)
        self._channel = (
            grpc.aio.secure_channel(address, credentials, options)
            if credentials is not None
            else grpc.aio.insecure_channel(address, options)
        )

    @property
    def is_there(self) -> bool:
        return self._channel.get_state(try_to_connect=True) is grpc.ChannelConnectivity.READY

    async def call(self, method: str, request: Any, context: Any) -> Any:
        raw = await self._answer(
            f"/{_PACKAGE}.{method}", request.SerializeToString(), context.time_remaining()
        )
        return messages_of(method)[1].FromString(raw)

    async def ask(self, question: str, **values: Any) -> Any:
        return msgpack.unpackb(await self._answer(_ASK, msgpack.packb([question, values]), _ASK_S))

    async def close(self) -> None:
        await self._channel.close()

    async def _answer(self, path: str, raw: bytes, within_s: float | None) -> bytes:
        try:
            call: Any = self._channel.unary_unary(path)
            found: bytes = await call(raw, timeout=within_s, metadata=((KEY, request_id.get()),))
        except grpc.aio.AioRpcError as exc:
            raise error_of(exc) from None
        except _CLOSED:  # others have its shards
            raise NotServing(_AWAY) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise NotServing(_AWAY) from None  # the connection was closed: others have its shards
        return found


Owner = LocalOwner | Peer
"""Answers for the shards that are its own."""


class Owners:
    """All owners of a server of fixed shares. `follows_s`: how long a call waits for its owner."""

    follows_s = 30.0

    def __init__(self, owners: Sequence[Owner]) -> None:
        self._owners = list(owners)

    @property
    def is_alone(self) -> bool:
        """Whether no other process is part of the server."""
        return len(self._owners) == 1

    def named(self) -> list[tuple[str, Owner]]:
        """Return each owner once, with what people call it."""
        return [(f"worker {number}", owner) for number, owner in enumerate(self._owners)]

    def of(self, shard: Shard) -> Owner:
        """Return who owns a shard."""
        return self._owners[place_of(shard, len(self._owners))]

    async def reach(
        self, shard: Shard, call: Callable[[Owner], Awaitable[T]], *, may_repeat: bool = True
    ) -> T:
        """Return the answer of who owns a shard, which a call waits for while that one starts or changes.

        `may_repeat`: whether it may be made again where nobody knows whether it was answered.
        """
        loop = asyncio.get_running_loop()
        until_s = loop.time() + self.follows_s
        while True:
            is_sent = False
            try:
                owner = self.of(shard)
                if not owner.is_there:
                    raise NotServing(_AWAY)
                is_sent = True
                return await call(owner)
            except Exception as exc:
                may_go_on = (may_repeat or not is_sent) and is_unavailable(exc)
                if not may_go_on or loop.time() >= until_s:
                    raise
            self.look_soon()
            await asyncio.sleep(_LOOK_S)

    def look_soon(self) -> None:
        """Find out who has what: an owner was not there, or had its shard no more."""

    async def all_there(self) -> None:
        """Wait until every other process can be asked."""
        while not all(owner.is_there for _, owner in self.named()):
            await asyncio.sleep(_LOOK_S)

    async def leave(self) -> None:
        """Give up what others can have, before callers are turned away; calls are still answered."""

    async def close(self) -> None:
        """Let go of the connections to others."""
        for _, owner in self.named():
            if isinstance(owner, Peer):
                await owner.close()


class PeerServer(grpc.GenericRpcHandler):
    """Answers other servers: calls of the contract by `call`, questions by `local`."""

    def __init__(
        self,
        listen: str,
        local: LocalOwner,
        call: Callable[[str, Any, Any], Awaitable[Any]],
        max_message_bytes: int,
        credentials: grpc.ServerCredentials | None = None,
    ) -> None:
        self._local, self._call = local, call
        self.server = grpc.aio.server(options=_options(max_message_bytes))
        self.server.add_generic_rpc_handlers((self,))
        self.address = listening(self.server, listen, credentials)

    def service(self, details: Any) -> Any:
        """Return what answers a call, as gRPC asks it."""
        return grpc.unary_unary_rpc_method_handler(partial(self._answered, details.method))

    async def _answered(self, path: str, raw: bytes, context: Any) -> Any:
        begin_request(str(dict(context.invocation_metadata() or ()).get(KEY, "")))
        try:
            if path == _ASK:
                question, values = msgpack.unpackb(raw)
                return msgpack.packb(await self._local.ask(question, **values))
            method = path.removeprefix(f"/{_PACKAGE}.")
            answer = await self._call(method, messages_of(method)[0].FromString(raw), context)
            return answer.SerializeToString()
        except Exception as exc:
            return await context.abort_with_status(rpc_status.to_status(status_of(exc)))


def place_of(shard: Shard, n: int) -> int:
    """Return which of n processes owns a shard: parts of a crawl go round, crawls begin anywhere."""
    return (hash64(shard.crawl) + shard.group) % n


def error_of(error: grpc.aio.AioRpcError) -> Exception:
    """Return what a call shall end with that another process did not answer, or answered with an error."""
    status = rpc_status.from_call(error)
    if status is not None:
        return Forwarded(status)
    if error.code() in _LOST:
        away = NotServing(_AWAY)
        away.add_note(error.details() or str(error.code()))
        return away
    if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
        return CallerGone("the deadline has passed")
    return Forwarded(status_pb2.Status(code=error.code().value[0], message=error.details() or ""))


def reason_of(error: Exception) -> str:
    """Return the reason of an error that says that a crawl is gone, or that another process gave."""
    if isinstance(error, CrawlNotFound):
        return "CRAWL_NOT_FOUND"
    info = error_details_pb2.ErrorInfo()
    for detail in error.status.details if isinstance(error, Forwarded) else ():
        if detail.Unpack(info):
            return str(info.reason)
    return ""


def _options(max_message_bytes: int) -> list[tuple[str, int]]:
    most = max_message_bytes + _SLACK_BYTES
    return [
        ("grpc.max_receive_message_length", most),
        ("grpc.max_send_message_length", most),
        *_RECONNECT,
    ]
