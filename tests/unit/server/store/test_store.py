"""What a crawl is promised by the store, on both engines."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

from linkscore_scoring.errors import CorruptState
from linkscore_server.store import (
    Core,
    Fenced,
    NewEvent,
    SiteFacts,
    SiteRow,
    Store,
    StoreAway,
)
from linkscore_server.store.base import Statements
from support.store_events import event

Opened = Callable[[], Store]


def test_events_are_read_as_they_were_appended(store: Store) -> None:
    shard = store.create("books")
    given = [
        NewEvent("a.example", "1", b"\0\xff"),
        NewEvent("", "", b""),
        NewEvent("b.example", "2", b"x" * 300_000),
    ]

    assert shard.commit(given).result() == 1
    assert shard.commit([event(4)]).result() == 4

    assert [tuple(found)[1:] for found in shard.events()][:3] == given
    assert [found.seq for found in shard.events()] == [1, 2, 3, 4]
    assert [found.seq for found in shard.events(after=1, until=3)] == [2, 3]


def test_shards_are_made_together_or_not_at_all(opened: Opened) -> None:
    store = opened()
    store.create_all({f"films@{part}-of-2": [NewEvent("", "", b"first")] for part in range(2)})
    with pytest.raises(Fenced):
        store.create_all({"books": [], "films@1-of-2": []})
    with pytest.raises(KeyError):
        store.open("books")

    shard = store.open("films@1-of-2")

    assert store.shards() == opened().shards() == ["films@0-of-2", "films@1-of-2"]
    assert [found.body for found in shard.events(site="")] == [b"first"]
    assert shard.commit([event(2)]).result() == 2


def test_a_site_is_its_row_and_the_events_after_it(store: Store) -> None:
    shard = store.create("books")
    shard.commit([event(1, "a"), event(2, "b"), event(3, ""), event(4, "a"), event(5, "a")]).result()
    assert shard.site("a") == SiteRow("a", 0, b"", b"")
    assert shard.behind() == {"a": 3, "b": 1}

    shard.put([SiteRow("a", 2, b"facts", b"state")])
    shard.flush().result()

    assert shard.site("a") == SiteRow("a", 2, b"facts", b"state")
    assert [found.seq for found in shard.events(after=2, site="a")] == [3, 4, 5]
    assert shard.behind() == {"a": 2, "b": 1}
    assert shard.site("c") is None
    assert list(shard.events(site="c")) == list(shard.events(after=2, until=3))


def test_an_older_row_never_replaces_a_newer_one(store: Store) -> None:
    shard = store.create("books")
    shard.commit([event(1)]).result()

    for seq in (2, 1):
        shard.put([SiteRow("a.example", seq, b"", b"as of %d" % seq)], Core(seq, b"core %d" % seq))
        shard.flush().result()

    row = shard.site("a.example")
    assert row is not None
    assert row.state == b"as of 2"
    assert shard.core() == Core(2, b"core 2")


def test_facts_are_read_without_states_in_the_order_of_sites(opened: Opened) -> None:
    shard = opened().create("books")
    names = [f"{number}.example" for number in range(1_200)]
    shard.commit([event(1, name) for name in names]).result()
    shard.put([SiteRow("7.example", 3, b"facts", b"state")])
    shard.flush().result()

    found = list(opened().open("books").sites())

    assert [one.site for one in found] == names
    assert found[7].facts == b"facts"
    assert found[7].size > 0
    assert found[8] == SiteFacts("8.example", 0, b"", 0)


def test_what_is_owed_is_written_when_the_store_closes(opened: Opened) -> None:
    store = opened()
    store.create("books").commit([event(1)]).result()
    shard = store.open("books")
    shard.put([SiteRow("a.example", 1, b"", b"state")])
    store.close()

    row = opened().open("books").site("a.example")

    assert row is not None
    assert row.state == b"state"


def test_ids_may_hold_what_a_database_does_not_take(opened: Opened) -> None:
    shard = opened().create("books")
    shard.commit([event(1, id="a\0b"), event(2, id="'; DROP TABLE event; --")]).result()

    assert opened().open("books").ids() == ["a\ufffdb", "'; DROP TABLE event; --"]
    assert [found.seq for found in shard.events()] == [1, 2]


def test_a_secret_stays_the_same(opened: Opened) -> None:
    secret = opened().secret()

    assert len(secret) == 32
    assert opened().secret() == secret
    assert opened().secret("another") != secret


def test_a_deleted_shard_is_gone_and_its_name_is_free(opened: Opened) -> None:
    store = opened()
    store.create("books").commit([event(n) for n in range(5_000)]).result()
    store.create("films").commit([event(1)]).result()
    store.open("books").put([SiteRow("a.example", 3, b"", b"state")])

    store.delete("books")
    store.delete("books")
    again = store.create("books")
    again.commit([event(7)]).result()

    assert store.shards() == ["books", "films"]
    assert [found.body for found in again.events()] == [b"page 7"]
    store.close()
    assert [found.body for found in opened().open("books").events()] == [b"page 7"]
    assert opened().open("books").site("a.example") == SiteRow("a.example", 0, b"", b"")


def test_nothing_is_written_of_a_deleted_shard_by_who_has_it_open(opened: Opened) -> None:
    store = opened()
    stale = opened().create("books")
    stale.commit([event(1)]).result()
    idle = opened().open("books")
    store.delete("books", "films")
    store.create("books").commit([event(7)]).result()

    with pytest.raises(Fenced):
        stale.commit([event(2)]).result()
    idle.put([SiteRow("a.example", 1, b"", b"state")], Core(1, b"core"))
    with pytest.raises(Fenced):
        idle.flush().result()

    again = store.open("books")
    assert [found.body for found in again.events()] == [b"page 7"]
    assert again.core() is None


def test_a_deletion_that_a_crash_cut_short_is_finished_by_the_next_start(opened: Opened) -> None:
    store = opened()
    store.create("books").commit([event(n) for n in range(3_000)]).result()
    store.writer.call(lambda session: session.commit([("DELETE FROM shard", [()])])).result()
    store.close()

    store = opened()
    store.writer.flush(store.create("films")).result()
    store.close()

    assert opened().engine.rows("SELECT count(*) FROM event") == [(0,)]


def test_of_two_that_have_a_shard_one_goes_on(opened: Opened) -> None:
    first = opened().create("books")
    first.commit([event(1)]).result()
    rival = opened().open("books")
    rival.commit([event(2)]).result()

    with pytest.raises(Fenced):
        first.commit([event(22)]).result()

    assert first.is_away
    with pytest.raises(StoreAway):
        first.commit([event(3)])
    assert rival.commit([event(3)]).result() == 3
    assert [found.body for found in rival.events()] == [b"page 1", b"page 2", b"page 3"]


def test_a_fenced_shard_does_not_take_others_with_it(opened: Opened) -> None:
    store = opened()
    books, films = store.create("books"), store.create("films")
    opened().open("books").commit([event(1)]).result()
    store.writer.call(lambda session: None).result()

    gate = store.writer.call(lambda session: films.commit([event(1)]) and books.commit([event(1)])).result()

    with pytest.raises(Fenced):
        gate.result()
    assert films.commit([event(2)]).result() == 2


def test_a_reader_follows_what_another_process_appends(opened: Opened) -> None:
    store = opened()
    store.create("books").commit([event(1)]).result()
    behind = opened().open("books")

    store.open("books").commit([event(2, "new.example")]).result()

    assert [found.site for found in behind.events()] == ["a.example", "new.example"]
    assert behind.last_seq == 1


@pytest.mark.parametrize("error", [OSError(28, "no room"), MemoryError()])
def test_of_a_commit_that_failed_nothing_is_in_and_states_are_owed_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    shard = store.create("books")
    shard.commit([event(1)]).result()

    def fail(statements: Statements) -> None:
        raise error

    session = store.writer.call(lambda session: session).result()
    with monkeypatch.context() as patch:
        patch.setattr(session, "commit", fail)
        for _ in range(3):
            shard.put([SiteRow("a.example", 1, b"", b"state")])
            with pytest.raises(type(error)):
                shard.commit([event(2, "new.example")]).result()
        assert not shard.is_away
        assert caplog.text.count("nothing can be written") == 1

    assert shard.commit([event(3, "other.example")]).result() == 2
    assert [found.body for found in shard.events()] == [b"page 1", b"page 3"]
    row = shard.site("a.example")
    assert row is not None
    assert row.state == b"state"


def test_damage_is_named_by_event(store: Store) -> None:
    shard = store.create("books")
    shard.commit([event(n) for n in range(1, 5)]).result()
    (body,) = store.engine.rows("SELECT body FROM event WHERE seq = 3")[0]
    bent = body[:-6] + bytes([body[-6] ^ 1]) + body[-5:]
    store.writer.call(lambda s: s.commit([("UPDATE event SET body = ? WHERE seq = 3", [(bent,)])])).result()

    with pytest.raises(CorruptState, match=r"crawl 'books': event 3: damaged"):
        list(shard.events())
    assert [found.seq for found in shard.events(after=3)] == [4]


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("UPDATE event SET id = 'other' WHERE seq = 2", "event 2: damaged"),
        ("UPDATE event SET site = 2 WHERE seq = 1", "event 1: damaged"),
        ("DELETE FROM event WHERE seq = 2", "event 2 is missing"),
        ("UPDATE event SET site = 9 WHERE seq = 2", "event 2: damaged: there is no such site"),
    ],
)
def test_rows_that_do_not_belong_together_are_damage(store: Store, sql: str, message: str) -> None:
    shard = store.create("books")
    shard.commit([event(1, "a"), event(2, "b"), event(3, "a")]).result()
    store.writer.call(lambda session: session.commit([(sql, [()])])).result()

    with pytest.raises(CorruptState, match=message):
        list(shard.events())


@pytest.mark.parametrize("change", ["seq = seq + 1", "name = 'b.example'", "facts = state"])
def test_a_state_that_is_another_ones_is_damage(store: Store, change: str) -> None:
    shard = store.create("books")
    shard.commit([event(1), event(2)]).result()
    shard.put([SiteRow("a.example", 1, b"facts", b"state")], Core(1, b"core"))
    shard.flush().result()
    store.writer.call(lambda session: session.commit([(f"UPDATE site SET {change}", [()])])).result()

    with pytest.raises(CorruptState, match=r"state of site 'a.example'"):
        shard.site("a.example")
    with pytest.raises(CorruptState, match=r"facts of site"):
        list(shard.sites())


def test_what_is_put_at_the_end_of_a_commit_is_written_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = store.create("books")
    written, late = shard.written, [SiteRow("a", 1, b"facts", b"late")]

    def meanwhile(batch: Any) -> bool:
        is_all = written(batch)
        if late:
            shard.put([late.pop()])
        return is_all

    monkeypatch.setattr(shard, "written", meanwhile)
    shard.commit([event(1, "a")]).result()
    store.write([])
    assert shard.site("a") == SiteRow("a", 1, b"facts", b"late")


def test_nothing_is_taken_in_after_the_end(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    is_putting, is_ending = threading.Event(), threading.Event()

    class Slow(queue.SimpleQueue[Any]):
        def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
            if item is None:
                is_ending.set()
            elif threading.current_thread().name == "late":
                is_putting.set()
                is_ending.wait(0.2)  # the end waits too, if it is to come later
            super().put(item)

    monkeypatch.setattr(queue, "SimpleQueue", Slow)
    store, found = opened(), list[Any]()
    late = threading.Thread(target=lambda: found.append(store.writer.call(lambda session: 1)), name="late")
    late.start()
    is_putting.wait()
    store.close()
    late.join()
    assert found[0].result(5.0) == 1
