"""Stores checked and copied as a whole, and crawls one by one.

A file of a backup, or of a crawl, is a store of SQLite with its checksums. Secrets stay with their store when
a crawl moves: tickets of links that wait count as none elsewhere, and the links go by their URL.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from linkscore_scoring.errors import AlreadyExists, CorruptState, InvalidInput, LinkscoreError, NotFound
from linkscore_server.data_folder import ensure_folder, sync
from linkscore_server.groups import Shard
from linkscore_server.store import schema
from linkscore_server.store.sqlite import SqliteEngine
from linkscore_server.store.store import FILE, Store, StoredShard, open_store

_EVENTS, _SITES = 500, 8
"""Rows that are copied at a time; a site's state has some MB at most. Chosen, not measured."""


def keys_of(store: Store, crawl: str) -> list[str]:
    """Return the keys of a crawl's shards; NotFound if there is no such crawl."""
    keys = store.shards()
    if found := [key for key in keys if Shard.of(key).crawl == crawl]:
        return found
    crawls = sorted({Shard.of(key).crawl for key in keys})
    raise NotFound(
        f"crawl {crawl!r}: not among the {len(crawls)} of {store.engine.place}: {', '.join(crawls)}"
    )


def problems_of(store: Store, read_event: Callable[[bytes], object]) -> Iterator[str]:
    """Yield what is wrong with a store, a line a place; `read_event` raises CorruptState of what is none."""
    yield from store.engine.problems()
    try:
        store.secret()
    except LinkscoreError as exc:
        yield str(exc)
    for key in store.shards():
        try:
            yield from _problems_of_shard(store.open(key), read_event)
        except LinkscoreError as exc:
            yield str(exc)


def _problems_of_shard(shard: StoredShard, read_event: Callable[[bytes], object]) -> Iterator[str]:
    seen: set[str] = set()
    for event in shard.events():
        seen.add(event.site)
        try:
            read_event(event.body)
        except CorruptState as exc:
            yield f"crawl {shard.key!r}: event {event.seq}: {exc}"
    core = shard.core()
    newest = core.seq if core else 0
    for facts in shard.sites():
        row = shard.site(facts.site)
        newest = max(newest, row.seq if row else 0)
    if newest > shard.last_seq:
        yield f"crawl {shard.key!r}: a state knows event {newest}, the events end with {shard.last_seq}"
    if missing := seen - {""} - {facts.site for facts in shard.sites()}:
        yield f"crawl {shard.key!r}: site {min(missing)!r} has events and no row"


def _require_sound(store: Store) -> None:
    """Raise CorruptState that names what is damaged, or that there is no crawl."""
    keys = store.shards()
    for key in keys:
        for problem in _problems_of_shard(store.open(key), lambda body: None):
            raise CorruptState(f"{store.engine.place}: {problem}")
    if not keys:
        raise CorruptState(f"{store.engine.place}: holds no crawl")


def backup(store: Store, file: Path) -> int:
    """Write all crawls and secrets, as of one moment, into a new file; returns its bytes."""
    if not isinstance(store.engine, SqliteEngine):
        raise InvalidInput(f"{store.engine.place}: is copied by PostgreSQL's own pg_dump", field="data_dir")
    try:
        store.engine.copy_to(file)
    except FileExistsError:
        raise AlreadyExists(f"{file}: exists; name another file or delete it") from None
    return file.stat().st_size


def restore(file: Path, folder: Path) -> None:
    """Make a data folder of a backup; AlreadyExists if it has a store, CorruptState if that is no backup."""
    target = folder / FILE
    if target.exists():
        raise AlreadyExists(f"{target}: exists; name another folder, or move it away")
    ensure_folder(folder)
    with TemporaryDirectory(prefix="restore-", dir=folder) as name:
        draft = Path(name) / FILE
        shutil.copyfile(file, draft)
        with closing(SqliteEngine(draft, place=str(file))) as engine:
            for problem in engine.problems():
                raise CorruptState(problem)
        sync(draft)
        draft.rename(target)
    sync(folder)


def export_crawl(store: Store, crawl: str, file: Path) -> int:
    """Write a crawl into a new file; returns its events. CorruptState names what is damaged of it."""
    keys = keys_of(store, crawl)
    between = TemporaryDirectory(prefix=f"{file.name}-", dir=file.parent)
    with between as name, closing(open_store(name)) as alone:
        events = sum(_copy(store.open(key), alone, key) for key in keys)
        _require_sound(alone)
        backup(alone, file)
    return events


def import_crawls(store: Store, file: Path) -> dict[str, int]:
    """Add the crawls of a file, as a whole or not at all; returns their events by name."""
    with TemporaryDirectory(prefix="linkscore-import-") as name:
        restore(file, Path(name))
        with closing(Store(SqliteEngine(Path(name) / FILE, place=str(file)))) as given:
            _require_sound(given)
            return _added(store, given)


def _added(store: Store, given: Store) -> dict[str, int]:
    """Add the crawls of another store under hidden names, and rename them at the end."""
    events: dict[str, int] = defaultdict(int)
    names: dict[str, str] = {}
    there = {Shard.of(key).crawl for key in store.shards()}
    try:
        for key in given.shards():
            crawl = Shard.of(key).crawl
            if crawl in there:
                raise AlreadyExists(
                    f"crawl {crawl!r}: {store.engine.place} has one; delete it first, or name another"
                )
            names[schema.HIDDEN + key] = key
            events[crawl] += _copy(given.open(key), store, schema.HIDDEN + key)
        store.rename(names)
    finally:
        store.delete(*names)  # what was renamed is none of these any more
    return events


def _copy(shard: StoredShard, store: Store, key: str) -> int:
    """Give another store a shard as of its last event, row by row as they are; returns its events."""
    store.delete(key)  # what an import that was cut short left
    rows, number = shard.store.engine.rows, store.create(key).number

    def put(sql: str, found: Sequence[tuple[Any, ...]]) -> None:
        store.write([(sql, [(number, *row) for row in found])])

    put(schema.PUT_DICTIONARY, rows(schema.DICTIONARIES, (shard.number,)))
    last = 0
    while events := rows(schema.EVENTS, (shard.number, last, shard.last_seq, _EVENTS)):
        put(schema.PUT_EVENT, events)
        last = events[-1][0]
    last = 0
    while sites := rows(schema.WHOLE_SITES, (shard.number, last, _SITES)):
        # A row may be newer than what is copied of the events: then these say all.
        put(
            schema.PUT_SITE,
            [row if row[2] <= shard.last_seq else (*row[:2], 0, b"", 0, b"") for row in sites],
        )
        last = sites[-1][0]
    put(schema.PUT_CORE, [row for row in rows(schema.CORE, (shard.number,)) if row[0] <= shard.last_seq])
    return shard.last_seq
