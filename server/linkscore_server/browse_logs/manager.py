"""Browse logs of a server's crawls: batches in, mining when it is due, old days out."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import BrowseBatchImported, LogsMined
from linkscore_scoring.errors import NotFound
from linkscore_scoring.state import State, plain
from linkscore_server import tasks
from linkscore_server.browse_logs.visits import DEFAULT_MEMORY_MB, SiteSpan, VisitQuery, Visits
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.learning import CrawlClosed
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.data_folder import DataFolder
from linkscore_server.observability import Metrics
from linkscore_server.settings import Settings
from linkscore_server.tasks import child_processes

if TYPE_CHECKING:
    from linkscore_scoring.browse_logs.counts import BrowseCounts
    from linkscore_scoring.browse_logs.news import CrawlNews

FOLDER = "browse"
"""Folder of visits below the data folder, with one a shard."""

_MAINTENANCE_S = 3_600.0
"""Seconds between looks for days to delete and sites to mine: windows and retention count days."""

_QUIET_S = 1.0
"""Seconds after a batch of a crawl in which another one may come: then its sites are mined. Chosen."""

_OUTCOMES = ("bad_line", "method", "status", "bot", "asset", "bad_url", "host", "repeat")
"""Rules by which records are left out, see `reading.RULES`: a sender's own reasons are one more in
metrics."""

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


def mine(counts: BrowseCounts) -> State:
    """Mine one site, in a process of its own; see `mine_site`."""
    from linkscore_scoring.browse_logs.mining import mine_site  # slow to import, few servers mine

    return plain(mine_site(counts))


class BrowseLogManager:
    """Takes in and mines the browse logs of all crawls.

    Batches of one crawl go one after the other, in a thread; sites are mined in processes. Neither holds up
    scoring.
    """

    def __init__(
        self,
        registry: CrawlRegistry,
        settings: Settings,
        metrics: Metrics,
        clock: Callable[[], float],
    ) -> None:
        self._registry = registry
        self._settings = settings
        self._metrics = metrics
        self._clock = clock
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="linkscore-browse")
        self._processes: ProcessPoolExecutor | None = None  # come with the first mining, go with the last
        self._running = 0
        self._import_locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._last_batch_s: dict[str, float] = defaultdict(lambda: -math.inf)
        self._mining: dict[str, asyncio.Task[None]] = {}
        self._mine_again: set[str] = set()
        self._imports: set[asyncio.Task[BrowseBatchImported | None]] = set()
        self._maintenance: asyncio.Task[None] | None = None

    def visits(self, shard: str) -> Visits:
        """Return what keeps the visits of a shard that exists."""
        folder = self._registry.folder.beside(shard, FOLDER)
        assert folder is not None, "without one no server takes browse logs"
        return visits_in(folder, memory_mb=self._settings.browse_memory_mb)

    def start(self) -> None:
        """Begin to delete old days and to mine what is due, now and every hour."""
        self._maintenance = tasks.for_ever(
            self.maintain, "maintenance of browse logs", again_s=_MAINTENANCE_S
        )

    async def close(self) -> None:
        """Finish batches, and stop; minings under way come to nothing and are due after the next start."""
        await asyncio.gather(*self._imports, return_exceptions=True)
        tasks = [task for task in (self._maintenance, *self._mining.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._thread.shutdown()

    async def take(
        self, actor: CrawlActor, message: pb.ImportBrowseRecordsRequest
    ) -> BrowseBatchImported | None:
        """Take in a batch; returns what became of it once it is durable, None if it was there already.

        It goes on to its end when the caller gives up. Raises OSError if it could not be made durable
        (`DiskFull` if that is why), CrawlClosed if the crawl takes nothing more.
        """
        self._registry.space.check()
        return await tasks.kept(self._take(actor, message), "an import of browse logs", self._imports)

    async def _take(
        self, actor: CrawlActor, message: pb.ImportBrowseRecordsRequest
    ) -> BrowseBatchImported | None:
        actor.use()
        name, batch_id = actor.key, message.batch_id
        store = self.visits(name)
        async with self._import_locks[name]:
            if batch_id in actor.model.ledger.batches:
                await self._in_thread(store.show, batch_id)
                return None
            event: BrowseBatchImported = await self._in_thread(
                partial(store.stage, message, actor.model.site_of)
            )
            await actor.submit(event)
            await self._in_thread(store.show, batch_id)
        self._last_batch_s[name] = time.monotonic()
        for outcome, count in _by_label(event.counts).items():
            self._metrics.of("browse_records", outcome).inc(count)
        return event

    async def mine(self, actor: CrawlActor, site: str) -> BrowseCounts | None:
        """Mine a site now; returns what was read once its policy knows, None if it reads no logs.

        Raises NotFound if there are no visits of the site, and what the mining failed with.
        """
        if not reads_logs(actor):
            return None
        spans = await self.spans(actor)
        if site not in spans:
            name = actor.model.config.name
            raise NotFound(f"site {site!r}: no browse log of crawl {name!r} has a visit of it")
        return await self._mine(actor, site, spans[site])

    async def _mine(self, actor: CrawlActor, site: str, span: SiteSpan) -> BrowseCounts:
        width = self._settings.browse_window_days
        counts = await self._counts(actor, site, span.last_day - width + 1, width)
        mined = await self._in_process(mine, counts)
        await actor.submit(LogsMined(site, mined))
        return counts

    async def crawl_news(self, actor: CrawlActor, spans: Mapping[str, SiteSpan]) -> CrawlNews:
        """Mine the news of all sites of a crawl at once, within the window of its last day; changes
        nothing."""
        from linkscore_scoring.browse_logs.news import mine_crawl  # slow to import, few servers mine

        width, last_day = self._settings.browse_window_days, max(span.last_day for span in spans.values())
        counts = await self._counts(actor, "", last_day - width + 1, width)
        return await self._in_process(mine_crawl, counts)

    async def _counts(self, actor: CrawlActor, site: str, first_day: int, n_days: int) -> BrowseCounts:
        query = VisitQuery(site, first_day, n_days, self._settings.browse_max_pages_a_day)
        return await self._in_thread(self.visits(actor.key).counts, query)

    def mine_later(self, actor: CrawlActor) -> None:
        """Mine, beside other calls, the sites of a crawl for which it is due."""
        name = actor.key
        if name in self._mining:
            self._mine_again.add(name)
            return
        task = self._mining[name] = tasks.beside(self._mine_due(actor), f"mining of crawl {name}")
        task.add_done_callback(lambda _: self._mining_ended(name, actor))

    def _mining_ended(self, name: str, actor: CrawlActor) -> None:
        task = self._mining.pop(name)
        if name in self._mine_again and not task.cancelled():
            self._mine_again.discard(name)
            self.mine_later(actor)

    async def _mine_due(self, actor: CrawlActor) -> None:
        """Mine the sites that are due, all at once; one that fails is left for the next time."""
        actor.use()
        if not reads_logs(actor):
            return
        while (wait_s := self._last_batch_s[actor.key] + _QUIET_S - time.monotonic()) > 0:
            await asyncio.sleep(wait_s)
        spans = await self.spans(actor)
        due = [site for site, span in spans.items() if self._is_due(actor, site, span)]
        runs = (self._mine(actor, site, spans[site]) for site in due)
        for site, outcome in zip(due, await asyncio.gather(*runs, return_exceptions=True), strict=True):
            if isinstance(outcome, Exception) and not isinstance(outcome, CrawlClosed):
                self._metrics.of("mining_failures").inc()
                _log.error("mining of %s failed, it keeps what it had", site, exc_info=outcome)

    def _is_due(self, actor: CrawlActor, site: str, span: SiteSpan) -> bool:
        if span.visits < self._settings.browse_mine_min_visits:
            return False
        known = actor.model.sites.get(site)
        mined = known.model.browse if known is not None else None
        return mined is None or span.last_day >= mined.first_day + mined.n_days

    async def idle(self) -> None:
        """Wait until nothing that `mine_later` began is running."""
        while self._mining:
            await asyncio.wait(self._mining.values())
            await asyncio.sleep(0)

    async def spans(self, actor: CrawlActor) -> dict[str, SiteSpan]:
        """Return the span of each site of a crawl's browse logs."""
        return await self._in_thread(self.visits(actor.key).spans)

    async def maintain(self) -> None:
        """Delete the days whose retention is over, and mine what is due."""
        before_s = self._clock() - self._settings.browse_retention_days * 86_400.0
        for name in self._registry.names():
            async with self._import_locks[name], self._registry.at_rest(name):
                # Opening a crawl moves what a crash left into its days: none of them may go meanwhile.
                await self._in_thread(self.visits(name).expire, before_s)
        for actor in self._registry.actors():
            self.mine_later(actor)

    def recovered(self, shard: str, model: CrawlModel) -> None:
        """Publish the visits of batches that the log has, and drop the others."""
        self.visits(shard).recover(model.ledger.batches)

    def opened(self, actor: CrawlActor) -> None:
        """Mine what is due of a crawl that was just opened: a restart may have cut it short."""
        if actor.model.ledger.batches:
            self.mine_later(actor)

    async def _in_thread(self, call: Callable[..., _T], *args: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *args)

    async def _in_process(self, call: Callable[..., _T], *args: object) -> _T:
        self._processes = self._processes or child_processes(os.cpu_count() or 1)
        self._running += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._processes, call, *args)
        finally:
            self._running -= 1
            if not self._running:
                self._processes.shutdown(wait=False, cancel_futures=True)
                self._processes = None


def visits_in(folder: Path, *, memory_mb: int) -> Visits:
    """Return what keeps the visits of a shard below a folder."""
    return Visits(folder / "visits.duckdb", memory_mb=memory_mb)


def problems_in(folder: DataFolder, shard: str) -> Iterator[str]:
    """Yield what is wrong with the visits beside the events of a shard in a data folder."""
    place = folder.beside(shard, FOLDER)
    return iter(visits_in(place, memory_mb=DEFAULT_MEMORY_MB).problems() if place else ())


def reads_logs(actor: CrawlActor) -> bool:
    """Say whether the policy of a crawl reads browse logs."""
    return actor.model.config.policy.has("reads_logs")


def _by_label(outcomes: Mapping[str, int]) -> Counter[str]:
    """Return counts by label of the metric: a sender's own reasons are one, or there could be many."""
    counts: Counter[str] = Counter()
    for outcome, count in outcomes.items():
        counts[outcome if outcome in _OUTCOMES else "other" if outcome else "visit"] += count
    return counts
