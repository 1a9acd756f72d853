"""Bytes in one temporary file, read where they lie: many pages cost little memory, forks share them."""

from __future__ import annotations

import os
from tempfile import TemporaryFile
from typing import NamedTuple

import zstandard

# zstd's fastest regular level: pages are packed once and thrown away with the process. Chosen, not measured.
_LEVEL = 1


class Blob(NamedTuple):
    """Where some bytes lie: offset and compressed length."""

    offset: int
    length: int


NOTHING = Blob(0, 0)


def packed(data: bytes) -> bytes:
    """Return some bytes as `Blobs` keeps them."""
    return zstandard.compress(data, _LEVEL)


def unpacked(data: bytes) -> bytes:
    """Return bytes as they were before they were `packed`."""
    return zstandard.decompress(data)


class Blobs:
    """An append-only file of compressed byte strings that vanishes with the process.

    Reading moves no file position: processes and threads may read at the same time.
    """

    def __init__(self) -> None:
        self._file = TemporaryFile(prefix="linkscore-replay-", buffering=0)  # noqa: SIM115 - lives as long as this
        self._end = 0

    def add(self, data: bytes) -> Blob:
        """Keep bytes that are `packed`."""
        self._file.write(data)
        blob = Blob(self._end, len(data))
        self._end += len(data)
        return blob

    def read(self, blob: Blob) -> bytes:
        """Return bytes as they were before they were packed; nothing for `NOTHING`."""
        if not blob.length:
            return b""
        return unpacked(os.pread(self._file.fileno(), blob.length, blob.offset))

    def __getstate__(self) -> bytes:
        return os.pread(self._file.fileno(), self._end, 0)

    def __setstate__(self, state: bytes) -> None:
        self.__init__()  # type: ignore[misc]
        self._file.write(state)
        self._end = len(state)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()
