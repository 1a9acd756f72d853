"""Who answers for a shard: the services of this process, or another server over a connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import grpc
import msgpack
from google.protobuf import message_factory
from google.rpc import status_pb2
from grpc_status import rpc_status

from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.hashing import hash64
from linkscore_server.front.questions import Questions
from linkscore_server.services.contract import SERVICES
from linkscore_server.services.errors import REQUEST_ID as KEY
from linkscore_server.services.errors import CallerGone, Forwarded, NotServing, request_id

T = TypeVar("T")
Values = dict[str, Any]
"""What questions and their answers are made of: numbers, texts, bytes, lists and dicts of them."""
_PACKAGE = "linkscore.v1"
OWNER, ASK = "linkscore.internal.Owner", "Ask"
"""Service and method by which a server asks what is beside the contract."""
_SLACK_BYTES = 1 << 20
"""What a part of a message may be larger than the whole: longer names, columns that are repeated. Chosen."""
_RECONNECT = [
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
]
"""A process that was killed is there again within seconds. Chosen, not measured."""
_LOOK_S = 0.05  # between two looks whether another process answers; chosen, not measured
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


class Owner(Protocol):
    """Answers for the shards that are its own. Errors are those that the call shall end with."""

    async def call(self, method: str, request: Any, context: Any) -> Any:
        """Answer a call of the contract, ``Service/Method``."""

    async def ask(self, question: str, **values: Any) -> Values:
        """Answer a question of `questions`."""

    async def close(self) -> None:
        """Let go of what connects to it."""


class LocalOwner:
    """The services of this process, by name, see `grpc.contract.complete`, and what answers questions."""

    def __init__(self, services: Mapping[str, Any], questions: Questions) -> None:
        self._services = services
        self._questions = questions

    def _method(self, method: str) -> Any:
        service, _, name = method.partition("/")
        return getattr(self._services[service], name)

    async def call(self, method: str, request: Any, context: Any) -> Any:
        """See `Owner.call`."""
        return await self._method(method)(request, context)

    async def ask(self, question: str, **values: Any) -> Values:
        """See `Owner.ask`."""
        return await self._questions.answer(question, values)

    async def close(self) -> None:
        """See `Owner.close`: there is nothing between."""


class Peer:
    """Another server, as an owner of shards."""

    def __init__(
        self, address: str, max_message_bytes: int, credentials: grpc.ChannelCredentials | None = None
    ) -> None:
        options = options_of(max_message_bytes)
        self.channel = (
            grpc.aio.secure_channel(address, credentials, options)
            if credentials is not None
            else grpc.aio.insecure_channel(address, options)
        )
        self._ask: Any = self.channel.unary_unary(f"/{OWNER}/{ASK}")
        self._calls: dict[str, Any] = {}

    async def call(self, method: str, request: Any, context: Any) -> Any:
        """See `Owner.call`."""
        remaining_s = context.time_remaining() if context is not None else None
        begin = partial(self._method(method), timeout=remaining_s, metadata=_metadata())
        return await answer_of(lambda: begin(request))

    async def ask(self, question: str, **values: Any) -> Values:
        """See `Owner.ask`."""
        packed = msgpack.packb([question, values])
        raw = await answer_of(lambda: self._ask(packed, timeout=_ASK_S, metadata=_metadata()))
        answer: Values = msgpack.unpackb(raw)
        return answer

    async def close(self) -> None:
        """Let go of the connection."""
        await self.channel.close()

    def _method(self, method: str) -> Any:
        if method not in self._calls:
            self._calls[method] = _stub(self.channel, method)
        return self._calls[method]


class Owners:
    """All owners of a server of fixed shares, and which of them has a shard: the same in every process."""

    def __init__(self, owners: Sequence[Owner], own: int = 0) -> None:
        self._owners = list(owners)
        self._own = own

    @property
    def local(self) -> Owner:
        """That of this process."""
        return self._owners[self._own]

    def named(self) -> list[tuple[str, Owner]]:
        """Return each owner once, with what people call it."""
        return [(f"worker {number}", owner) for number, owner in enumerate(self._owners)]

    @property
    def all(self) -> list[Owner]:
        """Each owner once."""
        return [owner for _, owner in self.named()]

    def of(self, shard: Shard) -> Owner:
        """Return who owns a shard."""
        return self._owners[place_of(shard, len(self._owners))]

    async def reach(
        self, shard: Shard, call: Callable[[Owner], Coroutine[Any, Any, T]], *, may_repeat: bool = True
    ) -> T:
        """Return the answer of who owns a shard to a call.

        `may_repeat`: whether it may be made again where nobody knows whether it was answered.
        """
        return await call(self.of(shard))

    async def all_there(self) -> None:
        """Wait until every other process answers."""
        for owner in self.all:
            while owner is not self.local:
                try:
                    await owner.ask("probe")
                    break
                except NotServing:
                    await asyncio.sleep(_LOOK_S)

    async def close(self) -> None:
        """Let go of the connections to others."""
        for owner in self.all:
            await owner.close()


def place_of(shard: Shard, n: int) -> int:
    """Return which of n processes owns a shard: parts of a crawl go round, crawls begin anywhere.

    Examples
    --------
    >>> [place_of(Shard("books", part, 4), 2) for part in range(4)]
    [0, 1, 0, 1]
    """
    return (hash64(shard.crawl) + shard.group) % n


def options_of(max_message_bytes: int) -> list[tuple[str, int]]:
    """Return the options of a channel between servers, and of who listens."""
    most = max_message_bytes + _SLACK_BYTES
    return [
        ("grpc.max_receive_message_length", most),
        ("grpc.max_send_message_length", most),
        *_RECONNECT,
    ]


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


async def answer_of(call: Callable[[], Any]) -> Any:
    """Return the answer of another process, or raise what the call here shall end with."""
    try:
        return await call()
    except grpc.aio.AioRpcError as exc:
        raise error_of(exc) from None
    except _CLOSED:  # others have its shards
        raise NotServing(_AWAY) from None
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise NotServing(_AWAY) from None  # the connection was closed: others have its shards


def _metadata() -> tuple[tuple[str, str], ...]:
    return ((KEY, request_id()),)


def _stub(channel: grpc.aio.Channel, name: str) -> Any:
    service, _, method = name.partition("/")
    described = SERVICES[service].services_by_name[service].methods_by_name[method]
    request, response = (
        message_factory.GetMessageClass(kind) for kind in (described.input_type, described.output_type)
    )
    return channel.unary_unary(
        f"/{_PACKAGE}.{name}",
        request_serializer=request.SerializeToString,
        response_deserializer=response.FromString,
    )
