"""What PostgreSQL does to a server, and it must not mistake: lost sessions, standbys, stuck statements."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest

from linkscore_server.store import SiteRow, Store, StoreAway, open_store
from support import postgres
from support.postgres import Postgres
from support.store_events import event


@pytest.fixture
def where(database: Postgres, request: pytest.FixtureRequest) -> str:
    return database.schema(f"faults{abs(hash(request.node.name))}")


def _ask(dsn: str, sql: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn, autocommit=True) as con:
        return con.execute(sql).fetchall()


def _until(holds: Callable[[], object]) -> None:
    for _ in range(4_000):
        if holds():
            return
        time.sleep(0.025)
    raise AssertionError("it never was so")


def _pid(store: Store) -> int:
    found: int = store.writer.call(lambda session: session.rows("SELECT pg_backend_pid()")).result()[0][0]
    return found


def test_a_session_that_is_ended_loses_nothing_that_was_acknowledged(where: str) -> None:
    with closing(open_store(where)) as store:
        shard = store.create("books")
        shard.commit([event(1)]).result()
        _ask(where, f"SELECT pg_terminate_backend({_pid(store)})")

        with pytest.raises(StoreAway):
            shard.commit([event(2)]).result()

        assert shard.is_away
        again = store.open("books")
        assert again.commit([event(3)]).result() == again.last_seq
        assert next(one.body for one in again.events()) == b"page 1"


def test_readers_come_back_after_their_sessions_were_ended(where: str) -> None:
    with closing(open_store(where)) as store:
        store.create("books").commit([event(1)]).result()
        mine = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'linkscore'"
        _ask(where, mine)

        assert store.shards() == ["books"]


def test_states_owed_by_a_lost_session_are_given_up_and_the_events_say_the_same(where: str) -> None:
    with closing(open_store(where)) as store:
        shard = store.create("books")
        shard.commit([event(1)]).result()
        _ask(where, f"SELECT pg_terminate_backend({_pid(store)})")
        with pytest.raises(StoreAway):
            shard.commit([event(2)]).result()

        shard.put([SiteRow("a.example", 1, b"", b"state")])

        assert store.open("books").site("a.example") == SiteRow("a.example", 0, b"", b"")
        assert next(one.seq for one in store.open("books").events(site="a.example")) == 1


def test_a_statement_that_is_stuck_is_away_after_a_while(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscore_server.store.postgres._SETTINGS", ("SET statement_timeout = 2000",))
    with closing(open_store(where)) as store, psycopg.connect(where) as other:
        shard = store.create("books")
        shard.commit([event(1)]).result()
        other.execute("LOCK TABLE event IN ACCESS EXCLUSIVE MODE")

        with pytest.raises(StoreAway, match="statement timeout"):
            shard.commit([event(2)]).result()

        other.rollback()
        assert store.open("books").commit([event(3)]).result() == 2


def test_a_stopped_database_is_left_when_the_writer_is_interrupted(where: str) -> None:
    with closing(open_store(where)) as store:
        shard = store.create("books")
        shard.commit([event(1)]).result()
        pid = _pid(store)
        os.kill(pid, signal.SIGSTOP)
        try:
            waiting = shard.commit([event(2)])
            cutting = threading.Timer(0.2, store.writer.interrupt)
            cutting.start()
            with pytest.raises(StoreAway):
                waiting.result(timeout=100)
        finally:
            os.kill(pid, signal.SIGCONT)

        _until(lambda: not _ask(where, f"SELECT 1 FROM pg_stat_activity WHERE pid = {pid}"))
        again = store.open("books")
        assert again.commit([event(3)]).result() == again.last_seq


def test_a_password_is_not_told() -> None:
    engine = pytest.importorskip("linkscore_server.store.postgres").PostgresEngine(
        "postgresql://me:secret@db.example/crawls"
    )

    assert engine.place == "postgresql://db.example/crawls"


@pytest.fixture(scope="module")
def replicated() -> Iterator[tuple[Postgres, Postgres]]:
    """A primary that waits for its standby, and the standby."""
    yield from postgres.replicated()


@pytest.mark.slow
def test_a_commit_whose_standby_was_not_waited_for_is_away(replicated: tuple[Postgres, Postgres]) -> None:
    primary, standby = replicated
    assert standby.process is not None
    where = primary.schema("cancelled")
    with closing(open_store(where)) as store:
        shard = store.create("books")
        shard.commit([event(1)]).result()
        pid = _pid(store)
        stopped = [*standby.backends(), standby.process.pid]
        for one in stopped:
            os.kill(one, signal.SIGSTOP)
        try:
            waiting = shard.commit([event(2)])
            _until(
                lambda: _ask(
                    where, f"SELECT 1 FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'SyncRep'"
                )
            )
            _ask(where, f"SELECT pg_cancel_backend({pid})")

            with pytest.raises(StoreAway, match="might not have been replicated"):
                waiting.result(timeout=100)
        finally:
            for one in stopped:
                os.kill(one, signal.SIGCONT)
        assert shard.is_away
