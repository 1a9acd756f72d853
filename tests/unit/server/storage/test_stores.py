"""One suite for every store: what is appended is read again, whatever is beneath."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscore_server.storage.base import Snapshot, Store
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.memory import MemoryStore


@pytest.fixture(params=["memory", "files"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield MemoryStore(keep=True)
        return
    files = FileStore(tmp_path, segment_bytes=256)
    yield files
    files.close()


def test_a_new_log_is_empty(store: Store) -> None:
    log = store.open("a")
    assert (log.last_seq, list(log.read()), log.snapshot()) == (0, [], None)


def test_events_are_numbered_from_one_without_gaps(store: Store) -> None:
    log = store.open("a")
    log.append([b"x", b"y"])
    log.append([b"z"])
    assert list(log.read()) == [(1, b"x"), (2, b"y"), (3, b"z")]
    assert log.last_seq == 3


def test_reading_may_start_anywhere(store: Store) -> None:
    log = store.open("a")
    for n in range(40):
        log.append([bytes([n]) * 50, b"second"])
    for after in (0, 1, 39, 40, 79, 80):
        assert [seq for seq, _ in log.read(after)] == list(range(after + 1, 81))


def test_a_reopened_log_goes_on_where_it_ended(store: Store) -> None:
    first = store.open("a")
    first.append([b"x"])
    first.close()
    again = store.open("a")
    again.append([b"y"])
    assert list(again.read()) == [(1, b"x"), (2, b"y")]


def test_the_newest_snapshot_counts(store: Store) -> None:
    log = store.open("a")
    log.append([b"x", b"y"])
    log.save(Snapshot(1, b"one"))
    log.save(Snapshot(2, b"two"))
    assert log.snapshot() == Snapshot(2, b"two")


def test_crawls_are_listed_by_name_and_do_not_share_events(store: Store) -> None:
    for name in ("b", "a"):
        store.open(name).append([name.encode()])
    assert store.crawls() == ["a", "b"]
    assert list(store.open("a").read()) == [(1, b"a")]


def test_a_deleted_crawl_leaves_nothing(store: Store) -> None:
    log = store.open("a")
    log.append([b"x"])
    log.save(Snapshot(1, b"state"))
    log.close()
    store.delete("a")
    assert store.crawls() == []
    assert list(store.open("a").read()) == []
    assert store.open("a").snapshot() is None


def test_deleting_what_is_not_there_is_fine(store: Store) -> None:
    store.delete("nothing")
    assert store.crawls() == []


def test_the_ticket_key_stays_the_same(store: Store) -> None:
    assert store.ticket_key() == store.ticket_key()
    assert len(store.ticket_key()) == 32
