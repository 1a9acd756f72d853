"""Crawls are checked, backed up, and moved between stores, on both engines."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

import pytest

from linkscore_scoring.engine.events import decode
from linkscore_scoring.errors import AlreadyExists, CorruptState, NotFound
from linkscore_server.groups import Shard
from linkscore_server.store import Core, SiteRow, Store, open_store
from linkscore_server.store.moving import backup, export_crawl, import_crawls, problems_of
from support.store_events import event


def _fine(body: bytes) -> None:
    assert body


@pytest.fixture
def books(store: Store) -> Store:
    """A store with two crawls, one of them in groups."""
    shard = store.create("books")
    shard.commit([event(n, f"{n % 3}.example", id=str(n)) for n in range(1, 1_000)]).result()
    shard.put([SiteRow("1.example", 7, b"facts", b"state")], Core(7, b"core"))
    shard.flush().result()
    for part in range(2):
        store.create(Shard("films", part, 2).key).commit([event(part + 1)]).result()
    return store


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("UPDATE event SET id = 'x' WHERE seq = 500", r"crawl 'books': event 500: damaged"),
        ("DELETE FROM event WHERE seq = 500", r"crawl 'books': event 500 is missing"),
        ("UPDATE core SET state = facts FROM site WHERE site.seq = 7", r"crawl 'books': core: damaged"),
        ("UPDATE site SET facts = state WHERE seq = 7", "crawl 'books': facts of site '1.example': damaged"),
        ("DELETE FROM event WHERE seq > 3", r"a state knows event 7, the events end with 3"),
        ("UPDATE secret SET body = state FROM core", r"the secret 'tickets' is damaged"),
    ],
)
def test_every_damage_is_named(books: Store, sql: str, problem: str) -> None:
    books.secret()
    books.writer.call(lambda session: session.commit([(sql, [()])])).result()

    (found,) = problems_of(books, _fine)

    assert problem in found


def test_an_event_that_says_nothing_is_named(books: Store) -> None:
    (found, *_) = problems_of(books, decode)

    assert found.startswith("crawl 'books': event 1: event:")


def test_a_crawl_moves_with_all_it_has(books: Store, tmp_path: Path) -> None:
    assert export_crawl(books, "books", tmp_path / "file") == 999

    with closing(open_store(str(tmp_path / "other"))) as other:
        assert import_crawls(other, tmp_path / "file") == {"books": 999}
        shard = other.open("books")
        assert list(shard.events()) == list(books.open("books").events())
        assert list(shard.sites()) == list(books.open("books").sites())
        assert shard.site("1.example") == SiteRow("1.example", 7, b"facts", b"state")
        assert shard.core() == Core(7, b"core")
        assert shard.ids(2) == ["998", "999"]


def test_a_crawl_in_parts_moves_as_one(books: Store, tmp_path: Path) -> None:
    export_crawl(books, "films", tmp_path / "file")
    books.delete("films@0-of-2")
    books.delete("films@1-of-2")

    assert import_crawls(books, tmp_path / "file") == {"films": 2}

    assert books.shards() == ["books", "films@0-of-2", "films@1-of-2"]


def test_what_is_there_is_never_overwritten(books: Store, tmp_path: Path) -> None:
    export_crawl(books, "books", tmp_path / "file")
    with pytest.raises(AlreadyExists, match="name another file"):
        export_crawl(books, "films", tmp_path / "file")
    with pytest.raises(AlreadyExists, match="crawl 'books'"):
        import_crawls(books, tmp_path / "file")
    with pytest.raises(NotFound, match=r"not among the 2 of .*: books, films"):
        export_crawl(books, "none", tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("at", [0, 10, 0.3, 0.5, 0.7, -10, -1])
def test_a_damaged_file_leaves_nothing_behind(books: Store, tmp_path: Path, at: float) -> None:
    file = tmp_path / "file"
    export_crawl(books, "books", file)
    events = list(books.open("books").events())
    books.delete("books")
    whole = bytearray(file.read_bytes())
    whole[int(at * len(whole)) if 0 < at < 1 else int(at)] ^= 0xFF
    file.write_bytes(whole)

    with pytest.raises(CorruptState, match=str(file)) if not 0 < at < 1 else suppress(CorruptState):
        import_crawls(books, file)
        assert list(books.open("books").events()) == events  # what was damaged says nothing
        books.delete("books")

    assert books.shards() == ["films@0-of-2", "films@1-of-2"]
    assert books.engine.rows("SELECT count(*) FROM shard") == [(2,)]


def test_all_crawls_of_a_backup_are_added(tmp_path: Path) -> None:
    with (
        closing(open_store(str(tmp_path / "one"))) as store,
        closing(open_store(str(tmp_path / "two"))) as other,
    ):
        for name in ("books", "films"):
            store.create(name).commit([event(1)]).result()
        backup(store, tmp_path / "file")
        assert import_crawls(other, tmp_path / "file") == {"books": 1, "films": 1}
