"""Snapshots of a log in a partition of a compacted topic: what others need not replay.

A *checkpoint* holds the states of all sites after one event. Its `Version` is the epoch of the owner that
made it, and the number of that event. A record holds the state of one site or what changed it since, or a
piece of such a part, or what the checkpoint keeps beside the sites; that one is written last and names the
versions of each site's parts, for most are of checkpoints before. So:

- no two parts share a key: compaction takes away what was deleted, and nothing else;
- a checkpoint without its last record is none, and a reader never mixes two;
- an owner deletes what neither its newest checkpoint nor the one before needs.

A record's key is a mark, `formats.SNAPSHOT`'s number, identity of the log, version, place of the site, number
of the piece, number of pieces. Its value is a checksum of the key and the piece, and the piece.
"""

from __future__ import annotations

import logging
import struct
import zlib
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from itertools import chain
from typing import NamedTuple

import zstandard
from prometheus_client.registry import Collector

from linkscore_scoring.errors import CorruptState
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.formats import SNAPSHOT
from linkscore_server.storage.kafka.records import LogState, Record
from linkscore_server.storage.kafka.snapshots import (
    Checkpoint,
    Checkpoints,
    Cut,
    Partitions,
    SnapshotPlace,
    Stored,
    Version,
)

PIECE_BYTES = 512 << 10
"""Largest piece of a state: any broker takes it, whose own bound is 1 MiB (`message.max.bytes`)."""

_IN_FLIGHT_BYTES = 1 << 20  # written and not acknowledged: an append of events waits behind it. Chosen
_WAIT_S = 0.01  # for an acknowledgement, which takes 4 to 18 ms; then events have their turn
_KEY = struct.Struct(">2sH16sqqiHH")
_MARK = b"LC"
_CRC = struct.Struct(">I")
_CORE = -1  # in place of the place of a site: what a checkpoint keeps beside them
_log = logging.getLogger(__name__)


class _Name(NamedTuple):
    """Of a part: a checkpoint it was written for, a place, and in how many pieces."""

    version: Version
    place: int
    pieces: int

    def keys(self, identity: bytes) -> Iterator[bytes]:
        for n in range(self.pieces):
            yield _KEY.pack(_MARK, SNAPSHOT.number, identity, *self.version, self.place, n, self.pieces)


def _names(place: int, parts: Iterable[Stored]) -> Iterator[_Name]:
    return (_Name(part.version, place, part.pieces) for part in parts)


def _all_names(checkpoint: Checkpoint) -> Iterator[_Name]:
    return chain.from_iterable(_names(place, parts) for place, parts in enumerate(checkpoint.sites))


class _Seen:
    """What a partition holds: pieces of parts and checkpoints by number, and keys of another log's."""

    def __init__(self) -> None:
        self.sites: dict[_Name, set[int]] = {}
        self.cores: dict[_Name, dict[int, bytes]] = {}
        self.foreign: set[bytes] = set()

    def see(self, name: _Name, n: int, piece: bytes | None) -> None:
        """Go on by a piece; None of one that was deleted or is damaged."""
        if name.place != _CORE:
            pieces = self.sites.setdefault(name, set())
            pieces.discard(n) if piece is None else pieces.add(n)
        elif piece is None:
            self.cores.setdefault(name, {}).pop(n, None)
        else:
            self.cores.setdefault(name, {})[n] = piece

    def see_foreign(self, record: Record) -> None:
        """Go on by a record of another log or format, if it may be deleted."""
        if record.value and record.key is not None:
            self.foreign.add(record.key)
        elif record.key is not None:
            self.foreign.discard(record.key)


