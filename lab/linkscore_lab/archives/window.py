"""The bytes of a frame from the first that nobody has taken: look ahead, then take or drop."""

from __future__ import annotations

import re
from collections.abc import Iterator


class Window:
    """A queue of bytes over an iterator of chunks.

    Attributes
    ----------
    taken
        Bytes that have left the queue.
    """

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._data = bytearray()
        self.taken = 0

    def fill(self, size: int) -> bool:
        """Read until `size` bytes are there; False when there are fewer."""
        while len(self._data) < size:
            chunk = next(self._chunks, None)
            if chunk is None:
                return False
            self._data += chunk
        return True

    def peek(self, start: int, end: int) -> bytes:
        """Return bytes `start` to `end` from the first, as far as they were read."""
        return bytes(memoryview(self._data)[start:end])

    def drop(self, size: int) -> None:
        """Take `size` bytes and forget them."""
        del self._data[:size]
        self.taken += size

    def search(self, pattern: re.Pattern[bytes], start: int, limit: int) -> int:
        """Return where the first match from `start` on ends, looking at `limit` bytes at most, or -1."""
        size = min(4096, limit)
        while True:
            more = self.fill(size)
            match = pattern.search(self._data, start, limit)
            if match:
                return match.end()
            if not more or size >= limit:
                return -1
            size = min(max(size * 2, len(self._data)), limit)

    def drop_until(self, pattern: re.Pattern[bytes], start: int, overlap: int) -> bool:
        """Drop bytes up to the next match from `start` on; a match needs at most `overlap` bytes."""
        while True:
            more = self.fill(start + overlap + 1)
            match = pattern.search(self._data, start)
            if match:
                self.drop(match.start())
                return True
            self.drop(max(start, len(self._data) - overlap))
            start = 0
            if not more:
                return False
