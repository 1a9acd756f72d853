"""A span of a file, read block by block: the bytes of an archive, wherever they lie."""

from __future__ import annotations

from typing import BinaryIO

BLOCK_BYTES = 1 << 16


class Source:
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
