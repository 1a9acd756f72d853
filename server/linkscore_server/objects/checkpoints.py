"""Snapshots of a log as objects; its topic of snapshots keeps pointers to them.

A checkpoint (see `storage.kafka.checkpoints`) is some *packs*, objects with parts of the sites that changed,
a *list*, the object with what it keeps beside and with the packs of each site's parts, and last a record, its
*pointer*: name, size and checksum of the list and of every pack that a part of it is in. Without that record
it is none.

No object is ever changed, and none has the name of another: `TOPIC/PARTITION/IDENTITY/EPOCH-N`, with the
identity of the log and the epoch of its owner. The newest pointer and the one before stay, with their
objects. The owner of the log deletes all others once a new pointer is there: what it wrote, and what it finds
when it writes its first. It never deletes those of a later epoch, whose owner has the log by now.

A site that no event reaches any more stays in its packs. So that there are few, and half of their bytes are
needed, the sites of some are written again: see `_written_again`.
"""

from __future__ import annotations

import itertools
import logging
import re
import struct
import time
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from io import BytesIO
from itertools import chain
from math import fsum
from typing import NamedTuple, TypeVar

import msgpack
import zstandard

from linkscore_scoring.errors import CorruptState
from linkscore_server.objects.store import AT_ONCE, PIECE_BYTES, Objects, Written
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.formats import SNAPSHOT
from linkscore_server.storage.kafka.checkpoints import Window
from linkscore_server.storage.kafka.records import LogState
from linkscore_server.storage.kafka.snapshots import (
    Checkpoint,
    Checkpoints,
    Cut,
    Part,
    Partitions,
    Stored,
    Version,
)

_KEY = struct.Struct(">2sH16sqq")
_MARK = b"LO"
_CRC = struct.Struct(">I")
_NAME = re.compile(r"(\d+)-\d+")
MOST_PACKS = 128
"""Packs of a checkpoint: a takeover asks for each. A bound, chosen: a pointer of them is 10 KB."""
_TAKE_S = 30.0
"""How long a takeover waits for objects of few bytes, as for a request; then it replays the log. Chosen."""
_SLOWEST = 1 << 19
"""Bytes for which it waits a second more: a replay makes 7e5 bytes of states a second (3,000 generated pages
of 7 sites), so it takes longer than a store that gives more than this."""
_WAIT_S = 0.01  # as of checkpoints on the brokers: then events have their turn
_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class Number(NamedTuple):
    """Of an object: the epoch of its owner, and how many that one had written."""

    epoch: int
    n: int


class Pack(NamedTuple):
    """An object with so many parts of sites."""

    object: Written
    parts: int


class Pointer(NamedTuple):
    """Names the objects of a checkpoint: its list, and the packs that it needs."""

    listed: Written
    packs: dict[Number, Pack]

    def pack(self, key: bytes) -> bytes:
        """Return the value of its record."""
        packs = [[*number, *pack.object, pack.parts] for number, pack in self.packs.items()]
        body: bytes = msgpack.packb([self.listed, packs])
        return _CRC.pack(zlib.crc32(body, zlib.crc32(key))) + body

    @classmethod
    def unpacked(cls, key: bytes, value: bytes) -> Pointer:
        """Return the pointer of a record.

        Raises
        ------
        CorruptState
            If it is damaged.
        """
        body = value[_CRC.size :]
        if value[: _CRC.size] != _CRC.pack(zlib.crc32(body, zlib.crc32(key))):
            raise CorruptState("its record does not fit its checksum")
        try:
            listed, packs = msgpack.unpackb(body)
            found = {Number(epoch, n): Pack(Written(*of), parts) for epoch, n, *of, parts in packs}
            return cls(Written(*listed), found)
        except (ValueError, TypeError) as exc:
            raise CorruptState(f"its record cannot be read: {exc}") from exc

    def names(self) -> set[str]:
        """Return the names of its objects."""
        return {self.listed.name, *(pack.object.name for pack in self.packs.values())}


