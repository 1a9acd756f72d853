"""Room on the disk: what callers bring is refused a little before there is none, as by etcd's space alarm.

What is left then is for the server itself: states, and the deletion of crawls.
"""

from __future__ import annotations

import errno
import math
from collections.abc import Callable

_RETRY_S = 5.0
"""Seconds after which a refused caller should ask again. Chosen: a refused page costs microseconds."""
_MOST_OF_DISK = 20
"""The bound is at most this part of the disk, so that a small one can be used. Chosen, not measured."""
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class DiskFull(OSError):
    """The disk has no room for more events; nothing was applied, and questions are answered still."""

    retry_s = _RETRY_S

    def __init__(self, why: object = "") -> None:
        super().__init__(errno.ENOSPC, f"the server's disk is full{f': {why}' if why else ''}")

    def __str__(self) -> str:
        """Return the message alone: the number says nothing to people."""
        return str(self.strerror)


def as_disk_full(error: Exception) -> Exception:
    """Return `DiskFull` in place of an error that says so by its number; any other as it is."""
    if isinstance(error, DiskFull) or getattr(error, "errno", None) not in _FULL:
        return error
    return DiskFull(getattr(error, "strerror", None) or error)


class Space:
    """The room that is left; `of` says how much of the disk is free, and how large it is; None: elsewhere."""

    def __init__(self, least: int, of: Callable[[], tuple[int, int] | None]) -> None:
        self._least, self._of = least, of

    def left(self) -> tuple[float, bool]:
        """Return the free bytes, infinite where the disk is not here, and whether they are too few."""
        free, whole = self._of() or (math.inf, 0)
        return free, free < min(self._least, whole // _MOST_OF_DISK)

    def check(self) -> None:
        """Let a caller in, or not."""
        free, is_short = self.left()
        if is_short:
            raise DiskFull(f"{free / 2**20:,.0f} MiB are free, fewer than min_free_mb wants")
