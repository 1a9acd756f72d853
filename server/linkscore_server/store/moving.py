"""Stores checked and copied as a whole, and crawls one by one as files, divided into other parts if wanted.

A file of a crawl is a stream of zstd, with its checksum, of msgpack lists: what it is, the shards with their
events and rows, and an end that says how many events there must be. Secrets stay with their store: tickets of
links that wait count as none elsewhere, and the links go by their URL.
"""

from __future__ import annotations

import os
import secrets
import shutil
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgpack
import zstandard

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import (
    BrowseBatchImported,
    ConfigChanged,
    LearningFailed,
    ModelActivated,
    decode,
    encode,
)
from linkscore_scoring.engine.groups import MAX_GROUPS, Shard, group_of
from linkscore_scoring.errors import AlreadyExists, CorruptState, InvalidInput, LinkscoreError, NotFound
from linkscore_server.data_folder import PRIVATE, ensure_folder, sync
from linkscore_server.store.base import Core, NewEvent, SiteRow
from linkscore_server.store.schema import HIDDEN
from linkscore_server.store.sqlite import SqliteEngine
from linkscore_server.store.store import FILE, Store, StoredShard
from linkscore_server.store.writer import MAX_GROUP

_MAGIC, _FORMAT = "linkscore crawl", 1
_OBJECT_BYTES = 1 << 30
"""A bound: the largest thing in a file, the state of one site, of which the largest seen had 40 MB."""


def shards_of(store: Store, crawl: str) -> list[str]:
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
    draft = folder / f"{FILE}.{secrets.token_hex(4)}.tmp"
    try:
        with _new(draft) as out, file.open("rb") as given:
            shutil.copyfileobj(given, out)
        with closing(SqliteEngine(draft)) as engine:
            problems = engine.problems()
        if problems:
            raise CorruptState(f"{file}: {problems[0]}")
        sync(draft)
        draft.rename(target)
        sync(folder)
    finally:
        for rest in folder.glob(f"{draft.name}*"):
            rest.unlink()


def export_crawl(store: Store, crawl: str, file: Path) -> int:
    """Write a crawl into a new file; returns its events.

    Raises NotFound if there is no such crawl; AlreadyExists if the file exists; CorruptState if the crawl is
    damaged, naming the place.
    """
    shards = [store.open(key) for key in shards_of(store, crawl)]
    if file.exists():
        raise AlreadyExists(f"{file}: exists; name another file or delete it")
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}.tmp")
    compressor, pack = zstandard.ZstdCompressor(write_checksum=True), msgpack.Packer().pack
    try:
        with _new(draft) as out, compressor.stream_writer(out) as packed:
            packed.write(pack([_MAGIC, _FORMAT, crawl]))
            for shard in shards:
                for record in _records(shard):
                    packed.write(pack(record))
            packed.write(pack(["end", sum(shard.last_seq for shard in shards)]))
        sync(draft)
        draft.rename(file)
        sync(file.parent)
    finally:
        draft.unlink(missing_ok=True)
    return sum(shard.last_seq for shard in shards)


def _records(shard: StoredShard) -> Iterator[list[Any]]:
    yield ["shard", shard.key]
    for event in shard.events(until=shard.last_seq):
        yield ["event", event.site, event.id, event.body]
    core = shard.core()
    if core is not None and core.seq <= shard.last_seq:
        yield ["core", *core]
    for facts in shard.sites():
        row = shard.site(facts.site)
        if row is not None and 0 < row.seq <= shard.last_seq:
            yield ["row", *row]


