"""Other processes of one server: asked by the calls of the contract, over sockets only they can reach."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any

import grpc
import msgpack
from google.protobuf import message_factory
from google.rpc import status_pb2
from grpc_status import rpc_status

from linkscore_server import tasks
from linkscore_server.crawls import reads
from linkscore_server.grpc.contract import SERVICES
from linkscore_server.grpc.errors import REQUEST_ID as KEY
from linkscore_server.grpc.errors import CallerGone, Forwarded, NotServing, request_id
from linkscore_server.routing.owners import Values

_PACKAGE = "linkscore.v1"
OWNER, ASK = "linkscore.internal.Owner", "Ask"
"""Service and method by which a process asks what is beside the contract."""
_SLACK_BYTES = 1 << 20
"""What a part of a message may be larger than the whole: longer names, columns that are repeated. Chosen."""
_RECONNECT = [
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
]
"""A process that was killed is there again within seconds. Chosen, not measured."""

_PAUSE_S = 60.0
"""Longest wait for a process that makes room for a new one, which takes seconds. A bound: the new one may not
come."""

_READY_S = 5.0
"""Longest wait for a connection to a process that is there, which takes .1 s, see `_RECONNECT`. A bound."""

_AWAY = "the process that has these sites starts again or has handed them over, try again"
_LOST = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
}
"""How gRPC ends calls to a process that is gone. Answers of linkscore with these codes have details."""

_CLOSED = (grpc.aio.UsageError, grpc.aio.InternalError)
"""What gRPC raises for a call over a connection that was closed meanwhile."""

_ASK_S = 30.0
"""Longest wait for the answer to a question, which takes milliseconds: a process may be stopped. A bound."""


def options_of(max_message_bytes: int) -> list[tuple[str, int]]:
    """Return the options of a channel between processes, and of who listens."""
    most = max_message_bytes + _SLACK_BYTES
    return [
        ("grpc.max_receive_message_length", most),
        ("grpc.max_send_message_length", most),
        *_RECONNECT,
    ]


class Peer:
    """Another process of the server, as an owner of shards; see `owners.Owner`.

    Parameters
    ----------
    address
        Where it listens for its like.
    max_message_bytes
        Setting of that name.
    credentials
        For connections over a network; None: without TLS.
    """

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
        self._may_ask = asyncio.Event()
        self._may_ask.set()

    def pause(self) -> None:
        """Let what is asked from now on wait: the process makes room for a new one."""
        self._may_ask.clear()

    async def resume(self) -> None:
        """Ask what waits, of the new process; if there is none, that is what is answered."""
        try:
            async with asyncio.timeout(_READY_S):
                await self.channel.channel_ready()
        except TimeoutError:
            pass
        finally:
            self._may_ask.set()

    async def call(self, method: str, request: Any, context: Any) -> Any:
        """See `Owner.call`."""
        await self.its_turn()
        return await answer_of(lambda: self._method(method)(request, **meant_for(context)))

    async def stream(
        self, method: str, requests: AsyncIterator[Any], context: Any
    ) -> AsyncGenerator[Any, None]:
        """See `Owner.stream`."""
        await self.its_turn()
        begin = partial(self._method(method), **meant_for(context))
        async with aclosing(answers_of(begin, requests)) as answers:
            async for answer in answers:
                yield answer

    async def collect(self, method: str, requests: AsyncIterator[Any], context: Any) -> Any:
        """See `Owner.collect`."""
        await self.its_turn()
        begin = partial(self._method(method), **meant_for(context))
        return await answer_of(lambda: _collected(begin(), requests))

    async def ask(self, question: str, **values: Any) -> Values:
        """See `Owner.ask`."""
        await self.its_turn()
        packed = msgpack.packb([question, values])
        raw = await answer_of(lambda: self._ask(packed, timeout=_ASK_S, metadata=_metadata()))
        answer: Values = msgpack.unpackb(raw)
        return answer

    async def close(self) -> None:
        """Let go of the connection."""
        await self.channel.close()

    async def its_turn(self) -> None:
        """Wait while the process makes room for a new one."""
        if self._may_ask.is_set():
            return
        try:
            await asyncio.wait_for(self._may_ask.wait(), _PAUSE_S)
        except TimeoutError:
            raise NotServing(_AWAY) from None

    def _method(self, method: str) -> Any:
        if method not in self._calls:
            self._calls[method] = _stub(self.channel, method)
        return self._calls[method]


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


async def answers_of(begin: Callable[[], Any], requests: AsyncIterator[Any]) -> AsyncGenerator[Any, None]:
    """Begin a stream, send its messages and yield its answers, or raise what it shall end with here."""
    try:
        call = begin()
    except _CLOSED:  # as in `answer_of`
        raise NotServing(_AWAY) from None
    async with _sending(call, requests):
        while (answer := await answer_of(call.read)) is not grpc.aio.EOF:
            yield answer


async def _collected(call: Any, requests: AsyncIterator[Any]) -> Any:
    async with _sending(call, requests):
        return await call


@asynccontextmanager
async def _sending(call: Any, requests: AsyncIterator[Any]) -> AsyncGenerator[None, None]:
    """Send the messages of a call for as long as the context lasts.

    gRPC would do so too, in a task that it leaves behind when the other process is gone.

    Raises
    ------
    Exception
        What the messages end with, if they do with an exception: it is why the call failed.
    """
    sending = tasks.awaited(_send(call, requests))
    try:
        yield
    except Exception:
        if sending.done() and not sending.cancelled() and (why := sending.exception()) is not None:
            raise why from None
        raise
    finally:
        call.cancel()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def _send(call: Any, requests: AsyncIterator[Any]) -> None:
    try:
        async for request in requests:
            await call.write(request)
        await call.done_writing()
    except (grpc.aio.AioRpcError, asyncio.InvalidStateError, *_CLOSED):
        pass  # the call has ended, and says how
    except BaseException:
        call.cancel()
        raise


def meant_for(context: Any) -> dict[str, Any]:
    """Return deadline and metadata of the call that is passed on."""
    remaining_s = context.time_remaining() if context is not None else None
    return {"timeout": remaining_s, "metadata": _metadata()}


def _metadata() -> tuple[tuple[str, str], ...]:
    """Return the request id of the call that is being answered, and what it asks of reads."""
    asked = reads.reads()
    return ((KEY, request_id()), (reads.KEY, asked)) if asked else ((KEY, request_id()),)


def _stub(channel: grpc.aio.Channel, name: str) -> Any:
    service, _, method = name.partition("/")
    described = SERVICES[service].services_by_name[service].methods_by_name[method]
    request, response = (
        message_factory.GetMessageClass(kind) for kind in (described.input_type, described.output_type)
    )
    make = {
        (False, False): channel.unary_unary,
        (True, False): channel.stream_unary,
        (True, True): channel.stream_stream,
    }[described.client_streaming, described.server_streaming]
    return make(
        f"/{_PACKAGE}.{name}",
        request_serializer=request.SerializeToString,
        response_deserializer=response.FromString,
    )