class ObjectCheckpoints(Checkpoints):
    """The checkpoints of one log.

    Parameters
    ----------
    objects
        Keeps them.
    before
        Those on the brokers, of a time without objects: read, and deleted once two of these are there.
    partitions
        Keeps pointers.
    topic, partition
        Where.
    log
        The log as its new owner has read it.
    """

    def __init__(
        self,
        objects: Objects,
        before: Checkpoints,
        partitions: Partitions,
        topic: str,
        partition: int,
        log: LogState,
    ) -> None:
        self._objects, self._before, self._partitions = objects, before, partitions
        self._topic, self._partition = topic, partition
        self._log = log.copy()
        self._shard = folder_of(topic, partition)
        self._folder = f"{self._shard}{log.identity}/"
        # What another crawl of this name left goes when this one is new: nobody has its log any more.
        self._cleaned = self._folder if log.seq else self._shard
        self._found: dict[Version, bytes] = {}  # values of pointers
        self._read_bytes, self._waited_s = 0, 0.0  # of objects, since somebody asked for all checkpoints
        self._old: set[bytes] = set()  # keys of records that are none
        self._newest: Version | None = None  # which stays when the next one is there
        self._sites: list[tuple[Number, ...]] = []  # packs of the parts of each, by place
        self._packs: dict[Number, Pack] = {}
        self._numbers = map(Number, itertools.repeat(log.epoch), itertools.count())
        self._there: set[str] = set()  # names of objects that may be deleted some day
        self._has_looked = False  # whether these are all

    @property
    def name(self) -> str:
        """See `Checkpoints.name`."""
        return f"{self._topic} [{self._partition}] at {self._objects.url}"

    def whole(self) -> Iterator[Checkpoint]:
        """See `Checkpoints.whole`; a store that is slower than a replay counts as away."""
        self._look()
        self._read_bytes, self._waited_s = 0, 0.0
        for version in sorted(self._found, reverse=True):
            try:
                yield self._checked(version)
            except CorruptState as exc:
                said = f"snapshot of event {version.seq}, epoch {version.epoch}"
                _log.warning("%s: %s: %s: it is passed over", self.name, said, exc)
        if self._old:
            yield from self._before.whole()

    def states(self, checkpoint: Checkpoint) -> Iterator[tuple[int, bytes]]:
        """See `Checkpoints.states`."""
        if checkpoint.version not in self._found:
            yield from self._before.states(checkpoint)
            return
        sites = _numbers_of(checkpoint)
        missing = {(number, place) for place, parts in enumerate(sites) for number in parts}
        for number, pack in sorted(self._pointer(checkpoint.version).packs.items()):
            parts = BytesIO(self._get(pack.object))
            for place, body in msgpack.Unpacker(parts, max_buffer_size=0):
                if (number, place) in missing:
                    missing.discard((number, place))
                    yield place, body
        if missing:
            place = min(place for _, place in missing)
            raise CorruptState(f"snapshot of event {checkpoint.version.seq}: site {place} is gone")

    def go_on_from(self, checkpoint: Checkpoint | None) -> bool:
        """See `Checkpoints.go_on_from`."""
        self.forget()
        if checkpoint is None or checkpoint.version not in self._found:
            self._newest = max((found for found in self._found if self._log.reached(*found)), default=None)
            return False
        self._newest = checkpoint.version
        self._sites, self._packs = _numbers_of(checkpoint), self._pointer(checkpoint.version).packs
        return True

    def forget(self) -> None:
        """See `Checkpoints.forget`."""
        self._sites, self._packs = [], {}

    def parts(self, place: int) -> int:
        """See `Checkpoints.parts`."""
        return len(self._sites[place]) if place < len(self._sites) else 0

    def write(self, cut: Cut, is_owner: Callable[[], bool]) -> Generator[None, None, Version]:
        """See `Checkpoints.write`."""
        version, sites, packs = Version(self._log.epoch, cut.seq), list(self._sites), dict(self._packs)
        yield from self._put_parts(cut.changed, sites, packs)
        yield from self._put_parts(map(cut.whole, _written_again(sites, packs)), sites, packs)
        needed = set(chain.from_iterable(sites))
        stored = [tuple(Stored(Version(*number), 1) for number in parts) for parts in sites]
        body = Checkpoint(version, cut.core, stored).pack()
        listed = yield from _done(self._put(next(self._numbers), body))
        pointer = Pointer(listed, {number: pack for number, pack in packs.items() if number in needed})
        if not is_owner():
            raise LogAway("another process has these sites by now")
        before = self._names_of(self._newest)
        yield from self._point(version, pointer)
        self._sites, self._packs = sites, pointer.packs
        yield from self._clean(before | pointer.names())
        return version

    def _put_parts(
        self, parts: Iterable[Part], sites: list[tuple[Number, ...]], packs: dict[Number, Pack]
    ) -> Generator[None, None, None]:
        """Write parts of sites, some packs at a time, and note where each is."""
        flying: deque[tuple[Number, Future[Written], int]] = deque()

        def oldest() -> Generator[None, None, None]:
            number, future, size = flying.popleft()
            packs[number] = Pack((yield from _done(future)), size)

        for some in _packfuls(parts):
            if len(flying) == AT_ONCE:
                yield from oldest()
            number = next(self._numbers)
            for place, _, is_added in some:
                assert place <= len(sites), f"site {place} of {len(sites)}: one was never written"
                sites[place : place + 1] = [(*sites[place], number) if is_added else (number,)]
            body = b"".join(msgpack.packb([part.place, part.body]) for part in some)
            flying.append((number, self._put(number, body), len(some)))
        while flying:
            yield from oldest()

    def _put(self, number: Number, body: bytes) -> Future[Written]:
        """Begin to write an object."""
        name = f"{self._folder}{number.epoch}-{number.n}"
        self._there.add(name)
        return self._objects.begin(self._objects.put, name, body)

    def _point(self, version: Version, pointer: Pointer) -> Iterator[None]:
        """Write a pointer, after those before the newest were deleted."""
        window = Window(self._partitions, self._topic, self._partition)
        gone = {self._key(of) for of in self._found if of not in (self._newest, version)}
        for key in gone | self._old if self._newest else gone:
            yield from window.add(key, None)
        yield from window.emptied()
        # It comes last also for compaction, which keeps it: else readers wait for an end that is gone.
        key = self._key(version)
        yield from window.add(key, value := pointer.pack(key))
        yield from window.emptied()
        if self._newest:
            self._old.clear()
        self._found = {of: found for of, found in self._found.items() if of == self._newest} | {
            version: value
        }
        self._newest = version

    def _clean(self, needed: set[str]) -> Iterator[None]:
        """Delete the objects that no pointer needs; what fails is tried again with the next checkpoint."""
        try:
            if not self._has_looked:
                found = yield from _done(self._objects.begin(self._objects.names, self._cleaned))
                self._there |= set(filter(self._is_left_over, found))
                self._has_looked = True
            yield from _done(self._objects.begin(self._objects.delete, sorted(self._there - needed)))
            self._there &= needed
        except OSError as exc:
            _log.warning("%s: what no snapshot needs is not deleted: %s", self.name, exc)

    def _is_left_over(self, name: str) -> bool:
        """Say whether an object is of this owner, of one before it, or of a log before this one."""
        found = _NAME.fullmatch(name.rpartition("/")[2])
        return found is not None and (int(found[1]) <= self._log.epoch or not name.startswith(self._folder))

    def _names_of(self, version: Version | None) -> set[str]:
        try:
            return self._pointer(version).names() if version else set()
        except CorruptState:
            return set()

    def _look(self) -> None:
        """Find the pointers, and what is none."""
        self._found.clear()
        self._old.clear()
        end = self._partitions.end(self._topic, self._partition)
        for record in self._partitions.read(self._topic, self._partition, 0, end):
            if record.key is None:
                continue
            version = self._version_of(record.key)
            if version is None:
                self._old.add(record.key) if record.value else self._old.discard(record.key)
            elif record.value:
                self._found[version] = record.value
            else:
                self._found.pop(version, None)

    def _get(self, object_: Written) -> bytes:
        """Read an object as `Objects.get` does, as long as that is quicker than a replay."""
        began_s = time.monotonic()
        body = self._objects.get(object_)
        self._waited_s += time.monotonic() - began_s
        self._read_bytes += len(body)
        if self._waited_s > _TAKE_S + self._read_bytes / _SLOWEST:
            raise LogAway(f"{self._read_bytes} bytes took {self._waited_s:.0f} s")
        return body

    def _key(self, version: Version) -> bytes:
        return _KEY.pack(_MARK, SNAPSHOT.number, bytes.fromhex(self._log.identity), *version)

    def _version_of(self, key: bytes) -> Version | None:
        """Return which pointer of this log and format a record is, None if it is none."""
        if len(key) != _KEY.size:
            return None
        version = Version(*_KEY.unpack(key)[-2:])
        return version if key == self._key(version) else None

    def _pointer(self, version: Version) -> Pointer:
        return Pointer.unpacked(self._key(version), self._found[version])

    def _checked(self, version: Version) -> Checkpoint:
        """Return a checkpoint, whose packs nobody has looked at.

        Raises
        ------
        CorruptState
            If its pointer or list is damaged or gone, or its owner had lost the log by then.
        LogAway
            If the store does not answer, or too slowly.
        """
        if not self._log.reached(*version):
            raise CorruptState("its owner had lost the log before")
        body = self._get(self._pointer(version).listed)
        try:
            return Checkpoint.unpacked(version, body)
        except (ValueError, TypeError, IndexError, zstandard.ZstdError) as exc:
            raise CorruptState(f"its list cannot be read: {exc}") from exc


