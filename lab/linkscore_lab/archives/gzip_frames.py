"""Members of a gzip file, one by one; after a bad one reading goes on at the next that holds a record."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from linkscore_lab.archives.record import BrokenFrame
from linkscore_lab.archives.source import BLOCK_BYTES, Source

GZIP_MAGIC = b"\x1f\x8b\x08"
_RECORD_START = b"WARC/"


def gzip_frames(source: Source) -> Iterator[tuple[int, Iterator[bytes]]]:
    """Yield offset and decompressed chunks of each member (RFC 1952)."""
    offset = 0
    while offset < source.size:
        member = _Member(source, offset)
        yield offset, member.chunks()
        offset = member.end()


class _Member:
    """One gzip member; a bound on each chunk keeps a bomb small."""

    def __init__(self, source: Source, offset: int) -> None:
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


def _next_record(source: Source, offset: int) -> int:
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