class SharedCheckpoints(Checkpoints):
    """The checkpoints of one log, all on the brokers.

    Parameters
    ----------
    partitions
        Keeps them.
    topic, partition
        Where.
    log
        The log as its new owner has read it.
    """

    def __init__(self, partitions: Partitions, topic: str, partition: int, log: LogState) -> None:
        self._partitions = partitions
        self._topic, self._partition = topic, partition
        self._log = log.copy()
        self._identity = bytes.fromhex(log.identity)
        self._end = 0
        self._sites: list[tuple[Stored, ...]] = []
        self._newest: _Name | None = None
        self._deleted_next: list[bytes] = []  # keys that the newest checkpoint does not need
        self._seen = _Seen()

    @property
    def name(self) -> str:
        """See `Checkpoints.name`."""
        return f"{self._topic} [{self._partition}]"

    def whole(self) -> Iterator[Checkpoint]:
        """See `Checkpoints.whole`."""
        self._end = self._partitions.end(self._topic, self._partition)
        self._seen = seen = self._look()
        for name in sorted(seen.cores, reverse=True):
            try:
                yield self._checked(name)
            except CorruptState as exc:
                _log.warning("%s: %s: it is passed over", self.name, exc)

    def states(self, checkpoint: Checkpoint) -> Iterator[tuple[int, bytes]]:
        """See `Checkpoints.states`."""
        missing = set(_all_names(checkpoint))
        parts: defaultdict[_Name, dict[int, bytes]] = defaultdict(dict)
        for record in self._partitions.read(self._topic, self._partition, 0, self._end):
            found, piece = self._named(record), _piece(record)
            if found is None or piece is None or (name := found[0]) not in missing:
                continue
            parts[name][found[1]] = piece
            if len(parts[name]) == name.pieces:
                yield name.place, _joined(parts.pop(name))
                missing.discard(name)
        if missing:
            raise CorruptState(
                f"snapshot of event {checkpoint.version.seq}: site {min(missing).place} is gone"
            )

    def go_on_from(self, checkpoint: Checkpoint | None) -> bool:
        """See `Checkpoints.go_on_from`."""
        self._sites = list(checkpoint.sites) if checkpoint else []
        self._newest = next(
            (name for name in self._seen.cores if checkpoint and name.version == checkpoint.version), None
        )
        needed = set(_all_names(checkpoint)) if checkpoint else set()
        needed |= {self._newest} if self._newest else set()
        held = [name for name, pieces in (*self._seen.sites.items(), *self._seen.cores.items()) if pieces]
        self._deleted_next = [key for name in held if name not in needed for key in name.keys(self._identity)]
        self._deleted_next += self._seen.foreign
        self._seen = _Seen()
        return checkpoint is not None

    def forget(self) -> None:
        """See `Checkpoints.forget`."""
        for place, parts in enumerate(self._sites):
            self._deleted_next += self._keys(place, parts)
        self._sites = []

    def parts(self, place: int) -> int:
        """See `Checkpoints.parts`."""
        return len(self._sites[place]) if place < len(self._sites) else 0

    def write(self, cut: Cut, is_owner: Callable[[], bool]) -> Generator[None, None, Version]:
        """See `Checkpoints.write`."""
        version, sites = Version(self._log.epoch, cut.seq), list(self._sites)
        window = Window(self._partitions, self._topic, self._partition)
        deleted_next = [] if self._newest is None else list(self._newest.keys(self._identity))
        try:
            for place, body, is_added in cut.changed:
                assert place <= len(sites), f"site {place} of {len(sites)}: one was never written"
                before = sites[place] if place < len(sites) else ()
                if not is_added:
                    deleted_next += self._keys(place, before)
                at = Stored(version, _pieces(body))
                sites[place : place + 1] = [(*before, at) if is_added else (at,)]
                yield from self._write(window, _Name(version, place, at.pieces), body)
            yield from window.emptied()
            if not is_owner():
                raise LogAway("another process has these sites by now")
            written = set(window.written)  # again, where one of this number could not be made before
            for key in self._deleted_next:
                if key not in written:
                    yield from window.add(key, None)
            yield from window.emptied()
            body = Checkpoint(version, cut.core, sites).pack()
            newest = _Name(version, _CORE, _pieces(body))
            # It comes last also for compaction, which keeps it: else readers wait for an end that is gone.
            yield from self._write(window, newest, body)
            yield from window.emptied()
        except (OSError, GeneratorExit):
            self._deleted_next += window.written
            raise
        self._sites, self._newest, self._deleted_next = sites, newest, deleted_next
        return version

    def _keys(self, place: int, parts: Iterable[Stored]) -> Iterator[bytes]:
        return chain.from_iterable(name.keys(self._identity) for name in _names(place, parts))

    def _write(self, window: Window, name: _Name, body: bytes) -> Iterator[None]:
        for n, key in enumerate(name.keys(self._identity)):
            piece = body[n * PIECE_BYTES : (n + 1) * PIECE_BYTES]
            yield from window.add(key, _CRC.pack(_crc(key, piece)) + piece)

    def _look(self) -> _Seen:
        """Find what is there; of sites only where."""
        seen = _Seen()
        for record in self._partitions.read(self._topic, self._partition, 0, self._end):
            found = self._named(record)
            if found is None:
                seen.see_foreign(record)
            else:
                seen.see(*found, _piece(record))
        return seen

    def _named(self, record: Record) -> tuple[_Name, int] | None:
        """Return what a record is a piece of, and which; None of what is not of this log and format."""
        if record.key is None or len(record.key) != _KEY.size:
            return None
        mark, number, identity, epoch, seq, place, n, pieces = _KEY.unpack(record.key)
        if (mark, number, identity) != (_MARK, SNAPSHOT.number, self._identity):
            return None
        return _Name(Version(epoch, seq), place, pieces), n

    def _checked(self, name: _Name) -> Checkpoint:
        """Return a checkpoint.

        Raises
        ------
        CorruptState
            If something of it is missing or damaged, or its owner had lost the log by then.
        """
        said = f"snapshot of event {name.version.seq}, epoch {name.version.epoch}"
        found = self._seen.cores[name]
        if len(found) != name.pieces:
            raise CorruptState(f"{said}: is not whole")
        if not self._log.reached(*name.version):
            raise CorruptState(f"{said}: its owner had lost the log before")
        try:
            checkpoint = Checkpoint.unpacked(name.version, _joined(found))
        except (ValueError, TypeError, IndexError, zstandard.ZstdError) as exc:
            raise CorruptState(f"{said}: cannot be read: {exc}") from exc
        for part in _all_names(checkpoint):
            if len(self._seen.sites.get(part, ())) != part.pieces:
                raise CorruptState(f"{said}: site {part.place} is missing or damaged")
        return checkpoint


