"""Stores checked and copied as a whole, and crawls one by one, divided into other parts if wanted.

A file of a backup, or of a crawl, is a store of SQLite with its checksums. Secrets stay with their store when
a crawl moves: tickets of links that wait count as none elsewhere, and the links go by their URL.
"""

from __future__ import annotations

import shutil
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import (
    BrowseBatchImported,
    ConfigChanged,
    LearningFailed,
    ModelActivated,
    decode,
    encode,
)
from linkscore_scoring.engine.groups import MAX_GROUPS, Shard, group_of, shards_of
from linkscore_scoring.errors import AlreadyExists, CorruptState, InvalidInput, LinkscoreError, NotFound
from linkscore_server.data_folder import ensure_folder, sync
from linkscore_server.store import schema
from linkscore_server.store.base import NewEvent
from linkscore_server.store.sqlite import SqliteEngine
from linkscore_server.store.store import FILE, Store, StoredShard, open_store
from linkscore_server.store.writer import MAX_GROUP

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
    """Yield what is wrong with a store, one line a place: everything is read, nothing is changed.

    `read_event`: reads the body of an event; raises `CorruptState` where it is none.
    """
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
    """Write all crawls and secrets, as of one moment, into a new file; returns its bytes. A server may run.

    Raises InvalidInput if the store is not a file; AlreadyExists if there is a file of that name: it is not
    touched.
    """
    if not isinstance(store.engine, SqliteEngine):
        raise InvalidInput(f"{store.engine.place}: is copied by PostgreSQL's own pg_dump", field="data_dir")
    try:
        store.engine.copy_to(file)
    except FileExistsError:
        raise AlreadyExists(f"{file}: exists; name another file or delete it") from None
    return file.stat().st_size


def restore(file: Path, folder: Path) -> None:
    """Make a data folder of a backup.

    Raises AlreadyExists if the folder has a store: it is not touched; CorruptState if the file is damaged, or
    no backup.
    """
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
    """Write a crawl into a new file; returns its events.

    Raises NotFound if there is no such crawl; AlreadyExists if the file exists; CorruptState if the crawl is
    damaged, naming the place.
    """
    keys = keys_of(store, crawl)
    between = TemporaryDirectory(prefix=f"{file.name}-", dir=file.parent)
    with between as name, closing(open_store(name)) as alone:
        events = sum(_copy(store.open(key), alone, key) for key in keys)
        _require_sound(alone)
        backup(alone, file)
    return events


def import_crawls(store: Store, file: Path, parts: int = 0) -> dict[str, int]:
    """Add the crawls of a file, as a whole or not at all; returns their events by name.

    `parts`: into how many the sites of each are divided from now on; 0: as many as before. Raises
    AlreadyExists if there is a crawl of that name; CorruptState if the file is damaged or none of
    `export_crawl` and `backup`, naming it; InvalidInput if a crawl cannot be divided so.
    """
    if not 0 <= parts <= MAX_GROUPS:
        raise InvalidInput(f"is from 1 to {MAX_GROUPS}, got {parts}", field="parts")
    with TemporaryDirectory(prefix="linkscore-import-") as name:
        restore(file, Path(name))
        with closing(Store(SqliteEngine(Path(name) / FILE, place=str(file)))) as given:
            _require_sound(given)
            return _added(store, given, parts)


def _added(store: Store, given: Store, parts: int) -> dict[str, int]:
    """Add the crawls of another store under hidden names, and rename them at the end."""
    events: dict[str, int] = defaultdict(int)
    names: dict[str, str] = {}
    there = {Shard.of(key).crawl for key in store.shards()}
    try:
        for crawl in dict.fromkeys(Shard.of(key).crawl for key in given.shards()):
            if crawl in there:
                raise AlreadyExists(
                    f"crawl {crawl!r}: {store.engine.place} has one; delete it first, or name another"
                )
            old = [given.open(key) for key in keys_of(given, crawl)]
            is_divided = parts and parts != len(old)
            keys = [shard.key for shard in (shards_of(crawl, parts) if is_divided else old)]
            names |= {schema.HIDDEN + key: key for key in keys}
            if is_divided:
                _divide(old, [_made_anew(store, schema.HIDDEN + key) for key in keys])
            else:
                for shard in old:
                    _copy(shard, store, schema.HIDDEN + shard.key)
            events[crawl] = sum(shard.last_seq for shard in old)
        store.rename(names)
    finally:
        store.delete(*names)  # what was renamed is none of these any more
    return events


