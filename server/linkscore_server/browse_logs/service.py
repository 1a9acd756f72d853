"""Browse logs as a part of the server: BrowseLogService, SuggestSeeds over all sites, hours of
maintenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from google.protobuf.timestamp_pb2 import Timestamp

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_scoring.errors import FieldProblem, InvalidInput
from linkscore_server.browse_logs.manager import BrowseLogManager
from linkscore_server.browse_logs.visits import DAY_S, SiteSpan
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.crawls.sites import StoredCrawl
from linkscore_server.observability import Metrics
from linkscore_server.services.messages import (
    MAX_ITEMS,
    parse_crawl,
    parse_site,
)
from linkscore_server.services.sites import seeds_wanted
from linkscore_server.settings import Settings

if TYPE_CHECKING:
    from linkscore_scoring.browse_logs.news import CrawlNews, CrawlSeed


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