def import_crawl(store: Store, file: Path, parts: int = 0) -> tuple[str, int]:
    """Add the crawl of a file, as a whole or not at all; returns its name and its events.

    `parts`: into how many its sites are divided from now on; 0: as many as before. Raises AlreadyExists if
    there is a crawl of that name; CorruptState if the file is damaged or none of a crawl, naming it;
    InvalidInput if the crawl cannot be divided so.
    """
    if not 0 <= parts <= MAX_GROUPS:
        raise InvalidInput(f"is from 1 to {MAX_GROUPS}, got {parts}", field="parts")
    with file.open("rb") as given:
        records = _read(file, given)
        crawl = str(next(records)[2])
        if any(Shard.of(key).crawl == crawl for key in store.shards()):
            raise AlreadyExists(
                f"crawl {crawl!r}: {store.engine.place} has one; delete it first, or name another"
            )
        shards: dict[str, StoredShard] = {}
        try:
            events = _take_in(store, records, shards, file)
            if parts and parts != len(shards):
                _divide(store, crawl, shards, parts)
            new = [key for key in shards if not parts or Shard.of(key[1:]).groups == parts]
            store.rename({key: key[1:] for key in new})
        finally:
            for key in shards:  # what was renamed is none of these any more
                store.delete(key)
    return crawl, events


def _take_in(store: Store, records: Iterator[list[Any]], shards: dict[str, StoredShard], file: Path) -> int:
    """Write all records into shards of hidden names; returns their events."""
    writing: _Appending | None = None
    count = 0
    for kind, alike in groupby(records, key=lambda record: record[0]):
        for _, *values in alike:
            if kind == "shard":
                writing = _Appending(_hidden(store, values[0], shards))
            elif kind == "end":
                count = values[0]
            elif writing is None:
                raise CorruptState(f"{file}: begins with no shard")
            elif kind == "event":
                writing.add(NewEvent(*values))
            elif kind == "core":
                writing.shard.put(core=Core(*values))
            else:
                writing.shard.put([SiteRow(*values)])
        if writing is not None:
            writing.end()
    events = sum(shard.last_seq for shard in shards.values())
    if events != count or not events:
        raise CorruptState(f"{file}: has {events:,} events, and says that it has {count:,}")
    for shard in shards.values():
        shard.flush().result()
    return events


def _hidden(store: Store, key: str, shards: dict[str, StoredShard]) -> StoredShard:
    """Add a shard that nobody sees before it is renamed; what an import that was cut short left is erased."""
    store.delete(HIDDEN + key)
    shards[HIDDEN + key] = store.create(HIDDEN + key)
    return shards[HIDDEN + key]


def _divide(store: Store, crawl: str, shards: dict[str, StoredShard], parts: int) -> None:
    """Add shards of so many parts with what is in the others."""
    old = list(shards.values())
    writing = [_Appending(_hidden(store, Shard(crawl, part, parts).key, shards)) for part in range(parts)]
    for part, event in _divided(old, parts):
        writing[part].add(event)
    for one in writing:
        one.end()


class _Appending:
    """Appends many events to a shard."""

    def __init__(self, shard: StoredShard) -> None:
        self.shard = shard
        self._gathered: list[NewEvent] = []

    def add(self, event: NewEvent) -> None:
        self._gathered.append(event)
        if len(self._gathered) == MAX_GROUP:
            self.end()

    def end(self) -> None:
        """Return when all is durable."""
        if self._gathered:
            self.shard.commit(self._gathered).result()
            self._gathered = []


def _read(file: Path, given: BinaryIO) -> Iterator[list[Any]]:
    """Yield the records of a file, the first of which says that it is one."""
    try:
        with zstandard.ZstdDecompressor().stream_reader(given) as stream:
            unpacker = msgpack.Unpacker(stream, max_buffer_size=_OBJECT_BYTES)
            first = next(unpacker, None)
            if not isinstance(first, list) or first[:2] != [_MAGIC, _FORMAT]:
                raise CorruptState(
                    f"{file}: is not a crawl as `linkscore data export` of this version writes it"
                )
            yield first
            yield from unpacker
    except (zstandard.ZstdError, msgpack.UnpackException, ValueError, TypeError, LookupError) as exc:
        raise CorruptState(f"{file}: damaged: {exc}") from exc


def _new(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb")


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
