"""Room for requests on their way in: what the kernel counts, what is held for it, who is refused."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from linkscore_server.grpc import room as room_module
from linkscore_server.grpc.connections import Connection, Connections, hang_up
from linkscore_server.grpc.errors import Overloaded
from linkscore_server.grpc.room import InflightBytes
from support.grpc_calls import Clock

LARGE = 1_000_000


class Counted(Connection):
    """A connection of which as much came as a test says."""

    __slots__ = ("came",)
    came: int

    def unread(self) -> int | None:
        return self.came


def counted(came: int = 0) -> Any:
    made = Counted("test")
    made.came = came
    return made


class Room(InflightBytes):
    """Room for four large messages; readings of connections that a test has."""

    def __init__(self) -> None:
        self.clock = Clock()
        super().__init__(4 * LARGE, LARGE, self.clock)

    def over(
        self, connection: Any, *, wait_s: float | None = 60, caller: str = "", silent: bool = False
    ) -> Any:
        self.connections.of = lambda peer: connection  # type: ignore[method-assign]
        return self.reading(wait_s, caller=caller, may_be_silent=silent)


@pytest.fixture
async def room() -> Any:
    made = Room()
    yield made
    made.close()


async def half_sent(room: Room, connection: Any, **about: Any) -> asyncio.Task[None]:
    """Begin to read a message that does not come."""

    async def read() -> None:
        async with room.over(connection, **about):
            await asyncio.Event().wait()

    task = asyncio.create_task(read())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def test_calls_that_stop_hold_only_what_came_of_them(room: Room) -> None:
    halves = [await half_sent(room, counted(5)) for _ in range(4)]
    with pytest.raises(Overloaded):
        async with room.over(counted(65_535), wait_s=0):
            pass
    room.look()
    room.look()
    read = False
    async with room.over(counted(65_535), wait_s=0):
        read = True
    assert read
    for half in halves:
        half.cancel()


async def test_a_small_message_does_not_wait_for_room(room: Room) -> None:
    halves = [await half_sent(room, counted(65_535)) for _ in range(4)]
    read = False
    async with room.over(counted(20_000), wait_s=0):
        read = True
    assert read
    for half in halves:
        half.cancel()


async def test_a_message_that_comes_fast_holds_more_than_came(room: Room) -> None:
    connection = counted(0)
    half = await half_sent(room, connection)
    room.look()
    connection.came = 10_000
    room.look()
    assert room._reserved.total == 10_000 + 20 * 10_000
    half.cancel()


async def test_whoever_brings_most_is_refused_when_more_comes_than_there_is_room_for(room: Room) -> None:
    greedy = [counted(2 * LARGE) for _ in range(3)]
    modest = counted(100_000)
    refused = [await half_sent(room, connection, caller="greedy") for connection in greedy]
    kept = await half_sent(room, modest, caller="modest")
    room.look()
    ended, _ = await asyncio.wait(refused, timeout=60, return_when=asyncio.FIRST_EXCEPTION)
    with pytest.raises(Overloaded, match="max_inflight_bytes"):
        ended.pop().result()
    assert not kept.done()
    for task in [*refused, kept]:
        task.cancel()
    await asyncio.gather(*refused, kept, return_exceptions=True)


async def test_a_caller_has_no_more_room_than_it_leaves_free(room: Room) -> None:
    large = counted(65_535)
    halves = [await half_sent(room, large, caller="greedy") for _ in range(5)]
    assert room._reserved.total == 2 * LARGE
    others = [await half_sent(room, large, caller=name) for name in ("modest", "third")]
    assert room._reserved.total == 4 * LARGE
    halves.pop(0).cancel()
    last = await half_sent(room, large, caller="last")
    assert {reading.caller for reading in room._waiting} == {"greedy"}
    for task in [*halves, *others, last]:
        task.cancel()


async def test_bytes_in_work_count_for_their_caller(room: Room) -> None:
    large = counted(65_535)
    with room.held("greedy", 2 * LARGE):
        with pytest.raises(Overloaded):
            async with room.over(large, wait_s=0, caller="greedy"):
                pass
        async with room.over(large, wait_s=0, caller="modest") as reading:
            assert reading.reserved == LARGE


async def test_one_that_stopped_makes_way_for_who_has_no_room(room: Room) -> None:
    begun = [counted(5) for _ in range(4)]
    halves = [await half_sent(room, connection, caller="greedy") for connection in begun]
    other = await half_sent(room, counted(1_000), caller="other")
    for connection in begun:
        connection.came = LARGE - 1_000
    room.look()
    room.look()
    modest = await half_sent(room, counted(65_535), caller="modest")
    assert [reading.caller for reading in room._waiting] == ["modest"]
    room.look()
    ended, stopped = await asyncio.wait(halves, timeout=60, return_when=asyncio.FIRST_COMPLETED)
    with pytest.raises(Overloaded, match="there is no room"):
        ended.pop().result()
    assert not ended
    assert not room._waiting
    assert not other.done()
    for task in [*stopped, modest, other]:
        task.cancel()


async def test_a_message_has_as_much_time_as_comes_of_it(room: Room) -> None:
    slow, stopped = counted(0), counted(5)
    coming, half = await half_sent(room, slow), await half_sent(room, stopped)
    slow.came = 3_000_000
    room.clock.now += 60
    room.look()
    with pytest.raises(Overloaded, match="did not come within 30 s"):
        await half
    assert not coming.done()
    coming.cancel()


async def test_a_stream_may_be_silent_but_not_stop_within_a_message(room: Room) -> None:
    silent, stopped = counted(0), counted(200_000)
    quiet, half = await half_sent(room, silent, silent=True), await half_sent(room, stopped, silent=True)
    room.clock.now += 60
    room.look()
    with pytest.raises(Overloaded, match="did not come"):
        await half
    assert not quiet.done()
    quiet.cancel()


async def test_nobody_with_one_message_makes_way_for_another_caller(room: Room) -> None:
    halves = [await half_sent(room, counted(LARGE - 1), caller=name) for name in ("a", "b", "c", "d")]
    modest = await half_sent(room, counted(65_535), caller="modest")
    for _ in range(3):
        room.look()
        await asyncio.sleep(0)
    assert not any(task.done() for task in [*halves, modest])
    for task in [*halves, modest]:
        task.cancel()


async def test_one_that_gives_up_as_room_comes_free_leaves_the_room_to_others(room: Room) -> None:
    tasks = [await half_sent(room, counted(65_535), caller=str(n // 2)) for n in range(6)]
    assert len(room._waiting) == 2
    for task in tasks:
        task.cancel()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(end) for end in ends} == {asyncio.CancelledError}
    assert (room._reserved.total, room._waiting) == (0, {})


async def test_who_has_no_message_on_its_way_goes_before_who_has(room: Room) -> None:
    greedy = counted(65_535)
    halves = [await half_sent(room, greedy, caller=name) for name in ("other", "third", "greedy", "greedy")]
    waiting = {name: await half_sent(room, counted(65_535), caller=name) for name in ("greedy", "modest")}
    halves[0].cancel()
    await asyncio.gather(halves[0], return_exceptions=True)
    assert [reading.caller for reading in room._waiting] == ["greedy", "greedy"]
    for task in [*halves, *waiting.values()]:
        task.cancel()


async def test_of_too_many_that_are_read_one_that_stopped_is_refused(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room_module, "_READS", 3)
    halves = [await half_sent(room, counted(5)) for _ in range(3)]
    room.look()
    room.look()
    async with room.over(counted(5), wait_s=0):
        with pytest.raises(Overloaded, match="on their way"):
            await halves[0]
    for half in halves:
        half.cancel()


@contextmanager
def connected(family: socket.AddressFamily, host: str) -> Iterator[tuple[socket.socket, socket.socket, str]]:
    """A connection within this process: both ends, and what gRPC calls the other end."""
    try:
        listening = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"no {host} on this machine")
    with listening, socket.create_connection(listening.getsockname()[:2]) as client:
        server, (address, port, *_) = listening.accept()
        named = f"ipv6:%5B{address}%5D:{port}" if ":" in address else f"ipv4:{address}:{port}"
        with server:
            yield client, server, named


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="the kernel does not say what came")
@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")], ids=["IPv4", "IPv6"]
)
def test_the_kernel_counts_what_came_and_what_was_given_goes_off(family: Any, host: str) -> None:
    all_ = Connections()
    with connected(family, host) as (client, server, peer):
        connection = all_.of(peer)
        assert connection.unread() is None
        all_.seek()
        client.sendall(b"x" * 100_000)
        assert len(server.recv(100_000, socket.MSG_WAITALL)) == 100_000
        assert connection.unread() == 100_000
        connection.reads = 1
        connection.gave(60_000, is_last=False)
        assert 38_000 < (connection.unread() or 0) <= 40_000
        connection.reads = 0
        connection.gave_up()
        assert connection.unread() == 0
        all_.close()
        client.sendall(b"y")  # the descriptor is still its owner's
        assert server.recv(1) == b"y"


@pytest.mark.skipif(not hasattr(socket, "TCP_INFO"), reason="the kernel does not say what came")
def test_what_was_given_before_a_connection_was_found_is_not_on_its_way() -> None:
    all_ = Connections()
    with connected(socket.AF_INET, "127.0.0.1") as (client, server, peer):
        connection = all_.of(peer)
        client.sendall(b"x" * 150_000)
        assert len(server.recv(150_000, socket.MSG_WAITALL)) == 150_000
        connection.gave(100_000, is_last=True)
        connection.reads = 1
        all_.seek()
        assert 48_000 < (connection.unread() or 0) <= 50_000
        all_.close()


def test_a_port_that_is_hung_up_has_no_connections_and_takes_no_more() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.create_server(("127.0.0.1", 0)) as other:
        here, there = listening.getsockname(), other.getsockname()
        with socket.create_connection(here) as taken, socket.create_connection(here) as waiting:
            accepted, _ = listening.accept()
            hang_up(f"127.0.0.1:{here[1]}")
            for client in (taken, waiting):
                client.settimeout(60)
                with suppress(ConnectionResetError):
                    assert client.recv(1) == b""
            accepted.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(here)
        socket.create_connection(there).close()


@pytest.mark.parametrize(
    ("listens_at", "address", "goes_on"),
    [
        ("127.0.0.1", "127.0.0.1:{}", "127.0.0.2"),
        ("0.0.0.0", "0.0.0.0:{}", ""),
        ("127.0.0.1", "localhost:{}", ""),
    ],
)
def test_servers_at_the_same_port_of_other_addresses_go_on(
    listens_at: str, address: str, goes_on: str
) -> None:
    with ExitStack() as ends:
        here = ends.enter_context(socket.create_server((listens_at, 0))).getsockname()[1]
        others = [ends.enter_context(socket.create_server((goes_on, here)))] if goes_on else []
        clients = [ends.enter_context(socket.create_connection((goes_on, here))) for _ in others]
        hang_up(address.format(here))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", here))
        for other, client in zip(others, clients, strict=True):
            accepted, _ = other.accept()
            ends.enter_context(accepted).sendall(b"x")
            assert client.recv(1) == b"x"


@pytest.mark.parametrize("form", ["unix:{}", "unix://{}"])
def test_a_unix_socket_is_hung_up_by_its_path_as_it_was_given(tmp_path: Path, form: str) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    with ExitStack() as ends:
        for path in paths:
            one = ends.enter_context(socket.socket(socket.AF_UNIX))
            one.bind(form.format(path).removeprefix("unix:"))
            one.listen()
        hang_up(form.format(paths[0]))
        client = ends.enter_context(socket.socket(socket.AF_UNIX))
        with pytest.raises(ConnectionRefusedError):
            client.connect(str(paths[0]))
        client.connect(str(paths[1]))


def test_who_connects_again_while_a_port_is_hung_up_is_cut_off_too() -> None:
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(40)]
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening, ThreadPoolExecutor(9) as threads:
        for fd in held:  # connections are found before the listener
            os.close(fd)
        here, accepted = listening.getsockname(), []

        def accept() -> None:
            with suppress(OSError):
                while True:
                    accepted.append(listening.accept()[0])

        def connect_again() -> None:
            with suppress(ConnectionError):
                while True:
                    with socket.create_connection(here, timeout=60) as client:
                        assert client.recv(1) == b""

        accepting = threads.submit(accept)
        clients = [threads.submit(connect_again) for _ in range(8)]
        while len(accepted) < len(clients):
            time.sleep(0.001)
        hang_up(f"127.0.0.1:{here[1]}")
        for ended in (accepting, *clients):
            ended.result()
        for one in accepted:
            one.close()


def test_closed_connections_are_forgotten() -> None:
    all_ = Connections()
    with connected(socket.AF_INET, "127.0.0.1") as (_, _, peer):
        all_.of(peer)
        all_.seek()
    all_._next_scan = 0.0
    with connected(socket.AF_INET, "127.0.0.1") as (_, _, other):
        all_.of(other)
        all_.seek()
        assert set(all_._all) == {other}
        all_.close()


def test_of_other_connections_nothing_is_known() -> None:
    connection = Connections().of("unix:")
    assert not connection.is_sought
    assert connection.unread() is None


class Taker(Counted):
    """A connection whose other end takes answers as a test says."""

    __slots__ = ("is_hung_up",)
    is_hung_up: bool

    def hang_up(self) -> None:
        self.is_hung_up = True


def answering(room: Room, *sizes: int) -> tuple[Any, list[Callable[..., None]]]:
    """Begin answers to a connection; returns it, and what says that each has left."""
    connection = Taker("test")
    connection.came, connection.is_hung_up = 0, False
    room.connections.of = lambda peer: connection  # type: ignore[method-assign]
    return connection, [room.begin_answer("test", size) for size in sizes]


async def test_who_takes_no_answers_is_hung_up_on_and_no_other(room: Room) -> None:
    idle, _ = answering(room, 100)
    room.clock.now += 20
    slow, (first, _) = answering(room, 1 << 20, 1 << 20)
    room.clock.now += 20
    room.look()
    assert (idle.is_hung_up, slow.is_hung_up) == (True, False)
    first()
    room.clock.now += 25  # its share of 45 s: half a minute, and 16 s for a megabyte
    room.look()
    assert not slow.is_hung_up
    room.clock.now += 2
    room.look()
    assert slow.is_hung_up
    assert not room._sending


async def test_whoever_left_most_answers_is_hung_up_on_when_there_is_no_room_for_more(room: Room) -> None:
    modest, _ = answering(room, LARGE)
    greedy, left = answering(room, LARGE, LARGE)
    assert not greedy.is_hung_up
    last, (end,) = answering(room, LARGE + 1)
    assert (modest.is_hung_up, greedy.is_hung_up, last.is_hung_up) == (False, True, False)
    for answer in (*left, end):
        answer()
    assert room._unsent == LARGE
