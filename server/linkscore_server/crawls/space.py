"""Room on the disk: writes are refused before there is none, and taken in again when there is more.

A disk that is full fails wherever it is written to: in the middle of a group of events, of a state, of
what makes memory free. So what callers bring is refused a little earlier, as by etcd's space alarm, and what
is left is for the server itself.
"""

from __future__ import annotations

import errno
import logging
import math
import time
from collections.abc import Callable

_log = logging.getLogger(__name__)

_RETRY_S = 5.0
"""Seconds after which a refused caller should ask again. Chosen: a refused page costs microseconds."""
_RELEASE = 1.5
"""Times the bound that must be free for writes to be taken in again: else each would end and begin the alarm.
Chosen, not measured."""
_MOST_OF_DISK = 20
"""The bound is at most this part of the disk, so that a small one can be used. Chosen, not measured."""
_LOOK_S = 1.0
"""Seconds for which the free space is taken to be what it was: a disk of 250 MB/s fills the bound in one."""
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


class SpaceAlarm:
    """Says whether there is room for what callers bring. On one event loop.

    Free space under the bound raises it, and half as much again ends that.
    """

    def __init__(
        self,
        least: int = 0,
        space: Callable[[], tuple[int, int] | None] = lambda: None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._least, self._space, self._clock = least, space, clock
        self._looked_s = -math.inf
        self.free = math.nan
        self.is_on = False

    def check(self) -> None:
        """Let a caller in, or not."""
        if self._clock() - self._looked_s >= _LOOK_S:
            self.look()
        if self.is_on:
            raise DiskFull(self._why())

    def look(self) -> None:
        """Look how much is free now."""
        self._looked_s = self._clock()
        try:
            found = self._space()
        except OSError as exc:
            _log.debug("free space of the disk is not known: %s", exc)
            return
        if found is None:
            return
        self.free, whole = found
        least = min(self._least, whole // _MOST_OF_DISK)
        was_on, self.is_on = self.is_on, self.free < least * (_RELEASE if self.is_on else 1.0)
        if self.is_on and not was_on:
            _log.error(
                "the disk of the data folder is full: pages and feedback are refused, "
                "questions are answered; %s",
                self._why(),
            )
        elif was_on and not self.is_on:
            _log.info("the disk of the data folder has room again: pages and feedback are taken in")

    def _why(self) -> str:
        return f"{self.free / 2**20:,.0f} MiB are free, fewer than min_free_mb wants"
