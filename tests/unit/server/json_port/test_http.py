"""The port for HTTP: what comes as HTTP/1.1, what is answered, and what nobody waits for."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, ClassVar

import pytest

from linkscore_server.json_port.http import Answer, HttpPort, Request

PATIENCE_S = 60.0
POST = b"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n"


async def echo(request: Request) -> Answer:
    body = b""
    while piece := await request.read():
        body += piece
    return Answer(200, request.path.encode() + b" " + body, {"x-peer": request.peer})


async def unread(_: Request) -> Answer:
    return Answer(401, b"no")


@asynccontextmanager
async def listening(
    answer: Callable[[Request], Awaitable[Answer]] = echo, **bounds: Any
) -> AsyncIterator[tuple[HttpPort, int]]:
    port, bound = HttpPort(answer, **bounds), socket.create_server(("127.0.0.1", 0))
    await port.listen(bound)
    yield port, bound.getsockname()[1]
    await port.leave(0.0)


class Caller:
    """A connection by hand, which ends with its test."""

    opened: ClassVar[list[Caller]] = []

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> Caller:
        made = cls(*await asyncio.open_connection("127.0.0.1", port))
        cls.opened.append(made)
        return made

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return int(head[0].split()[1]), headers, body

    async def is_closed(self) -> bool:
        with suppress(ConnectionError):
            return await self.reader.read() == b""
        return True


@pytest.fixture(autouse=True)
async def close() -> AsyncIterator[None]:
    yield
    while Caller.opened:
        writer = Caller.opened.pop().writer
        writer.transport.abort()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def test_requests_of_one_connection_are_answered_one_after_the_other() -> None:
    async with listening() as (_, port):
        caller = await Caller.to(port)
        caller.send(POST + b"eins" + POST + b"zwei" + POST + b"dr")
        assert (await caller.answer())[2] == b"/a eins"
        assert (await caller.answer())[2] == b"/a zwei"
        caller.send(b"ei")
        assert (await caller.answer())[2] == b"/a drei"


async def test_a_body_may_come_in_chunks_and_the_query_is_no_part_of_the_path() -> None:
    async with listening() as (_, port):
        caller = await Caller.to(port)
        caller.send(
            b"POST /b?c HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
            b"2\r\nei\r\n2\r\nns\r\n0\r\n\r\n"
        )
        status, headers, body = await caller.answer()
        assert (status, body) == (200, b"/b eins")
        assert headers["x-peer"] == "ipv4:127.0.0.1:{}".format(caller.writer.get_extra_info("sockname")[1])


async def test_who_waits_for_leave_to_send_gets_it_when_the_body_is_read() -> None:
    head = POST.replace(b"\r\n\r\n", b"\r\nexpect: 100-continue\r\n\r\n")
    async with listening() as (_, port):
        caller = await Caller.to(port)
        caller.send(head)
        assert (await caller.answer())[0] == 100
        caller.send(b"eins")
        assert (await caller.answer())[2] == b"/a eins"
    async with listening(unread) as (_, port):
        caller = await Caller.to(port)
        caller.send(head)
        assert (await caller.answer())[0] == 401


async def test_who_is_refused_hears_it_though_it_still_sends() -> None:
    async with listening(unread) as (_, port):
        caller = await Caller.to(port)
        caller.send(b"POST /a HTTP/1.1\r\nhost: x\r\ncontent-length: 3000000\r\n\r\n" + b"x" * 3_000_000)
        status, headers, body = await caller.answer()
        assert (status, headers["connection"], body) == (401, "close", b"no")
        assert await caller.is_closed()


@pytest.mark.parametrize(
    "sent",
    [
        b"GARBAGE\r\n\r\n",
        b"POST /a HTTP/1.1\r\ncontent-length: x\r\nhost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nx: " + b"y" * 20_000,
    ],
)
async def test_what_is_no_http_is_refused_and_the_connection_ends(sent: bytes) -> None:
    async with listening() as (_, port):
        caller = await Caller.to(port)
        caller.send(sent)
        assert (await caller.answer())[0] in (400, 431)
        assert await caller.is_closed()


async def test_a_client_that_goes_cancels_its_call() -> None:
    began, cancelled = asyncio.Event(), asyncio.Event()

    async def long(request: Request) -> Answer:
        await echo(request)
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError

    async with listening(long) as (_, port):
        caller = await Caller.to(port)
        caller.send(POST + b"eins")
        await began.wait()
        assert not cancelled.is_set()
        caller.writer.close()
        assert await asyncio.wait_for(cancelled.wait(), PATIENCE_S)


async def test_a_head_that_does_not_come_ends_the_connection() -> None:
    async with listening(head_s=0.05) as (_, port):
        caller = await Caller.to(port)
        caller.send(b"POST /a HT")
        assert await caller.is_closed()


async def test_a_connection_that_nobody_uses_is_not_kept() -> None:
    async with listening(kept_s=0.05) as (_, port):
        caller = await Caller.to(port)
        caller.send(POST + b"eins")
        assert (await caller.answer())[0] == 200
        assert await caller.is_closed()


async def test_with_one_too_many_the_one_that_waits_longest_for_its_client_is_closed() -> None:
    async with listening(connections=2) as (_, port):
        first, second = await Caller.to(port), await Caller.to(port)
        for caller in (first, second):
            caller.send(POST + b"eins")
            assert (await caller.answer())[0] == 200
        second.send(POST + b"ei")  # its request is under way, and came to a stop later
        third = await Caller.to(port)
        third.send(POST + b"drei")
        assert (await third.answer())[2] == b"/a drei"
        assert await first.is_closed()
        second.send(b"ns")
        assert (await second.answer())[2] == b"/a eins"


async def test_who_does_not_read_its_answer_keeps_nobody_out() -> None:
    async def large(request: Request) -> Answer:
        await echo(request)
        return Answer(200, b"x" * (16 << 20 if request.path == "/large" else 4))

    async with listening(large, connections=2) as (port, number):
        for _ in range(2):
            caller = await Caller.to(number)
            caller.send(POST.replace(b"/a", b"/large") + b"eins")
            assert (await caller.reader.readline()).split()[1] == b"200"  # and no more of it
        third = await Caller.to(number)
        third.send(POST + b"drei")
        assert (await third.answer())[2] == b"xxxx"
        assert len(port._open) == 2


async def test_leaving_waits_for_calls_and_closes_what_is_idle() -> None:
    go_on = asyncio.Event()

    async def slow(request: Request) -> Answer:
        await echo(request)
        await go_on.wait()
        return Answer(200, b"done")

    async with listening(slow) as (port, number):
        idle, busy = await Caller.to(number), await Caller.to(number)
        busy.send(POST + b"eins")
        while not any(one.has_request for one in port._open):
            await asyncio.sleep(0)
        leaving = asyncio.create_task(port.leave(60.0))
        assert await idle.is_closed()
        assert not leaving.done()
        with pytest.raises(OSError):  # noqa: PT011
            await Caller.to(number)
        go_on.set()
        assert (await busy.answer())[2] == b"done"
        await leaving
        assert await busy.is_closed()
