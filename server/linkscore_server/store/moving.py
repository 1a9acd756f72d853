"""Stores checked and copied as a whole, and crawls one by one, divided into other groups if wanted.

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
from heapq import merge
from itertools import count
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from linkscore_scoring.engine.config import MAX_GROUPS, CrawlConfig
from linkscore_scoring.engine.events import (
    BrowseBatchImported,
    ConfigChanged,
    LearningFailed,
    ModelActivated,
    decode,
    encode,
)
from linkscore_scoring.errors import AlreadyExists, CorruptState, InvalidInput, LinkscoreError, NotFound
from linkscore_server.data_folder import ensure_folder, sync
from linkscore_server.groups import Shard, group_of, shards_of
from linkscore_server.store import schema
from linkscore_server.store.base import NewEvent, StoredEvent
from linkscore_server.store.sqlite import SqliteEngine
from linkscore_server.store.store import FILE, MAX_GROUP, Store, StoredShard, open_store

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


def import_crawls(store: Store, file: Path, groups: int = 0) -> dict[str, int]:
    """Add the crawls of a file, as a whole or not at all; returns their events by name.

    `groups`: into how many the sites of each are divided from now on; 0: as many as before.
    """
    if not 0 <= groups <= MAX_GROUPS:
        raise InvalidInput(f"is from 1 to {MAX_GROUPS}, got {groups}", field="groups")
    with TemporaryDirectory(prefix="linkscore-import-") as name:
        restore(file, Path(name))
        with closing(Store(SqliteEngine(Path(name) / FILE, place=str(file)))) as given:
            _require_sound(given)
            return _added(store, given, groups)


def _added(store: Store, given: Store, groups: int) -> dict[str, int]:
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
            is_divided = groups and groups != len(old)
            keys = [shard.key for shard in (shards_of(crawl, groups) if is_divided else old)]
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
    for group, event in _divided(old, len(new)):
        waiting[group].append(event)
        if len(waiting[group]) == MAX_GROUP:
            new[group].commit(waiting[group]).result()
            waiting[group] = []
    for shard, rest in zip(new, waiting, strict=True):
        shard.commit(rest).result()


def _divided(shards: Sequence[StoredShard], groups: int) -> Iterator[tuple[int, NewEvent]]:
    """Yield group and event of each that there is to be; InvalidInput if the crawl cannot have so many.

    All groups are told of each configuration, once every group there was has come to it. What was learned of
    a site names the event it was learned from by its number in the group. Costs 8 bytes of memory an event.
    """
    ends, changes, told = [0] * groups, 0, -1
    numbers = [array("Q", [0]) for _ in shards]  # that the events of each group there was have now
    for (revision, _), at, stored, event in merge(*map(_by_change, count(), shards), key=itemgetter(0)):
        if isinstance(event, ConfigChanged):
            numbers[at].append(0)
            if len(shards) > 1 and revision == told:
                continue
            said, told = _told(CrawlConfig.from_state(event.config), groups, changes), revision
            changes += 1
            for group in range(groups):
                ends[group] += 1
                yield group, said
            continue
        group = group_of(stored.site, groups)
        ends[group] += 1
        numbers[at].append(ends[group])
        yield group, NewEvent(stored.site, stored.id, _numbered_anew(event, stored.body, numbers[at]))


def _by_change(at: int, shard: StoredShard) -> Iterator[tuple[tuple[int, bool], int, StoredEvent, object]]:
    """Yield the events of a group with how many changes of the crawl came before, those themselves first."""
    revision = 0
    for stored in shard.events():
        event = decode(stored.body)
        if isinstance(event, BrowseBatchImported):
            rule = "must be left out: the crawl has browse logs, which are not divided"
            raise InvalidInput(rule, field="groups")
        if isinstance(event, ConfigChanged):
            revision = CrawlConfig.from_state(event.config).revision
        yield (revision, not isinstance(event, ConfigChanged)), at, stored, event


def _told(config: CrawlConfig, groups: int, changes: int) -> NewEvent:
    """Return a configuration with so many groups, as many changes as there were, and the tickets it had."""
    kept = config.was_one_group or config.groups == 1
    config = replace(config, groups=groups, revision=changes, was_one_group=kept)
    config.check()
    return NewEvent("", "", encode(ConfigChanged(config.to_state())))


def _numbered_anew(event: object, body: bytes, numbers: array[int]) -> bytes:
    """Return an event as its group has it: few say something of their own place."""
    if isinstance(event, LearningFailed):
        return encode(replace(event, built_from_seq=numbers[event.built_from_seq]))
    if isinstance(event, ModelActivated):
        built_from = numbers[event.built_from_seq]
        learned: dict[str, Any] = {**event.learned, "built_from_seq": built_from}
        return encode(ModelActivated(event.site, built_from, learned))
    return body
