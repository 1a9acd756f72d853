"""Stores checked and copied as a whole, and crawls one by one as files, divided into other parts if wanted.

A file of a crawl is a stream of zstd, with its checksum, of msgpack lists: what it is, the shards with their
events and rows, and an end that says how many events there must be. Secrets stay with their store: tickets of
links that wait count as none elsewhere, and the links go by their URL.
"""

from __future__ import annotations

import os
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, BinaryIO

import msgpack
import zstandard

from linkscore_scoring.engine.groups import MAX_GROUPS, Shard
from linkscore_scoring.errors import AlreadyExists, CorruptState, InvalidInput, LinkscoreError, NotFound
from linkscore_server.store.base import Core, NewEvent, SiteRow
from linkscore_server.store.dividing import divided
from linkscore_server.store.schema import HIDDEN
from linkscore_server.store.sqlite import PRIVATE, PRIVATE_FOLDER, SqliteEngine
from linkscore_server.store.store import FILE, Store, StoredShard
from linkscore_server.store.writer import MAX_GROUP

_MAGIC, _FORMAT = "linkscore crawl", 1
_IN_FLIGHT = 8
"""Commits that wait at a time while many events are written: one is made while the next gather. Chosen."""
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
    folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
    draft = folder / f"{FILE}.{secrets.token_hex(4)}.tmp"
    try:
        with _new(draft) as out, file.open("rb") as given:
            while piece := given.read(1 << 20):
                out.write(piece)
            out.flush()
            os.fsync(out.fileno())
        engine = SqliteEngine(draft)
        problems = engine.problems()
        engine.close()
        if problems:
            raise CorruptState(f"{file}: {problems[0]}")
        draft.rename(target)
        _sync(folder)
    finally:
        for rest in folder.glob(f"{draft.name}*"):
            rest.unlink()


def export_crawl(store: Store, crawl: str, file: Path) -> int:
    """Write a crawl into a new file; returns its events.

    Raises NotFound if there is no such crawl; AlreadyExists if the file exists; CorruptState if the crawl is
    damaged, naming the place.
    """
    keys, events = shards_of(store, crawl), 0
    if file.exists():
        raise AlreadyExists(f"{file}: exists; name another file or delete it")
    draft = file.with_name(f"{file.name}.{secrets.token_hex(4)}.tmp")
    try:
        packer = msgpack.Packer()
        compressor = zstandard.ZstdCompressor(write_checksum=True)
        with _new(draft) as out:
            with compressor.stream_writer(out, closefd=False) as packed:
                packed.write(packer.pack([_MAGIC, _FORMAT, crawl]))
                for key in keys:
                    shard = store.open(key)
                    for record in _records(shard):
                        packed.write(packer.pack(record))
                    events += shard.last_seq
                packed.write(packer.pack(["end", events]))
            out.flush()
            os.fsync(out.fileno())
        draft.rename(file)
        _sync(file.parent)
    finally:
        draft.unlink(missing_ok=True)
    return events


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
    events = count = 0
    writing: _Writing | None = None
    for kind, *values in records:
        if kind == "shard":
            events += writing.finish() if writing else 0
            key = HIDDEN + values[0]
            store.delete(key)  # a rest of an import that was cut short
            shards[key] = store.create(key)
            writing = _Writing(shards[key])
        elif kind == "end":
            count = values[0]
        elif writing is None:
            raise CorruptState(f"{file}: begins with no shard")
        elif kind == "event":
            writing.add(NewEvent(*values))
        elif kind == "core":
            writing.finish()
            writing.shard.put(core=Core(*values))
        else:
            writing.finish()
            writing.shard.put([SiteRow(*values)])
    events += writing.finish() if writing else 0
    if events != count or not events:
        raise CorruptState(f"{file}: has {events:,} events, and says that it has {count:,}")
    for shard in shards.values():
        shard.flush().result()
    return events


def _divide(store: Store, crawl: str, shards: dict[str, StoredShard], parts: int) -> None:
    """Add shards of so many parts with what is in the others."""
    old, writing = list(shards.values()), []
    for part in range(parts):
        key = HIDDEN + Shard(crawl, part, parts).key
        store.delete(key)
        shards[key] = store.create(key)
        writing.append(_Writing(shards[key]))
    for part, event in divided(old, parts):
        writing[part].add(event)
    for one in writing:
        one.finish()


class _Writing:
    """Appends many events to a shard."""

    def __init__(self, shard: StoredShard) -> None:
        self.shard = shard
        self._gathered: list[NewEvent] = []
        self._waiting: deque[Future[int]] = deque()

    def add(self, event: NewEvent) -> None:
        self._gathered.append(event)
        if len(self._gathered) == MAX_GROUP:
            self._commit()

    def finish(self) -> int:
        """Return when all is durable: how many events the shard has."""
        self._commit()
        while self._waiting:
            self._waiting.popleft().result()
        return self.shard.last_seq

    def _commit(self) -> None:
        if self._gathered:
            self._waiting.append(self.shard.commit(self._gathered))
            self._gathered = []
        if len(self._waiting) > _IN_FLIGHT:
            self._waiting.popleft().result()


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


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
