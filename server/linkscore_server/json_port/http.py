"""A port for HTTP/1.1 whose requests are read when somebody asks for them, and never wait for ever.

h11 knows the protocol. What is ours is when bytes are read, and how long a connection may take for what.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import h11

from linkscore_server import tasks
from linkscore_server.grpc.errors import CallerGone, MalformedMessage

_CONNECTIONS = 500
"""Connections at a time; with one more the one that waits longest for its client is closed. A bound."""

_HEAD_S = 20.0
"""Seconds for TLS, and for the head of a request; gRPC's port gives its handshakes as many. A bound."""

_KEPT_S = 60.0
"""Seconds that a connection is kept without a request. Chosen, not measured: as long as browsers keep one."""

_READ_BYTES = 1 << 14
"""Bytes that are read at a time; asyncio stops a connection that brought twice as many unread. A bound."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered with; `headers` are beside the length of the body."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Request:
    """A request whose body was not read yet; names of headers are lower case, `peer` is as gRPC names it."""

    method: str
    path: str
    headers: Mapping[str, str]
    peer: str
    read: Callable[[], Awaitable[bytes]]
    """Returns the next bytes of the body, none at its end."""


class HttpPort:
    """Answers requests at an address.

    Parameters
    ----------
    answer
        Answers one request; it is cancelled when its client is gone.
    connections, head_s, kept_s
        Bounds: connections at a time, seconds for the head of a request and between two requests.
    """

    def __init__(
        self,
        answer: Callable[[Request], Awaitable[Answer]],
        *,
        connections: int = _CONNECTIONS,
        head_s: float = _HEAD_S,
        kept_s: float = _KEPT_S,
    ) -> None:
        self._answer = answer
        self._bound, self._head_s, self._kept_s = connections, head_s, kept_s
        self._open: dict[_Connection, asyncio.Task[None]] = {}
        self._server: asyncio.Server | None = None
        self._is_closing = False

    async def listen(self, bound: socket.socket, tls: ssl.SSLContext | None = None) -> None:
        """Answer at a socket that has its address."""
        self._server = await asyncio.start_server(
            self._serve,
            sock=bound,
            ssl=tls,
            ssl_handshake_timeout=self._head_s if tls else None,
            limit=_READ_BYTES,
        )

    async def leave(self, within_s: float) -> None:
        """Take no more connections; close those there are when they are answered, or after so long."""
        self._is_closing = True
        if self._server is not None:
            self._server.close()
        for connection, task in list(self._open.items()):
            if not connection.has_request:
                task.cancel()
        if self._open:
            _, late = await asyncio.wait(self._open.values(), timeout=within_s)
            for task in late:
                task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection, task = _Connection(reader, writer), asyncio.current_task()
        assert task is not None
        self._open[connection] = task
        if len(self._open) > self._bound:
            waiting = [one for one in self._open if one.is_waiting]
            self._open[min(waiting, key=lambda one: one.since_s)].cancel()
        try:
            await self._converse(connection)
            await connection.close(self._head_s)
        except (OSError, TimeoutError, asyncio.CancelledError):
            writer.transport.abort()  # it is gone, too slow, or one too many
        finally:
            del self._open[connection]

    async def _converse(self, connection: _Connection) -> None:
        within_s = self._head_s
        while True:
            try:
                async with asyncio.timeout(within_s):
                    request = await connection.request()
                if request is None:
                    return
                if not await connection.answered(self._answer, request) or self._is_closing:
                    return
            except h11.RemoteProtocolError as error:
                await connection.refuse(error)
                return
            within_s = self._kept_s


class _Connection:
    """One connection.

    Attributes
    ----------
    has_request
        Whether the head of a request came that is not answered.
    since_s
        When the client's turn began.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.SERVER)
        self._is_read = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._peer = _peer_of(writer)
        self.has_request = False
        self._is_answered = False
        self.since_s = self._loop.time()
        writer.transport.set_write_buffer_limits(high=0)  # an answer that was sent is the kernel's

    @property
    def is_waiting(self) -> bool:
        """Whether it is the client's turn: to send its request whole, or to read its answer."""
        return self._is_answered or not self._is_read.is_set()

    async def request(self) -> Request | None:
        """Return the next request, None if there is none."""
        self.has_request = self._is_answered = False
        self._is_read.clear()
        self.since_s = self._loop.time()
        event = await self._next()
        if not isinstance(event, h11.Request):
            return None
        self.has_request = True
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
        path = event.target.decode("latin-1").partition("?")[0]
        return Request(event.method.decode("latin-1"), path, headers, self._peer, self._body)

    async def answered(self, answer: Callable[[Request], Awaitable[Answer]], request: Request) -> bool:
        """Answer a request; return whether another one may come.

        Raises
        ------
        ConnectionError
            If the client goes before it is answered.
        """
        work = tasks.awaited(self._respond(answer, request))
        gone = tasks.awaited(self._gone())
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ConnectionError("the client did not wait for its answer")
            work.result()
        finally:
            for task in (work, gone):
                task.cancel()
            await asyncio.wait({work, gone})
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def refuse(self, error: h11.RemoteProtocolError) -> None:
        """Answer what is no HTTP."""
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            await self._send(Answer(error.error_status_hint, b""))

    async def close(self, within_s: float) -> None:
        """End the connection.

        Closed while a request still comes, the system would take back what was sent: so the rest of it is
        waited for, and let go.
        """
        if self._http.their_state not in (h11.DONE, h11.CLOSED, h11.IDLE):
            async with asyncio.timeout(within_s):
                if self._writer.can_write_eof():
                    self._writer.write_eof()
                while await self._reader.read(_READ_BYTES):
                    pass
        self._writer.close()

    async def _respond(self, answer: Callable[[Request], Awaitable[Answer]], request: Request) -> None:
        answered = await answer(request)
        self._is_answered, self.since_s = True, self._loop.time()
        await self._send(answered)

    async def _send(self, answer: Answer) -> None:
        headers = [*answer.headers.items(), ("content-length", str(len(answer.body)))]
        if self._http.their_state is not h11.DONE:  # who was refused may still be sending: nobody reads that
            headers.append(("connection", "close"))
        reason = HTTPStatus(answer.status).phrase if answer.status in _KNOWN else ""
        head = h11.Response(status_code=answer.status, headers=headers, reason=reason.encode())
        events = (head, h11.Data(data=answer.body), h11.EndOfMessage())
        self._writer.write(b"".join(self._http.send(event) or b"" for event in events))
        await self._writer.drain()

    async def _body(self) -> bytes:
        try:
            if self._http.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                self._writer.write(self._http.send(go_on) or b"")
            event = await self._next()
        except h11.RemoteProtocolError as error:
            raise MalformedMessage(f"the body is no HTTP: {error}") from None
        except OSError:
            raise CallerGone("the client ended in the middle of its request") from None
        if isinstance(event, h11.Data):
            return bytes(event.data)
        self._is_read.set()
        return b""

    async def _next(self) -> Any:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(_READ_BYTES))
        return event

    async def _gone(self) -> None:
        """Return when the client is gone; what it sends ahead of its next request is kept, once."""
        await self._is_read.wait()
        if ahead := await self._reader.read(_READ_BYTES):
            self._http.receive_data(ahead)
            await self._loop.create_future()


_KNOWN = {int(status) for status in HTTPStatus}


def _peer_of(writer: asyncio.StreamWriter) -> str:
    """Return the other end as gRPC names it: by that name its descriptor is found, and what came of it."""
    name = writer.get_extra_info("peername")
    if not name:
        return ""
    host, port = name[:2]
    return f"ipv6:{quote(f'[{host}]', safe=':')}:{port}" if ":" in host else f"ipv4:{host}:{port}"