class OnBrokers(SnapshotPlace):
    """Keeps checkpoints in the topic itself."""

    def of(self, partitions: Partitions, topic: str, partition: int, log: LogState) -> Checkpoints:
        """See `SnapshotPlace.of`."""
        return SharedCheckpoints(partitions, topic, partition, log)

    def delete(self, topic: str, partition: int | None = None) -> None:
        """See `SnapshotPlace.delete`: there is nothing beside."""

    def collectors(self) -> list[Collector]:
        """See `SnapshotPlace.collectors`."""
        return []

    def close(self) -> None:
        """See `SnapshotPlace.close`."""


class Window:
    """Records on their way to the brokers, so many bytes at a time.

    Attributes
    ----------
    written
        Keys of the states among them.
    """

    def __init__(self, partitions: Partitions, topic: str, partition: int) -> None:
        self._partitions = partitions
        self._where = topic, partition
        self._flying: deque[tuple[Future[int], int]] = deque()
        self._bytes = 0
        self.written: list[bytes] = []

    def add(self, key: bytes, value: bytes | None) -> Iterator[None]:
        """Send a record, once there is room."""
        size = len(key) + len(value or b"")
        while self._flying and self._bytes + size > _IN_FLIGHT_BYTES:
            yield from self._oldest_done()
        self._flying.append((self._partitions.send(*self._where, key, value), size))
        self._bytes += size
        if value is not None:
            self.written.append(key)

    def emptied(self) -> Iterator[None]:
        """Wait until all are acknowledged."""
        while self._flying:
            yield from self._oldest_done()

    def _oldest_done(self) -> Iterator[None]:
        future, size = self._flying[0]
        try:
            future.result(_WAIT_S)
        except TimeoutError:
            yield
            return
        self._flying.popleft()
        self._bytes -= size


def _pieces(body: bytes) -> int:
    return max(1, -(-len(body) // PIECE_BYTES))


def _joined(pieces: dict[int, bytes]) -> bytes:
    return b"".join(piece for _, piece in sorted(pieces.items()))


def _piece(record: Record) -> bytes | None:
    """Return what a record holds; None if that was deleted or is damaged."""
    if len(record.value) < _CRC.size or record.key is None:
        return None
    piece = record.value[_CRC.size :]
    return piece if record.value[: _CRC.size] == _CRC.pack(_crc(record.key, piece)) else None


def _crc(key: bytes, piece: bytes) -> int:
    return zlib.crc32(piece, zlib.crc32(key))
