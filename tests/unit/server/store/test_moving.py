"""Crawls are checked, backed up, and moved between stores, on both engines."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged, LearningFailed, decode, encode
from linkscore_scoring.engine.groups import Shard, group_of
from linkscore_scoring.errors import AlreadyExists, CorruptState, InvalidInput, NotFound
from linkscore_server.store import Core, NewEvent, SiteRow, Store, open_store
from linkscore_server.store.moving import backup, export_crawl, import_crawl, problems_of, restore
from support.store_events import event

Opened = Callable[[], Store]


def _fine(body: bytes) -> None:
    assert body


@pytest.fixture
def books(store: Store) -> Store:
    """A store with two crawls, one of them in parts."""
    shard = store.create("books")
    shard.commit([event(n, f"{n % 3}.example", id=str(n)) for n in range(1, 1_000)]).result()
    shard.put([SiteRow("1.example", 7, b"facts", b"state")], Core(7, b"core"))
    shard.flush().result()
    for part in range(2):
        store.create(Shard("films", part, 2).key).commit([event(part + 1)]).result()
    return store


def test_a_sound_store_has_no_problems(books: Store) -> None:
    assert list(problems_of(books, _fine)) == []


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
        assert import_crawl(other, tmp_path / "file") == ("books", 999)
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

    assert import_crawl(books, tmp_path / "file") == ("films", 2)

    assert books.shards() == ["books", "films@0-of-2", "films@1-of-2"]


def test_what_is_there_is_never_overwritten(books: Store, tmp_path: Path) -> None:
    export_crawl(books, "books", tmp_path / "file")
    with pytest.raises(AlreadyExists, match="name another file"):
        export_crawl(books, "films", tmp_path / "file")
    with pytest.raises(AlreadyExists, match="crawl 'books'"):
        import_crawl(books, tmp_path / "file")
    with pytest.raises(NotFound, match=r"not among the 2 of .*: books, films"):
        export_crawl(books, "none", tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("at", [0, 10, 0.5, -10, -1])
def test_a_damaged_file_leaves_nothing_behind(books: Store, tmp_path: Path, at: float) -> None:
    file = tmp_path / "file"
    export_crawl(books, "books", file)
    books.delete("books")
    whole = bytearray(file.read_bytes())
    whole[int(at * len(whole)) if 0 < at < 1 else int(at)] ^= 0xFF
    file.write_bytes(whole)

    with pytest.raises(CorruptState, match=str(file)):
        import_crawl(books, file)

    assert books.shards() == ["films@0-of-2", "films@1-of-2"]
    assert books.engine.rows("SELECT count(*) FROM shard") == [(2,)]


def test_a_backup_is_made_beside_a_server_and_restored(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "data"))) as store:
        store.create("books").commit([event(1)]).result()
        secret = store.secret()
        assert backup(store, tmp_path / "backup") > 0
        store.open("books").commit([event(2)]).result()
        with pytest.raises(AlreadyExists, match="name another file"):
            backup(store, tmp_path / "backup")

    restore(tmp_path / "backup", tmp_path / "new")

    with closing(open_store(str(tmp_path / "new"))) as store:
        assert [one.body for one in store.open("books").events()] == [b"page 1"]
        assert store.secret() == secret
    with pytest.raises(AlreadyExists, match="name another folder"):
        restore(tmp_path / "backup", tmp_path / "new")


def test_a_crawl_is_divided_into_parts_where_it_is_imported(store: Store, tmp_path: Path) -> None:
    def config(revision: int) -> NewEvent:
        return NewEvent("", "", encode(ConfigChanged(CrawlConfig("books", revision=revision).to_state())))

    def failed(number: int, site: str) -> NewEvent:
        return NewEvent(site, f"id {number}", encode(LearningFailed(site, number)))

    names = [f"{n}.example" for n in range(20)]
    shard = store.create("books")
    shard.commit([config(0), *(failed(1, name) for name in names)]).result()
    shard.commit([config(1), *(failed(n + 2, name) for n, name in enumerate(names))]).result()
    export_crawl(store, "books", tmp_path / "file")
    store.delete("books")

    assert import_crawl(store, tmp_path / "file", parts=4) == ("books", 42)

    assert store.shards() == [f"books@{part}-of-4" for part in range(4)]
    for key in store.shards():
        found = list(store.open(key).events())
        mine = [name for name in names if group_of(name, 4) == Shard.of(key).group]
        assert [one.site for one in found] == ["", *mine, "", *mine]
        later = [decode(one.body) for one in found if one.site][len(mine) :]
        assert [one.built_from_seq for one in later] == list(range(2, 2 + len(mine)))
        configs = [CrawlConfig.from_state(decode(one.body).config) for one in found if not one.site]
        assert [(one.groups, one.revision) for one in configs] == [(4, 0), (4, 1)]


def test_a_crawl_that_cannot_be_divided_stays_out(store: Store, tmp_path: Path) -> None:
    config = CrawlConfig("books").to_state()
    store.create("books").commit([NewEvent("", "", encode(ConfigChanged(config)))]).result()
    export_crawl(store, "books", tmp_path / "file")
    store.delete("books")

    with pytest.raises(InvalidInput, match="parts: is from 1 to 256"):
        import_crawl(store, tmp_path / "file", parts=1_000)

    assert store.shards() == []
