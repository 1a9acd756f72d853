"""Frames of a zstd file, one by one, with the dictionary an archive may carry at its start.

Source: RFC 8878; IIPC, "Zstandard for WARC", 2020 (``.warc.zst``): a first skippable frame with magic
0x184D2A5D holds the dictionary of all frames, plain or itself compressed.
"""

from __future__ import annotations

from collections.abc import Iterator

import zstandard

from linkscore_lab.archives.record import BrokenFrame
from linkscore_lab.archives.source import Source

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_DICTIONARY_MAGIC = b"\x5d\x2a\x4d\x18"
_SKIPPABLE_HEAD_BYTES = 8
# A call cannot be bounded, and four bytes may stand for 128 KB: this much input is 64 MB at the very most.
_INPUT_BYTES = 1 << 11
_WINDOW_BYTES = 1 << 27
_MAX_DICTIONARY_BYTES = 1 << 24
_RECORD_START = b"WARC/"


def is_skippable(head: bytes) -> bool:
    """Whether a frame that starts with `head` only carries data about the others."""
    return head[1:4] == b"\x2a\x4d\x18" and head[0] >> 4 == 5


def zstd_frames(source: Source) -> Iterator[tuple[int, Iterator[bytes]]]:
    """Yield offset and decompressed chunks of each frame; skippable frames are none of them."""
    # One for all frames, read one after the other: each has a window of up to `_WINDOW_BYTES`.
    decompressor = _decompressor(_read_dictionary(source))
    offset = 0
    while offset < source.size:
        head = source.head(offset, _SKIPPABLE_HEAD_BYTES)
        if is_skippable(head) and _begins_frame(source, offset + _SKIPPABLE_HEAD_BYTES + _length(head)):
            offset += _SKIPPABLE_HEAD_BYTES + _length(head)
            continue
        frame = _Frame(source, offset, decompressor)
        yield offset, frame.chunks()
        offset = frame.end()


class _Frame:
    def __init__(self, source: Source, offset: int, decompressor: zstandard.ZstdDecompressor) -> None:
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
        start = _Frame(self._source, offset, self._decompressor).chunks()
        try:
            return next(start, b"").startswith(_RECORD_START)
        except BrokenFrame:
            return False


def _begins_frame(source: Source, offset: int) -> bool:
    head = source.head(offset, len(ZSTD_MAGIC))
    return offset == source.size or head == ZSTD_MAGIC or is_skippable(head)


def _decompressor(dictionary: zstandard.ZstdCompressionDict | None) -> zstandard.ZstdDecompressor:
    if dictionary is None:
        return zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
    return zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=_WINDOW_BYTES)


def _read_dictionary(source: Source) -> zstandard.ZstdCompressionDict | None:
    """Return the dictionary at the start of the file; None when there is none, or none that can be read."""
    head = source.head(0, _SKIPPABLE_HEAD_BYTES)
    if not head.startswith(_DICTIONARY_MAGIC) or _length(head) > _MAX_DICTIONARY_BYTES:
        return None
    data = bytearray()
    while len(data) < _length(head) and (piece := source.read(_SKIPPABLE_HEAD_BYTES + len(data))):
        data += piece
    content = bytes(data[: _length(head)])
    if content.startswith(ZSTD_MAGIC):
        content = _expand(content)
    return zstandard.ZstdCompressionDict(content) if content else None


def _expand(content: bytes) -> bytes:
    try:
        return zstandard.ZstdDecompressor().decompress(content, max_output_size=_MAX_DICTIONARY_BYTES)
    except zstandard.ZstdError:
        return b""


def _length(head: bytes) -> int:
    return int.from_bytes(head[4:8], "little")
