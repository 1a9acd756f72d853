"""What lies in the partition of a shard, and which of it counts.

Three kinds of records:

- a *marker* has no key. Its value is `formats.SEGMENT_HEADER` and msgpack of who wrote it, 16 random bytes,
  and whether all before it is void. Whoever takes a log over writes one first: its offset is the writer's
  *epoch*.
- a *frame* has the epoch of its writer as its key, 8 bytes, big endian. Its value is what a file would hold
  (`storage.frames`): one group of events, there as a whole or not at all.
- a *place* has `PLACE_KEY` as its key. Its value is `formats.SEGMENT_HEADER`, a checksum, and msgpack of a
  `LogState` that the log had at some record before. What comes first never changes, so that is true whoever
  wrote it and when. Who takes over a long log reads it from a place near its end.

A frame counts if the newest marker before it has the epoch that it carries. So a process that was taken for
dead, and writes on, changes nothing: what it writes comes after the marker of the next. The brokers order the
records, and no clock, lease or transaction is needed.
"""

from __future__ import annotations

import secrets
import struct
import zlib
from dataclasses import dataclass

import msgpack

from linkscore_scoring.errors import CorruptState
from linkscore_server.storage.formats import SEGMENT, SEGMENT_HEADER
from linkscore_server.storage.frames import EventFrame, only_frame

PLACE_KEY = b"place"
"""Key of places: none of a frame, so versions that know no places take them for frames that do not count."""

_EPOCH = struct.Struct(">q")
_CRC = struct.Struct(">I")
_ID_BYTES = 16  # so many random bytes are nowhere else


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it was read from a partition, and when it came: epoch seconds."""

    offset: int
    key: bytes | None
    value: bytes
    arrived_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Marker:
    """Begins an epoch.

    Attributes
    ----------
    id
        16 random bytes: that of the first marker of a log is the identity of the log.
    owner
        Who took the log over, for people.
    voids
        Whether all before it is void: the log begins anew.
    """

    id: bytes
    owner: str
    voids: bool = False

    @classmethod
    def of(cls, owner: str, *, voids: bool = False) -> Marker:
        """Return a new marker."""
        return cls(secrets.token_bytes(_ID_BYTES), owner, voids)

    def pack(self) -> bytes:
        """Return the value of its record."""
        packed: bytes = msgpack.packb([self.id, self.owner, self.voids])
        return SEGMENT_HEADER + packed


def key_of(epoch: int) -> bytes:
    """Return the key of the frames of an epoch."""
    return _EPOCH.pack(epoch)


class LogState:
    """Where a log stands after the records seen so far; see them in their order, from the first on.

    Parameters
    ----------
    name
        Of the partition, for people.

    Attributes
    ----------
    offset
        Of the next record.
    epoch
        Offset of the newest marker, -1 before there is one.
    seq
        Number of the last event that counts.
    identity
        Of the log, in hexadecimal: another one if it was begun anew.
    stale
        Frames that did not count.
    epochs
        Each with the number of the last event before it.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.offset = 0
        self.epoch = -1
        self.seq = 0
        self.identity = ""
        self.stale = 0
        self.epochs: tuple[tuple[int, int], ...] = ()

    def copy(self) -> LogState:
        """Return one that stands at the same place."""
        other = LogState(self.name)
        other.__dict__.update(self.__dict__)
        return other

    def see(self, record: Record) -> EventFrame | None:
        """Go on by a record; return its frame if it is one that counts.

        Raises
        ------
        CorruptState
            If it is damaged or not of this format, or events are missing before it, naming its offset.
        """
        self.offset = record.offset + 1
        if record.key is None:
            self._begin(record)
            return None
        if record.key == PLACE_KEY:
            return None
        if record.key != key_of(self.epoch):
            self.stale += 1
            return None
        frame = only_frame(memoryview(record.value), self._place(record))
        if frame.first_seq <= self.seq:
            self.stale += 1  # a repeat
            return None
        if frame.first_seq != self.seq + 1:
            raise CorruptState(
                f"{self._place(record)}: event {frame.first_seq} where {self.seq + 1} should be"
            )
        self.seq = frame.last_seq
        return frame

    def _begin(self, record: Record) -> None:
        if record.value[: len(SEGMENT_HEADER)] != SEGMENT_HEADER:
            raise CorruptState(
                f"{self._place(record)}: no record of a linkscore log of format {SEGMENT.number}"
            )
        try:
            marker = Marker(*msgpack.unpackb(record.value[len(SEGMENT_HEADER) :]))
            identity = marker.id.hex()
        except (ValueError, TypeError, AttributeError) as exc:
            raise CorruptState(f"{self._place(record)}: no marker of a linkscore log") from exc
        self.epoch = record.offset
        if marker.voids or not self.identity:
            self.seq, self.identity, self.epochs = 0, identity, ()
        self.epochs = (*self.epochs, (record.offset, self.seq))

    def pack(self) -> bytes:
        """Return the value of its record, a place."""
        rows = [self.offset, self.epoch, self.seq, self.identity, self.stale, self.epochs]
        packed: bytes = msgpack.packb(rows)
        return SEGMENT_HEADER + _CRC.pack(zlib.crc32(packed)) + packed

    @classmethod
    def unpacked(cls, name: str, value: bytes) -> LogState | None:
        """Return the state that a place tells of, None if it is damaged or not of this format."""
        start = len(SEGMENT_HEADER) + _CRC.size
        packed = value[start:]
        if value[:start] != SEGMENT_HEADER + _CRC.pack(zlib.crc32(packed)):
            return None
        state = cls(name)
        try:
            state.offset, state.epoch, state.seq, state.identity, state.stale, found = msgpack.unpackb(packed)
            state.epochs = tuple((offset, seq) for offset, seq in found)
        except (ValueError, TypeError):
            return None
        return state

    def reached(self, epoch: int, seq: int) -> bool:
        """Say whether an event was the last one, at some moment of an epoch."""
        begins = dict(self.epochs)
        ends = [*(begun for _, begun in self.epochs[1:]), self.seq]
        return epoch in begins and begins[epoch] <= seq <= ends[list(begins).index(epoch)]

    def _place(self, record: Record) -> str:
        return f"{self.name} at offset {record.offset}"
