"""Browse logs of a server's crawls: batches in, mining when it is due, old days out; the calls about them."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.timestamp_pb2 import Timestamp

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import BrowseBatchImported, LogsMined
from linkscore_scoring.errors import FieldProblem, InvalidInput, NotFound
from linkscore_scoring.state import State, plain
from linkscore_server import tasks
from linkscore_server.browse_logs.visits import DAY_S, DEFAULT_MEMORY_MB, SiteSpan, VisitQuery, Visits
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.learning import CrawlClosed
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.crawls.sites import StoredCrawl
from linkscore_server.data_folder import DataFolder
from linkscore_server.observability import Metrics
from linkscore_server.services.messages import MAX_ITEMS, parse_crawl, parse_site
from linkscore_server.services.sites import seeds_wanted
from linkscore_server.settings import Settings

if TYPE_CHECKING:
    from linkscore_scoring.browse_logs.counts import BrowseCounts
    from linkscore_scoring.browse_logs.news import CrawlNews, CrawlSeed

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
        self._mine_again: dict[str, CrawlActor] = {}
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
        self._registry.on_open = lambda actor: None
        await asyncio.gather(*self._imports, return_exceptions=True)
        running = [task for task in (self._maintenance, *self._mining.values()) if task is not None]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
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
            self._mine_again[name] = actor  # which may be another one by now
            return
        task = self._mining[name] = tasks.beside(self._mine_due(actor), f"mining of crawl {name}")
        task.add_done_callback(lambda _: self._mining_ended(name))

    def _mining_ended(self, name: str) -> None:
        task, actor = self._mining.pop(name), self._mine_again.pop(name, None)
        if actor is not None and not task.cancelled():
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
        self._processes = self._processes or tasks.child_processes(os.cpu_count() or 1)
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


# Bounds of requests and answers, as browse_log_service.proto says.
_MAX_SITES = 1_000
_MAX_BATCH_ID_BYTES, _MAX_REASONS = 128, 32
_MAX_LEFT_OUT = 1_000_000_000
"""Records that a sender left out of one batch for one reason. Sums of them stay far from 64 bits."""
_MAX_PROBLEMS = 10  # of one batch that are named: a bound on the answer


class BrowseLogService:
    """Browse logs in, what was mined from them out."""

    def __init__(
        self, registry: CrawlRegistry, settings: Settings, metrics: Metrics, clock: Callable[[], float]
    ) -> None:
        self.manager = BrowseLogManager(registry, settings, metrics, clock)
        self._registry = registry

    async def ImportBrowseRecords(
        self, request: pb.ImportBrowseRecordsRequest, context: Any
    ) -> pb.ImportBrowseRecordsResponse:
        """Take in a batch."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        _check(request)
        event = await self.manager.take(actor, request)
        self.manager.mine_later(actor)
        if event is None:
            return pb.ImportBrowseRecordsResponse(duplicate=True)
        counts = Counter(event.counts)
        return pb.ImportBrowseRecordsResponse(visit_count=counts[""], left_out=_left_out(counts))

    async def MineSite(self, request: pb.MineSiteRequest, context: Any) -> pb.MineSiteResponse:
        """Mine a site now."""
        crawl, site = parse_site(request.name)
        actor = await self._registry.open(crawl)
        result = await self.manager.mine(actor, site)
        if result is None:
            return pb.MineSiteResponse()
        shard = actor.model.shard(site)
        return pb.MineSiteResponse(
            window_start=_midnight(result.first_day),
            window_days=result.n_days,
            visit_count=int(result.clicks.sum()),
            page_count=len(result.urls),
            left_out_count=result.left_out,
            policy=shard.served.name,
            summary=shard.served.describe(shard.model),
        )

    async def GetBrowseStats(
        self, request: pb.GetBrowseStatsRequest, context: Any
    ) -> pb.GetBrowseStatsResponse:
        """Say what a crawl holds of browse logs."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        ledger, spans = actor.model.ledger, await self.manager.spans(actor)
        most = sorted(spans, key=lambda site: (-spans[site].visits, site))[:_MAX_SITES]
        return pb.GetBrowseStatsResponse(
            sites=[_site(actor, site, spans[site]) for site in most],
            batch_count=len(ledger.batches),
            visit_count=ledger.outcomes[""],
            left_out=_left_out(ledger.outcomes),
        )

    async def suggest_seeds(
        self, request: site_pb.SuggestSeedsRequest
    ) -> site_pb.SuggestSeedsResponse | None:
        """Return the pages to start a crawl from, whatever site they are on, by its log as it is now; None if
        its policy looks for no news in a log.
        """
        actor = await self._registry.open(parse_crawl(request.crawl))
        if actor.model.config.policy.name != "news_prefix" or not actor.model.ledger.batches:
            return None
        n, spans = seeds_wanted(request), await self.manager.spans(actor)
        answer = site_pb.SuggestSeedsResponse(
            policy=actor.model.config.policy.name, event_seq=actor.model.seq
        )
        if not spans:
            answer.policy_state = "abstains: all days of the browse log are deleted"
            return answer
        found = await self.manager.crawl_news(actor, spans)
        answer.seeds.extend(await actor.ask(partial(_seeds, actor.model, found, n)))
        answer.policy_state = found.summary()
        return answer


def _check(request: pb.ImportBrowseRecordsRequest) -> None:
    """Check what is cheap to check of a batch."""
    problems = []
    if not request.batch_id:
        problems.append(FieldProblem("batch_id", "is required", "REQUIRED"))
    for name, size, most, unit in (
        ("batch_id", len(request.batch_id.encode()), _MAX_BATCH_ID_BYTES, " bytes"),
        ("records", len(request.records), MAX_ITEMS["records"], ""),
        ("left_out", len(request.left_out), _MAX_REASONS, ""),
        *((f"left_out[{reason!r}]", n, _MAX_LEFT_OUT, "") for reason, n in request.left_out.items()),
    ):
        if size > most:
            problems.append(FieldProblem(name, f"must be at most {most}{unit}, got {size}"))
    if problems:
        raise InvalidInput(problems[:_MAX_PROBLEMS])


def _site(actor: CrawlActor, site: str, span: SiteSpan) -> pb.BrowseSite:
    message = pb.BrowseSite(
        site=site,
        visit_count=span.visits,
        first_day=_midnight(span.first_day),
        last_day=_midnight(span.last_day),
    )
    known = actor.model.sites.get(site)
    if known is not None and (mined := known.model.browse) is not None:
        message.mined_start.CopyFrom(_midnight(mined.first_day))
        message.mined_days = mined.n_days
    return message


def _left_out(outcomes: Counter[str]) -> dict[str, int]:
    """Return the records left out, by rule."""
    return {rule: count for rule, count in outcomes.items() if rule}


def _midnight(day: int) -> Timestamp:
    return Timestamp(seconds=day * DAY_S)


def _seeds(model: StoredCrawl, news: CrawlNews, n: int) -> Sequence[site_pb.Seed]:
    """Return the best seeds, with what is worth saying of their sites; none is read back for it."""
    total, best = max(1, news.model.news), news.seeds[:n]
    sites_of = [model.site_of(seed.url) for seed in best]
    met = {site for site in sites_of if site in model.sites}
    crawled = {name for name, facts in model.sites.facts() if name in met and facts.pages} if met else set()
    seeds = []
    for seed, site in zip(best, sites_of, strict=True):
        about = [] if site in crawled else [f"{site} is not crawled yet"]
        reason = "; ".join([_why(seed), *about])
        seeds.append(site_pb.Seed(url=seed.url, reason=reason, value=seed.news / total, page_count=seed.news))
    return seeds


def _why(seed: CrawlSeed) -> str:
    if not seed.is_hub:
        return f"its host has {seed.news} news pages that no known page leads to"
    return f"visitors went from it to {seed.news} news pages, {seed.gain} of them from no seed before"
