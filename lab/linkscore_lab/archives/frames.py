"""Frames: the pieces of an archive that are decompressed each on its own.

An archive compressed by record has a gzip member or a zstd frame for each record, so that one can be read
without the others; a plain file is one frame. A frame that cannot be decompressed costs what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from linkscore_lab.archives.gzip_frames import GZIP_MAGIC, gzip_frames
from linkscore_lab.archives.source import Source
from linkscore_lab.archives.zstd_frames import ZSTD_MAGIC, is_skippable, zstd_frames

_SUFFIXES = {".gz": gzip_frames, ".zst": zstd_frames}


@dataclass(frozen=True, slots=True)
class Frame:
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


def frames(source: Source) -> Iterator[Frame]:
    """Split a source into its frames; each is read before the next is asked for.

    The format is told by the first bytes and, when they are damaged, by the suffix of the name.
    """
    reader = _reader(source)
    if reader is None:
        yield Frame(0, _blocks(source), compressed=False)
        return
    for offset, chunks in reader(source):
        yield Frame(offset, chunks, compressed=True)


def _reader(source: Source) -> Callable[[Source], Iterator[tuple[int, Iterator[bytes]]]] | None:
    head = source.head(0, 8)
    if head.startswith(GZIP_MAGIC):
        return gzip_frames
    if head.startswith(ZSTD_MAGIC) or is_skippable(head):
        return zstd_frames
    if head.startswith(b"WARC/"):
        return None
    return next((reader for suffix, reader in _SUFFIXES.items() if source.name.endswith(suffix)), None)


def _blocks(source: Source) -> Iterator[bytes]:
    offset = 0
    while block := source.read(offset):
        yield block
        offset += len(block)