def _made_anew(store: Store, key: str) -> StoredShard:
    """Return a shard that has nothing: what an import that was cut short left is erased."""
    store.delete(key)
    return store.create(key)


def _copy(shard: StoredShard, store: Store, key: str) -> int:
    """Give another store a shard as of its last event, row by row as they are; returns its events."""
    rows, number = shard.store.engine.rows, _made_anew(store, key).number

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


def _divide(old: Sequence[StoredShard], new: Sequence[StoredShard]) -> None:
    """Give new shards the events of the old ones, each those of its sites."""
    waiting: list[list[NewEvent]] = [[] for _ in new]
    for part, event in _divided(old, len(new)):
        waiting[part].append(event)
        if len(waiting[part]) == MAX_GROUP:
            new[part].commit(waiting[part]).result()
            waiting[part] = []
    for shard, rest in zip(new, waiting, strict=True):
        shard.commit(rest).result()


class _Source(NamedTuple):
    """A part that there was, and the numbers that its events have now."""

    shard: StoredShard
    numbers: array[int]


def _divided(shards: Sequence[StoredShard], parts: int) -> Iterator[tuple[int, NewEvent]]:
    """Yield part and event of each that there is to be: the same shards give the same parts.

    An event of a site goes to the part of the site. All parts are told of each configuration, once every
    part there was has come to it. What was learned of a site names the event it was learned from by its
    number in the part. Costs 8 bytes of memory an event.

    Raises InvalidInput if the crawl cannot have so many: for its policy or another field, or for browse logs;
    CorruptState if an event is damaged.
    """
    ends, changes = [0] * parts, 0
    came = [_Source(shard, array("Q", [0])) for shard in shards]
    waiting: list[tuple[CrawlConfig, _Source]] = []
    while True:
        for source in came:
            for part, event in _until_change(source, ends, waiting):
                yield part, event
        if not waiting:
            return
        told = min((config for config, _ in waiting), key=lambda config: config.revision)
        said = _told(told, parts, changes)
        changes += 1
        for part in range(parts):
            ends[part] += 1
            yield part, said
        came = [source for config, source in waiting if config.revision == told.revision]
        waiting = [(config, source) for config, source in waiting if config.revision != told.revision]


def _until_change(
    source: _Source, ends: list[int], waiting: list[tuple[CrawlConfig, _Source]]
) -> Iterator[tuple[int, NewEvent]]:
    """Divide the events before the next change of a part, which waits for the other parts then."""
    for stored in source.shard.events(after=len(source.numbers) - 1):
        event = decode(stored.body)
        if isinstance(event, BrowseBatchImported):
            rule = "must stay: the crawl has browse logs, which are not divided"
            raise InvalidInput(rule, field="parts")
        if isinstance(event, ConfigChanged):
            source.numbers.append(0)
            waiting.append((CrawlConfig.from_state(event.config), source))
            return
        part = group_of(stored.site, len(ends))
        ends[part] += 1
        source.numbers.append(ends[part])
        yield part, NewEvent(stored.site, stored.id, _numbered_anew(event, stored.body, source.numbers))


def _told(config: CrawlConfig, parts: int, changes: int) -> NewEvent:
    """Return a configuration with so many parts, as many changes as there were, and the tickets it had."""
    kept = config.was_one_group or config.groups == 1
    config = replace(config, groups=parts, revision=changes, was_one_group=kept)
    config.check()
    return NewEvent("", "", encode(ConfigChanged(config.to_state())))


def _numbered_anew(event: object, body: bytes, numbers: array[int]) -> bytes:
    """Return an event as its part has it: few say something of their own place."""
    if isinstance(event, LearningFailed):
        return encode(replace(event, built_from_seq=numbers[event.built_from_seq]))
    if isinstance(event, ModelActivated):
        built_from = numbers[event.built_from_seq]
        learned: dict[str, Any] = {**event.learned, "built_from_seq": built_from}
        return encode(ModelActivated(event.site, built_from, learned))
    return body
