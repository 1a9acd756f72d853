"""What a process may take of memory and disk: cold sites are evicted, callers wait before it is late.

Memory has two bounds. `site_memory_mb` is what all sites in memory may take, by an estimate; above it the
least recently used are evicted. `memory_mb` is what the whole process may take, as the kernel counts it;
close to it the first bound is lowered, for the estimate was too low, and above it no more pages and feedback
are taken in.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING

from linkscore_server.crawls.sites import MemoryBudget
from linkscore_server.observability import Metrics
from linkscore_server.settings import Settings

if TYPE_CHECKING:
    from linkscore_server.crawls.actor import CrawlActor

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


_AT_A_TIME = 8
"""Sites evicted before events of their crawl are applied: some 10 ms. Chosen, not measured."""
_NEAR = 0.9
"""Share of `memory_mb` from which on fewer sites stay in memory."""
_EASY = 0.8
"""Share of `memory_mb` below which more of them may stay again."""
_FAR = 1.03
"""How far sites may be above their bound while some are evicted beside the calls: a large one takes a while.
Of 1.3 GB that is what some 2,000 pages add. Chosen, not measured."""
_LESS, _MORE = 0.95, 0.01
"""How the bound of the sites moves with each call: by 5 % of itself down, by 1 % of the setting up, as
windows of TCP do (additive increase, multiplicative decrease). Chosen, not measured."""
_LEAST = 32 << 20
"""The bound is never lowered further: with no site in memory each event would bring one back."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_log = logging.getLogger(__name__)


class MemoryShort(MemoryError):
    """The process takes as much memory as it may; nothing was applied."""

    retry_s = 1.0


class MemoryKeeper:
    """Keeps sites within their bound, and says when the process is at its own."""

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        actors: Callable[[], Iterable[CrawlActor]],
        *,
        used: Callable[[], int] | None = None,
    ) -> None:
        self._most_sites, self._most = settings.site_memory_mb << 20, settings.memory_mb << 20
        self._metrics, self._actors, self._used = metrics, actors, used or resident_bytes
        self._wanted = asyncio.Event()
        self._evicting = asyncio.Lock()  # of two at a time, one would find the coldest sites taken
        self.budget = MemoryBudget(self._most_sites)

    async def run(self) -> None:
        """Evict sites whenever `check` lowered their bound, or a crawl grew."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await self.enforce_budget()

    async def make_room(self) -> None:
        """Have sites evicted if they take more than they may; returns when they do not take far more."""
        self._wanted.set()
        if self.budget.used > _FAR * self.budget.limit:
            await self.enforce_budget()

    async def enforce_budget(self) -> None:
        """Evict the sites that had no event for longest, until the bound is kept or none can be."""
        stuck: set[CrawlActor] = set()
        async with self._evicting:
            while self.budget.is_over:
                others = (actor for actor in self._actors() if actor not in stuck)
                lru = min(others, key=lambda actor: actor.model.sites.lru, default=None)
                if lru is None or lru.model.sites.lru == math.inf:
                    break
                evicted = 0
                try:  # the crawl that asked for room may be another one
                    evicted = await lru.evict_sites(_AT_A_TIME)
                except Exception:
                    _log.exception("crawl %s: sites cannot be evicted", lru.model.config.name)
                self._metrics.of("sites_put_away").inc(evicted)
                if not evicted:
                    stuck.add(lru)

    def check(self) -> None:
        """Let in what needs memory, or not."""
        used = self._used()
        if used > _NEAR * self._most:
            self.budget.limit = max(_LEAST, _LESS * min(self.budget.limit, self.budget.used))
            self._wanted.set()
        elif used < _EASY * self._most:
            self.budget.limit = min(self._most_sites, self.budget.limit + _MORE * self._most_sites)
        if used > self._most:
            raise MemoryShort(
                f"memory_mb: the process takes {used >> 20} MiB of {self._most >> 20}, "
                f"{self.budget.used >> 20} of it for sites; cold ones are being evicted"
            )


def resident_bytes() -> int:
    """Return what this process takes as the kernel counts it; 0 where there is no /proc."""
    try:
        return int(os.pread(_statm(), 128, 0).split()[1]) * _PAGE_BYTES
    except OSError:
        return 0


@cache
def _statm() -> int:
    """Return the file that says it, which stays open: it is asked at every call."""
    return os.open("/proc/self/statm", os.O_RDONLY)
