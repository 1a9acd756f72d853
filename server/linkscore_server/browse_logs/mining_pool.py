"""Mines sites in processes of their own: many at a time, none while there is nothing to mine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from linkscore_scoring.engine.events import LogsMined
from linkscore_scoring.state import plain
from linkscore_server.child_processes import child_processes

if TYPE_CHECKING:
    from linkscore_scoring.browse_logs.counts import BrowseCounts
    from linkscore_scoring.browse_logs.mined import MinedSite
    from linkscore_scoring.browse_logs.mining import MiningSettings
    from linkscore_scoring.browse_logs.news.crawl import CrawlNews
    from linkscore_scoring.browse_logs.news.settings import NewsSettings

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class MiningJob:
    """All that the mining of a site needs; `before` is what the last one gave."""

    site: str
    counts: BrowseCounts
    settings: MiningSettings
    before: MinedSite | None


@dataclass(frozen=True, slots=True)
class CrawlMiningJob:
    """All that the mining of the news of a crawl needs: counts of all its sites."""

    counts: BrowseCounts
    settings: NewsSettings


@dataclass(frozen=True, slots=True)
class MiningResult:
    """What mining a site gave: the event that tells the crawl, and how much was read."""

    event: LogsMined
    visits: int
    pages: int
    left_out: int


class MiningPool:
    """Processes that come with the first job and go with the last.

    Parameters
    ----------
    processes
        Most at a time; 0 takes one a core.
    """

    def __init__(self, processes: int = 0) -> None:
        self._processes = processes or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None
        self._running = 0

    @property
    def is_open(self) -> bool:
        """Whether jobs run or wait: without any there are no processes."""
        return self._pool is not None

    async def run(self, call: Callable[[_Job], _Result], job: _Job) -> _Result:
        """Return what a call gives for a job, which it is sent with to a process.

        Raises
        ------
        Exception
            What the mining failed with.
        """
        if self._pool is None:
            self._pool = child_processes(self._processes)
        self._running += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, call, job)
        finally:
            self._running -= 1
            if not self._running:
                self.close()

    def close(self) -> None:
        """Let the processes go; jobs that wait are cancelled."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def mine(job: MiningJob) -> MiningResult:
    """Mine one site; blocks."""
    from linkscore_scoring.browse_logs.mining import mine_site  # slow to import, few servers mine

    mined = mine_site(job.counts, job.settings, job.before)
    state = plain(mined)
    event = LogsMined(job.site, state)
    return MiningResult(event, mined.records, len(job.counts.urls), job.counts.left_out)


def mine_crawl_news(job: CrawlMiningJob) -> CrawlNews:
    """Mine all sites of a crawl at once, for news; blocks."""
    from linkscore_scoring.browse_logs.news.crawl import mine_crawl  # slow to import, few servers mine

    return mine_crawl(job.counts, job.settings)