def folder_of(topic: str, partition: int | None = None) -> str:
    """Return the folder of the objects of a topic, or of one of its partitions."""
    return f"{topic}/" if partition is None else f"{topic}/{partition}/"


def _numbers_of(checkpoint: Checkpoint) -> list[tuple[Number, ...]]:
    """Return the packs of each site's parts: a list has their numbers in place of versions."""
    return [tuple(Number(*part.version) for part in parts) for parts in checkpoint.sites]


def _written_again(sites: Sequence[Sequence[Number]], packs: Mapping[Number, Pack]) -> list[int]:
    """Return places of sites to be written anew, so that some packs need not stay.

    A pack goes while there are more than `MOST_PACKS`, the one that fewest sites need, or while less than
    half of the bytes of all are needed, the one with most others; parts of a pack are taken for alike.
    """
    left: dict[Number, set[int]] = {}
    for place, parts in enumerate(sites):
        for number in parts:
            left.setdefault(number, set()).add(place)
    again: set[int] = set()
    while True:
        live = {number: len(places - again) / packs[number].parts for number, places in left.items()}
        left = {number: places for number, places in left.items() if live[number]}
        size = {number: packs[number].object.size for number in left}
        unneeded = {number: size[number] * (1 - live[number]) for number in left}
        if 2 * fsum(unneeded.values()) > sum(size.values()):
            again |= left[max(unneeded, key=unneeded.__getitem__)]
        elif len(left) > MOST_PACKS:
            again |= left[min(left, key=lambda number: len(left[number]))]
        else:
            return sorted(again)


def _packfuls(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Yield as many parts at a time as make an object."""
    some: list[Part] = []
    size = 0
    for part in parts:
        some.append(part)
        size += len(part.body)
        if size >= PIECE_BYTES:
            yield some
            some, size = [], 0
    if some:
        yield some


def _done(future: Future[_T]) -> Generator[None, None, _T]:
    """Return what comes of a call; yields whenever it was waited for."""
    while not wait([future], _WAIT_S).done:
        yield
    return future.result()
