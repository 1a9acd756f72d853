"""Frames: how a group of events lies in a log file.

A segment starts with the 8 bytes of `formats.SEGMENT_HEADER`. Then come frames, each a header of 28 bytes
and a payload::

    magic u32 | payload length u32 | number of events u32 | first sequence number u64 | payload crc32 | header
    crc32

All numbers are big endian; the payload is a zstd frame of a msgpack array of the events. One frame is one
group commit: it is there as a whole or not at all.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from threading import local
from typing import NamedTuple

import msgpack
import zstandard

from linkscore_scoring.errors import CorruptState, LimitExceeded
from linkscore_server.storage.formats import SEGMENT, SEGMENT_HEADER

_MAGIC = 0x4C53464D  # "LSFM"
_HEADER = struct.Struct(">IIIQI")
_CRC = struct.Struct(">I")
_WHOLE_HEADER = struct.Struct(">IIIQII")
HEADER_BYTES = _WHOLE_HEADER.size
_LEVEL = 1  # of zstd, the fastest: it runs while callers wait
_SECTOR = 512  # what disks write as a whole, at least
_of_thread = local()
_MOST_BYTES = (
    1 << 30
)  # of the events of a frame: ten times a call of 64 MB, and what an import can cost. A bound.
_FEW = 8  # shorter rests of a sector may be zeros by chance


class EventFrame(NamedTuple):
    """A frame found in a segment: where it lies, the number of its first event, and how many it holds."""

    start: int
    end: int
    first_seq: int
    events: int

    @property
    def last_seq(self) -> int:
        """Number of the frame's last event."""
        return self.first_seq + self.events - 1


def pack(first_seq: int, events: Sequence[bytes]) -> bytes:
    """Return the frame of some events.

    Raises
    ------
    LimitExceeded
        If they are more than `unpack` reads back.
    """
    plain = msgpack.packb(list(events))
    if len(plain) > _MOST_BYTES:
        raise LimitExceeded(
            f"{len(plain):,} bytes of events, a frame of the log holds 1 GiB: send fewer pages"
        )
    payload = _compressor().compress(plain)
    header = _HEADER.pack(_MAGIC, len(payload), len(events), first_seq, zlib.crc32(payload))
    return header + _CRC.pack(zlib.crc32(header)) + payload


def _compressor() -> zstandard.ZstdCompressor:
    """Return that of this thread: making one takes longer than compressing a page with it."""
    if not hasattr(_of_thread, "compressor"):
        _of_thread.compressor = zstandard.ZstdCompressor(level=_LEVEL)
    made: zstandard.ZstdCompressor = _of_thread.compressor
    return made


def unpack(data: memoryview, frame: EventFrame) -> list[bytes]:
    """Return the events of a frame found by `frames`.

    Raises
    ------
    CorruptState
        If it says that its events are more than a frame can hold, or does not say how many bytes they are.
    """
    payload = data[frame.start + HEADER_BYTES : frame.end]
    if not 0 <= zstandard.frame_content_size(payload) <= _MOST_BYTES:
        raise CorruptState(f"a frame at offset {frame.start:,}: its events have no size, or over 1 GiB")
    events: list[bytes] = msgpack.unpackb(zstandard.ZstdDecompressor().decompress(payload))
    return events


def only_frame(data: memoryview, place: str) -> EventFrame:
    """Return the frame that data consists of.

    Raises
    ------
    CorruptState
        If it is damaged, or not one frame, naming the place.
    """
    frame = _frame_at(data, 0)
    if frame is None or frame.end != len(data):
        raise CorruptState(f"{place}: damaged frame (checksum or length does not fit)")
    return frame


def frames(data: memoryview, name: str, *, is_last: bool, start: int = 0) -> Iterator[EventFrame]:
    """Yield the frames of a segment, from the first or from the one at offset `start`.

    A last segment may end in a torn frame, which was never acknowledged: it is left out. Torn is a frame
    that the file does not hold in full length, or of which a disk sector was never written (it reads as
    zeros); one that is all there and does not fit its checksum was acknowledged once, and is damaged.

    Raises
    ------
    CorruptState
        If anything else is wrong, naming the file and the offset.
    """
    if bytes(data[: len(SEGMENT_HEADER)]) != SEGMENT_HEADER:
        found = data[5:8] if bytes(data[:5]) == SEGMENT_HEADER[:5] else b""
        says = f"; it says format {int.from_bytes(found, 'big')}" if found else ""
        raise CorruptState(
            f"{name} at offset 0: not a linkscore log of format {SEGMENT.number}{says}; "
            "see `linkscore data check`"
        )
    at = start or len(SEGMENT_HEADER)
    while at < len(data):
        frame = _frame_at(data, at)
        if frame is None:
            if is_last and _is_torn(data, at) and not _any_frame_after(data, at + 1):
                return
            raise CorruptState(f"{name} at offset {at}: damaged frame (checksum or length does not fit)")
        yield frame
        at = frame.end


def _frame_at(data: memoryview, at: int) -> EventFrame | None:
    """Return the frame that starts here, None if there is no whole and sound one."""
    header = _header_at(data, at)
    if header is None:
        return None
    length, count, first_seq, crc = header
    end = at + HEADER_BYTES + length
    if end > len(data) or zlib.crc32(data[at + HEADER_BYTES : end]) != crc:
        return None
    return EventFrame(at, end, first_seq, count)


def _header_at(data: memoryview, at: int) -> tuple[int, int, int, int] | None:
    if at + HEADER_BYTES > len(data):
        return None
    magic, length, count, first_seq, crc, own_crc = _WHOLE_HEADER.unpack_from(data, at)
    is_sound = magic == _MAGIC and own_crc == zlib.crc32(data[at : at + _HEADER.size])
    return (length, count, first_seq, crc) if is_sound else None


def _is_torn(data: memoryview, at: int) -> bool:
    """Say whether the frame that starts here was only written in part."""
    header = _header_at(data, at)
    if len(data) - at < HEADER_BYTES or (header is not None and at + HEADER_BYTES + header[0] > len(data)):
        return True
    starts = [at, *range((at // _SECTOR + 1) * _SECTOR, len(data), _SECTOR)]
    parts = (bytes(data[start:end]) for start, end in zip(starts, [*starts[1:], len(data)], strict=True))
    return any(len(part) >= _FEW and not any(part) for part in parts)


def _any_frame_after(data: memoryview, at: int) -> bool:
    """Say whether a sound header follows: then what is damaged is the body of the log, not its torn end."""
    magic = _CRC.pack(_MAGIC)
    raw = bytes(data[at:])
    found = raw.find(magic)
    while found >= 0:
        if _header_at(data, at + found) is not None:
            return True
        found = raw.find(magic, found + 1)
    return False
