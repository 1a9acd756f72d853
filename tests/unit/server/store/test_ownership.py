"""Which of several servers over one PostgreSQL has which shard, and what becomes of those of a dead one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from linkscore_server.store import Fenced, Store, StoreAway, open_store, ownership
from linkscore_server.store.ownership import Ownership, Standing
from support.postgres import Postgres
from support.store_events import event

SHARDS = [f"books@{part}-of-16" for part in range(16)]


class Server:
    """One of them."""

    def __init__(self, where: str, address: str) -> None:
        self.store: Store = open_store(where)
        self.ownership = Ownership(self.store, address)

    def tick(self) -> Standing:
        """Look, and hand over what should be elsewhere, as a server does."""
        found = self.ownership.tick()
        for key in found.leaving:
            self.ownership.hand_over(key, Ownership.best(key, found.servers))
        return found

    def pid(self) -> int:
        """Return the process of its connection."""
        pid: int = self.store.writer.call(lambda session: session.rows("SELECT pg_backend_pid()")).result()[
            0
        ][0]
        return pid


@pytest.fixture
def where(database: Postgres, request: pytest.FixtureRequest) -> str:
    return database.schema(f"owners{abs(hash(request.node.name))}")


@pytest.fixture
def server(where: str) -> Iterator[Callable[[str], Server]]:
    made: list[Server] = []

    def server(address: str) -> Server:
        made.append(Server(where, address))
        return made[-1]

    yield server
    for one in made:
        one.store.close()


def _settled(*servers: Server) -> list[frozenset[str]]:
    for _ in range(3):
        found = [one.tick().mine for one in servers]
    return found


def _make(server: Server) -> None:
    for key in SHARDS:
        server.store.create(key).commit([event(1)]).result()


def test_a_shard_that_another_server_had_meanwhile_is_told(server: Callable[[str], Server]) -> None:
    first, second = server("a:1"), server("b:1")
    _make(first)
    _settled(first, second)
    mine = first.tick().mine
    key = min(mine)
    first.ownership.hand_over(key, second.ownership.number)
    second.tick()
    second.tick()

    found = first.ownership.tick()

    assert key in found.mine
    assert found.returned == {key}
    assert first.ownership.tick().returned == frozenset()


def test_a_server_that_does_not_beat_loses_its_connection_and_its_shards(
    server: Callable[[str], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = server("a:1"), server("b:1")
    _make(first)
    _settled(first, second)
    mine = first.tick().mine
    first_shard = first.store.open(min(mine))
    second.store.writer.call(
        lambda session: session.commit([("UPDATE server SET beat = 0 WHERE address = 'a:1'", [()])])
    ).result()

    second.tick()
    assert _settled(second) == [frozenset(SHARDS)]

    second.store.open(first_shard.key).commit([event(2)]).result()
    with pytest.raises(StoreAway):
        first_shard.commit([event(3)]).result()
    with pytest.raises(StoreAway):
        first.ownership.confirm(first_shard.key)
    with pytest.raises(Fenced):
        _late(first, first_shard.key)


def _late(server: Server, key: str) -> None:
    """Append as one that does not know that it was overtaken."""
    shard = server.store.open(key)
    shard.last_seq = 1
    shard.commit([event(4)]).result()


def test_a_lost_connection_takes_its_lock_again_and_keeps_its_shards(
    where: str, server: Callable[[str], Server]
) -> None:
    first, second = server("a:1"), server("b:1")
    _make(first)
    shares = _settled(first, second)
    number = first.ownership.number
    with psycopg.connect(where, autocommit=True) as con:
        con.execute("SELECT pg_terminate_backend(%s)", (first.pid(),))

    with pytest.raises(StoreAway):
        first.tick()

    assert _settled(first, second) == shares
    assert first.ownership.number == number


def test_a_connection_that_is_stuck_is_given_up(
    server: Callable[[str], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ownership, "_STUCK_S", 1.0)
    first = server("a:1")
    first.tick()
    pid = first.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(StoreAway):
            first.tick()
        for _ in range(2_000):  # the thread that writes has to find its connection cut
            try:
                found = first.tick()
                break
            except StoreAway:
                time.sleep(0.05)
        assert first.ownership.number in found.servers
    finally:
        os.kill(pid, signal.SIGCONT)
