"""Browse logs of a server's crawls: batches in, mining when it is due, old days out."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import BrowseBatchImported
from linkscore_scoring.errors import NotFound
from linkscore_scoring.policies.base import any_part
from linkscore_scoring.policies.registry import policy_class
from linkscore_server import tasks
from linkscore_server.browse_logs.cleaning import RULES
from linkscore_server.browse_logs.metrics import BrowseMetrics
from linkscore_server.browse_logs.mining_pool import (
    CrawlMiningJob,
    MiningJob,
    MiningPool,
    MiningResult,
    mine,
    mine_crawl_news,
)
from linkscore_server.browse_logs.staging import BatchLimits, staged
from linkscore_server.browse_logs.visits import SiteSpan, VisitQuery, Visits
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.learning import CrawlClosed
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.settings import Settings

if TYPE_CHECKING:
    from linkscore_scoring.browse_logs.counts import BrowseCounts
    from linkscore_scoring.browse_logs.mining import MiningSettings
    from linkscore_scoring.browse_logs.news.crawl import CrawlNews
    from linkscore_scoring.browse_logs.news.settings import NewsSettings

FOLDER = "browse"
"""Folder of visits below the data folder, with one a shard."""
_MAINTENANCE_S = 3_600.0
"""Seconds between looks for days to delete and sites to mine: windows and retention count days."""

_log = logging.getLogger(__name__)


class BrowseLogManager:
    """Takes in and mines the browse logs of all crawls.

    Batches of one crawl go one after the other, in a thread; sites are mined in processes. Neither holds up
    scoring.

    Parameters
    ----------
    registry
        The crawls.
    settings
        Windows, schedule, limits.
    metrics
        Where records and minings are counted.
    clock
        Seconds since the epoch.
    """

    def __init__(
        self,
        registry: CrawlRegistry,
        settings: Settings,
        metrics: BrowseMetrics,
        clock: Callable[[], float],
    ) -> None:
        self._registry = registry
        self._settings = settings
        self._metrics = metrics
        self._clock = clock
        self._limits = BatchLimits(
            settings.max_records_per_batch,
            settings.browse_memory_mb,
            foreign=settings.browse_referrers == "all",
        )
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="linkscore-browse")
        self._pool = MiningPool()
        self._import_locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._mining: dict[str, asyncio.Task[None]] = {}
        self._mine_again: set[str] = set()
        self._imports: set[asyncio.Task[BrowseBatchImported | None]] = set()
        self._maintenance: asyncio.Task[None] | None = None
        self._verified: set[str] = set()
        self._in_memory: dict[str, Visits] = defaultdict(Visits)

    @property
    def limits(self) -> BatchLimits:
        """Bounds of one batch."""
        return self._limits

    def visits(self, shard: str) -> Visits:
        """Return what keeps the visits of a shard that exists."""
        folder = self._registry.folder.beside(shard, FOLDER)
        return visits_in(folder) if folder is not None else self._in_memory[shard]

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
        self._pool.close()
        self._thread.shutdown()

    async def take(
        self, actor: CrawlActor, message: pb.ImportBrowseRecordsRequest, hosts: Sequence[str]
    ) -> BrowseBatchImported | None:
        """Take in a batch; returns what became of it once it is durable, None if it was there already.

        It goes on to its end when the caller gives up.

        Raises
        ------
        OSError
            If it could not be made durable, `DiskFull` if that is why.
        CrawlClosed
            If the crawl takes nothing more.
        """
        self._registry.space.check()
        return await tasks.kept(self._take(actor, message, hosts), "an import of browse logs", self._imports)

    async def mine(
        self, actor: CrawlActor, site: str, settings: MiningSettings, window_days: int = 0
    ) -> MiningResult | None:
        """Mine a site now; returns what was read once its policies know, None if none of them reads logs.

        Raises
        ------
        NotFound
            If there are no visits of the site.
        Exception
            What the mining failed with.
        """
        if not reading_policies(actor):
            return None
        spans = await self.spans(actor)
        if site not in spans:
            name = actor.model.config.name
            raise NotFound(f"site {site!r}: no browse log of crawl {name!r} has a visit of it")
        return await self._mine(actor, site, spans[site], settings, window_days)

    async def crawl_news(
        self, actor: CrawlActor, spans: Mapping[str, SiteSpan], settings: NewsSettings
    ) -> CrawlNews:
        """Mine the news of all sites of a crawl at once, within the window of its last day; changes nothing.

        Raises
        ------
        Exception
            What the mining failed with.
        """
        s, last_day = self._settings, max(span.last_day for span in spans.values())
        width = s.browse_window_days
        query = VisitQuery("", last_day - width + 1, width, s.browse_max_pages_a_day)
        return await self._pool.run(
            mine_crawl_news, CrawlMiningJob(await self._counts(actor, query), settings)
        )

    def mine_later(self, actor: CrawlActor) -> None:
        """Mine, beside other calls, the sites of a crawl for which it is due."""
        name = actor.key
        if name in self._mining:
            self._mine_again.add(name)
            return
        task = self._mining[name] = tasks.beside(self._mine_due(actor), f"mining of crawl {name}")
        task.add_done_callback(lambda _: self._mining_ended(name, actor))

    async def idle(self) -> None:
        """Wait until nothing that `mine_later` began is running."""
        while self._mining:
            await asyncio.wait(self._mining.values())
            await asyncio.sleep(0)

    async def spans(self, actor: CrawlActor) -> dict[str, SiteSpan]:
        """Return the span of each site of a crawl's browse logs."""
        found: dict[str, SiteSpan] = await self._in_thread(self.visits(actor.key).spans)
        return found

    async def days(self, actor: CrawlActor) -> dict[int, int]:
        """Return bytes stored by day."""
        return dict(await self._in_thread(self.visits(actor.key).days))

    async def maintain(self) -> None:
        """Delete the days whose retention is over, and mine what is due."""
        before_s = self._clock() - self._settings.browse_retention_days * 86_400.0
        for name in self._registry.names():
            async with self._import_locks[name]:
                # Opening a crawl moves what a crash left into its days: none of them may go meanwhile.
                store = self.visits(name)
                async with self._registry.at_rest(name):
                    expired = await self._in_thread(store.expire, before_s)
                await self._verify(name, store)
            if expired:
                self._metrics.days_deleted.inc(len(expired))
        for actor in self._registry.actors():
            self.mine_later(actor)

    def crawl_opened(self, actor: CrawlActor) -> None:
        """Mine what is due of a crawl that was just opened: a restart may have cut it short."""
        if actor.model.ledger.batches:
            self.mine_later(actor)
        else:
            self._in_memory.pop(actor.key, None)  # of a crawl of that name before

    async def _verify(self, crawl: str, store: Visits) -> None:
        """Read the visits of a crawl once after the start, so that damage is known before it is asked for."""
        if crawl in self._verified:
            return
        self._verified.add(crawl)
        problems: list[str] = await self._in_thread(store.problems)
        self._metrics.files_damaged.inc(len(problems))
        for problem in problems:
            _log.error("browse log of crawl %s: %s", crawl, problem)

    async def _take(
        self, actor: CrawlActor, message: pb.ImportBrowseRecordsRequest, hosts: Sequence[str]
    ) -> BrowseBatchImported | None:
        actor.use()
        name, batch_id = actor.key, message.batch_id
        store = self.visits(name)
        async with self._import_locks[name]:
            if batch_id in actor.model.ledger.batches:
                await self._in_thread(store.show, batch_id)
                return None
            event: BrowseBatchImported = await self._in_thread(
                staged, message, hosts, store, actor.model.site_of, self._limits
            )
            await actor.submit(event)
            await self._in_thread(store.show, batch_id)
        self._metrics.count_records(_by_label(event.counts))
        return event

    async def _mine(
        self, actor: CrawlActor, site: str, span: SiteSpan, settings: MiningSettings, window_days: int = 0
    ) -> MiningResult:
        s, width = self._settings, window_days or self._settings.browse_window_days
        query = VisitQuery(site, span.last_day - width + 1, width, s.browse_max_pages_a_day)
        known = actor.model.sites.get(site)
        before = known.model.browse if known is not None else None
        mining = _with_params(settings, actor.model.config)
        started = time.perf_counter()
        counts = await self._counts(actor, query)
        result = await self._pool.run(mine, MiningJob(site, counts, mining, before))
        await actor.submit(result.event)
        self._metrics.count_mining(time.perf_counter() - started, query.first_day + width)
        return result

    async def _counts(self, actor: CrawlActor, query: VisitQuery) -> BrowseCounts:
        counts: BrowseCounts = await self._in_thread(
            partial(self.visits(actor.key).counts, query, memory_mb=self._settings.browse_memory_mb)
        )
        return counts

    async def _mine_due(self, actor: CrawlActor) -> None:
        """Mine the sites that are due, all at once; one that fails is left for the next time."""
        actor.use()
        if not reading_policies(actor):
            return
        spans = await self.spans(actor)
        due = [site for site, span in spans.items() if self._is_due(actor, site, span)]
        from linkscore_scoring.browse_logs.mining import MiningSettings  # slow to import, few servers mine

        runs = (self._mine(actor, site, spans[site], MiningSettings()) for site in due)
        for site, outcome in zip(due, await asyncio.gather(*runs, return_exceptions=True), strict=True):
            if isinstance(outcome, Exception) and not isinstance(outcome, CrawlClosed):
                self._metrics.mining_failures.inc()
                _log.error("mining of %s failed, it keeps what it had", site, exc_info=outcome)

    def _is_due(self, actor: CrawlActor, site: str, span: SiteSpan) -> bool:
        if span.visits < self._settings.browse_mine_min_visits:
            return False
        known = actor.model.sites.get(site)
        mined = known.model.browse if known is not None else None
        new_days = span.last_day - (mined.first_day + mined.n_days - 1) if mined else span.last_day
        return new_days >= self._settings.browse_mine_every_days

    def _mining_ended(self, name: str, actor: CrawlActor) -> None:
        task = self._mining.pop(name)
        if name in self._mine_again and not task.cancelled():
            self._mine_again.discard(name)
            self.mine_later(actor)

    async def _in_thread(self, call: Callable[..., Any], *args: object) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *args)


def visits_in(folder: Path | None) -> Visits:
    """Return what keeps the visits of a shard below a folder; None: in memory."""
    return Visits(None if folder is None else folder / "visits.duckdb")


def reading_policies(actor: CrawlActor) -> list[str]:
    """Return the policies of a crawl that read browse logs, by name."""
    config = actor.model.config
    choices = (config.policy, *config.extra_policies)
    wanting = (c.name for c in choices if any_part(policy_class(c.name), c.checked(), "reads_logs"))
    return list(dict.fromkeys(wanting))


def _by_label(outcomes: Mapping[str, int]) -> Counter[str]:
    """Return counts by label of the metric: a sender's own reasons are one, or there could be many."""
    counts: Counter[str] = Counter()
    for outcome, count in outcomes.items():
        counts[outcome if outcome in RULES else "other" if outcome else "visit"] += count
    return counts


def _with_params(settings: MiningSettings, config: CrawlConfig) -> MiningSettings:
    """Return settings with what the policies' parameters say; the served one has the last word."""
    for choice in (*config.extra_policies, config.policy):
        kind, params = policy_class(choice.name), choice.checked()
        if any_part(kind, params, "reads_logs"):
            settings = replace(settings, **kind(params).mining_settings())
    return settings
