"""Frames: the pieces of an archive that are decompressed each on its own, and the bytes they are read from.

An archive compressed by record has a gzip member or a zstd frame for each record, so that one can be read
without the others; a plain file is one frame. A frame that cannot be decompressed costs what it holds:
reading goes on at the next one that holds a record.

Sources: RFC 1952 (gzip members); RFC 8878 (zstd); IIPC, "Zstandard for WARC", 2020 (``.warc.zst``): a first
skippable frame with magic 0x184D2A5D holds the dictionary of all frames, plain or itself compressed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import zstandard

from linkscore_lab.archives.record import BrokenFrame

# Bytes read and decompressed at a time: some pages of HTML. Chosen, not measured.
BLOCK_BYTES = 1 << 16


class ByteSource:
    """Bytes of an archive file, or of a file stored inside another one.

    Keeps one block, so memory does not depend on the file. Offsets count from the start of the span.

    Parameters
    ----------
    name
        What to call the file in reports of damage.
    file
        An open file that can seek.
    start, size
        The span: first byte and number of bytes; None is all there is.
    """

    def __init__(self, name: str, file: BinaryIO, start: int = 0, size: int | None = None) -> None:
        self.name = name
        self._file, self._start = file, start
        self.size = file.seek(0, 2) - start if size is None else size
        self._at, self._block = 0, b""

    def read(self, offset: int) -> bytes:
        """Return at most a block from `offset`, whatever is at hand; empty only at the end."""
        ahead = offset - self._at
        if not 0 <= ahead < len(self._block):
            self._load(offset)
            ahead = 0
        return self._block[ahead:]

    def head(self, offset: int, size: int) -> bytes:
        """Return `size` bytes (at most a block) from `offset`, fewer only at the end."""
        data = self.read(offset)
        if len(data) < size:
            self._load(offset)
            data = self._block
        return data[:size]

    def find(self, needle: bytes, offset: int) -> int:
        """Return where `needle` is next found from `offset`, or -1."""
        while data := self.head(offset, BLOCK_BYTES):
            found = data.find(needle)
            if found >= 0:
                return offset + found
            offset += max(len(data) - len(needle) + 1, 1)
        return -1

    def _load(self, offset: int) -> None:
        self._file.seek(self._start + offset)
        self._at, self._block = offset, self._file.read(max(0, min(BLOCK_BYTES, self.size - offset)))


GZIP_MAGIC = b"\x1f\x8b\x08"
_RECORD_START = b"WARC/"


def gzip_frames(source: ByteSource) -> Iterator[tuple[int, Iterator[bytes]]]:
    """Yield offset and decompressed chunks of each member (RFC 1952)."""
    offset = 0
    while offset < source.size:
        member = _Member(source, offset)
        yield offset, member.chunks()
        offset = member.end()


class _Member:
    """One gzip member; a bound on each chunk keeps a bomb small."""

    def __init__(self, source: ByteSource, offset: int) -> None:
        self._source, self._start = source, offset
        self._at = offset
        self._stream = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def chunks(self) -> Iterator[bytes]:
        while not self._stream.eof:
            data = self._source.read(self._at)
            if not data:
                raise BrokenFrame("gzip member is cut off")
            try:
                out = self._stream.decompress(data, BLOCK_BYTES)
            except zlib.error as error:
                raise BrokenFrame(f"corrupt gzip member: {error}") from None
            # At the end both hold the rest, or only the second.
            left = self._stream.unused_data if self._stream.eof else self._stream.unconsumed_tail
            self._at += len(data) - len(left)
            if out:
                yield out

    def end(self) -> int:
        """Return where the next member begins; what the reader left of this one is read over."""
        try:
            for _ in self.chunks():
                pass
        except BrokenFrame:
            return _next_record(self._source, self._start + 1)
        return self._at


def _next_record(source: ByteSource, offset: int) -> int:
    """Return where the next member begins that holds a record; the three bytes alone also occur by chance."""
    while (found := source.find(GZIP_MAGIC, offset)) >= 0:
        if _starts_record(source.head(found, BLOCK_BYTES)):
            return found
        offset = found + 1
    return source.size


def _starts_record(data: bytes) -> bool:
    try:
        start = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, len(_RECORD_START))
    except zlib.error:
        return False
    return start == _RECORD_START


ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_DICTIONARY_MAGIC = b"\x5d\x2a\x4d\x18"
# RFC 8878, section 3.1.2: four bytes of magic, four of length.
_SKIPPABLE_HEAD_BYTES = 8
# A call cannot be bounded, and four bytes may stand for 128 KB: this much input is 64 MB at the very most.
_INPUT_BYTES = 1 << 11
# A bound on memory: 128 MB, the largest window of `zstd --ultra --long` that decompresses without a flag.
_WINDOW_BYTES = 1 << 27
# A bound: `zstd --train` makes dictionaries of 110 KB.
_MAX_DICTIONARY_BYTES = 1 << 24


def is_skippable(head: bytes) -> bool:
    """Whether a frame that starts with `head` only carries data about the others."""
    return head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5


def zstd_frames(source: ByteSource) -> Iterator[tuple[int, Iterator[bytes]]]:
    """Yield offset and decompressed chunks of each frame; skippable frames are none of them."""
    # One for all frames, read one after the other: each has a window of up to `_WINDOW_BYTES`.
    decompressor = _decompressor(_read_dictionary(source))
    offset = 0
    while offset < source.size:
        head = source.head(offset, _SKIPPABLE_HEAD_BYTES)
        after = offset + _SKIPPABLE_HEAD_BYTES + _skippable_length(head)
        if is_skippable(head) and _begins_frame(source, after):
            offset = after
            continue
        frame = _ZstdFrame(source, offset, decompressor)
        yield offset, frame.chunks()
        offset = frame.end()


class _ZstdFrame:
    def __init__(self, source: ByteSource, offset: int, decompressor: zstandard.ZstdDecompressor) -> None:
        self._source, self._start, self._decompressor = source, offset, decompressor
        self._at = offset
        self._stream = decompressor.decompressobj()

    def chunks(self) -> Iterator[bytes]:
        if is_skippable(self._source.head(self._start, len(ZSTD_MAGIC))):
            raise BrokenFrame("corrupt zstd frame: a skippable frame that does not lead to another one")
        while not self._stream.eof:
            data = self._source.read(self._at)[:_INPUT_BYTES]
            if not data:
                raise BrokenFrame("zstd frame is cut off")
            try:
                out = self._stream.decompress(data)
            except zstandard.ZstdError as error:
                raise BrokenFrame(f"corrupt zstd frame: {error}") from None
            taken = len(data) - len(self._stream.unused_data)
            if not taken:  # the library calls what it cannot make sense of an empty frame
                raise BrokenFrame("corrupt zstd frame: nothing in it can be read")
            self._at += taken
            if out:
                yield out

    def end(self) -> int:
        """Return where the next frame begins; what the reader left of this one is read over."""
        try:
            for _ in self.chunks():
                pass
        except BrokenFrame:
            return self._next_record(self._start + 1)
        return self._at

    def _next_record(self, offset: int) -> int:
        while (found := self._source.find(ZSTD_MAGIC, offset)) >= 0:
            if self._starts_record(found):
                return found
            offset = found + 1
        return self._source.size

    def _starts_record(self, offset: int) -> bool:
        start = _ZstdFrame(self._source, offset, self._decompressor).chunks()
        try:
            return next(start, b"").startswith(_RECORD_START)
        except BrokenFrame:
            return False


def _begins_frame(source: ByteSource, offset: int) -> bool:
    head = source.head(offset, len(ZSTD_MAGIC))
    return offset == source.size or head == ZSTD_MAGIC or is_skippable(head)


def _decompressor(dictionary: zstandard.ZstdCompressionDict | None) -> zstandard.ZstdDecompressor:
    if dictionary is None:
        return zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
    return zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=_WINDOW_BYTES)


def _read_dictionary(source: ByteSource) -> zstandard.ZstdCompressionDict | None:
    """Return the dictionary at the start of the file; None when there is none, or none that can be read."""
    head = source.head(0, _SKIPPABLE_HEAD_BYTES)
    if not head.startswith(_DICTIONARY_MAGIC) or _skippable_length(head) > _MAX_DICTIONARY_BYTES:
        return None
    data = bytearray()
    while len(data) < _skippable_length(head) and (piece := source.read(_SKIPPABLE_HEAD_BYTES + len(data))):
        data += piece
    content = bytes(data[: _skippable_length(head)])
    if content.startswith(ZSTD_MAGIC):
        content = _expand(content)
    return zstandard.ZstdCompressionDict(content) if content else None


def _expand(content: bytes) -> bytes:
    try:
        return zstandard.ZstdDecompressor().decompress(content, max_output_size=_MAX_DICTIONARY_BYTES)
    except zstandard.ZstdError:
        return b""


def _skippable_length(head: bytes) -> int:
    return int.from_bytes(head[4:8], "little")


_SUFFIXES = {".gz": gzip_frames, ".zst": zstd_frames}


@dataclass(frozen=True, slots=True)
class ArchiveFrame:
    """One frame.

    Attributes
    ----------
    offset
        Where it begins.
    chunks
        Its bytes, decompressed; ends with `BrokenFrame` when they cannot be had.
    compressed
        Whether places inside it have no offset of their own.
    """

    offset: int
    chunks: Iterator[bytes]
    compressed: bool

    def offset_of(self, position: int) -> int:
        """Return the offset of the file that stands for byte `position` of the frame."""
        return self.offset if self.compressed else self.offset + position


def frames(source: ByteSource) -> Iterator[ArchiveFrame]:
    """Split a source into its frames; each is read before the next is asked for.

    The format is told by the first bytes and, when they are damaged, by the suffix of the name.
    """
    reader = _reader(source)
    if reader is None:
        yield ArchiveFrame(0, _blocks(source), compressed=False)
        return
    for offset, chunks in reader(source):
        yield ArchiveFrame(offset, chunks, compressed=True)


def _reader(source: ByteSource) -> Callable[[ByteSource], Iterator[tuple[int, Iterator[bytes]]]] | None:
    head = source.head(0, 8)
    if head.startswith(GZIP_MAGIC):
        return gzip_frames
    if head.startswith(ZSTD_MAGIC) or is_skippable(head):
        return zstd_frames
    if head.startswith(b"WARC/"):
        return None
    return next((reader for suffix, reader in _SUFFIXES.items() if source.name.endswith(suffix)), None)


def _blocks(source: ByteSource) -> Iterator[bytes]:
    offset = 0
    while block := source.read(offset):
        yield block
        offset += len(block)
