"""BrowseLogService: batches of browse logs in, what was mined from them out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import browse_log_service_pb2_grpc as pb_grpc
from linkscore.v1 import common_pb2
from linkscore_scoring.errors import FieldProblem, InvalidInput
from linkscore_scoring.urls.identity import validate_url
from linkscore_server.browse_logs.manager import BrowseLogManager, reading_policies
from linkscore_server.browse_logs.staging import check, left_out_of
from linkscore_server.browse_logs.visits import DAY_S, SiteSpan
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.services.messages import MAX_BROWSE_SITES, invalid, parse_crawl, parse_site, status

if TYPE_CHECKING:
    from linkscore_scoring.browse_logs.mining import MiningSettings

# Bounds of requests and answers, as browse_log_service.proto says.
_MAX_WINDOW_DAYS = 3_650  # ten years
_MAX_LABELS = 100_000  # labelled URLs of one mining: a bound
_MAX_BATCH_IDS = 10_000  # batch ids of one question: a bound


class BrowseLogService(pb_grpc.BrowseLogServiceServicer):
    """Browse logs in, what was mined from them out."""

    def __init__(self, registry: CrawlRegistry, manager: BrowseLogManager) -> None:
        self._registry = registry
        self._manager = manager

    async def ImportBrowseRecords(
        self, requests: AsyncIterator[pb.ImportBrowseRecordsRequest], context: Any
    ) -> pb.ImportBrowseRecordsResponse:
        """Take in batches one after the other."""
        response = pb.ImportBrowseRecordsResponse()
        outcomes: Counter[str] = Counter()
        actor: CrawlActor | None = None
        async for message in requests:
            if actor is None or message.crawl:
                actor = await self._registry.open(parse_crawl(message.crawl))
            said = response.batches.add(batch_id=message.batch_id).status
            try:
                check(message, self._manager.limits)
            except InvalidInput as exc:
                said.CopyFrom(invalid(exc))
                continue
            event = await self._manager.take(actor, message, message.hosts)
            said.CopyFrom(
                status(common_pb2.ITEM_CODE_DUPLICATE if event is None else common_pb2.ITEM_CODE_OK)
            )
            outcomes.update(event.counts if event is not None else {})
        if actor is None:
            raise InvalidInput("is required, in the form crawls/{crawl}", field="crawl", reason="REQUIRED")
        self._manager.mine_later(actor)
        response.record_count = outcomes.total()
        response.visit_count = outcomes[""]
        response.left_out.update(left_out_of(outcomes))
        return response

    async def MineSite(self, request: pb.MineSiteRequest, context: Any) -> pb.MineSiteResponse:
        """Mine a site now."""
        crawl, site = parse_site(request.name)
        actor = await self._registry.open(crawl)
        started = time.perf_counter()
        result = await self._manager.mine(actor, site, _settings(request), request.window_days)
        if result is None:
            return pb.MineSiteResponse()
        mined = result.event.mined
        return pb.MineSiteResponse(
            window_start=_midnight(mined["first_day"]),
            window_days=mined["n_days"],
            visit_count=result.visits,
            page_count=result.pages,
            left_out_count=result.left_out,
            policies=_policies(actor, site),
            duration=_duration(time.perf_counter() - started),
        )

    async def GetBrowseStats(
        self, request: pb.GetBrowseStatsRequest, context: Any
    ) -> pb.GetBrowseStatsResponse:
        """Say what a crawl holds of browse logs."""
        if len(request.batch_ids) > _MAX_BATCH_IDS:
            rule = f"must be at most {_MAX_BATCH_IDS}, got {len(request.batch_ids)}"
            raise InvalidInput(rule, field="batch_ids")
        actor = await self._registry.open(parse_crawl(request.crawl))
        ledger, spans = actor.model.ledger, await self._manager.spans(actor)
        most = sorted(spans, key=lambda site: (-spans[site].visits, site))[:MAX_BROWSE_SITES]
        return pb.GetBrowseStatsResponse(
            days=[
                pb.BrowseDay(start=_midnight(day), stored_bytes=size)
                for day, size in (await self._manager.days(actor)).items()
            ],
            sites=[_site(actor, site, spans[site]) for site in most],
            batch_count=len(ledger.batches),
            visit_count=ledger.outcomes[""],
            left_out=left_out_of(ledger.outcomes),
            imported_batch_ids=[batch for batch in request.batch_ids if batch in ledger.batches],
        )


def _settings(request: pb.MineSiteRequest) -> MiningSettings:
    problems = []
    if request.window_days and not 2 <= request.window_days <= _MAX_WINDOW_DAYS:
        rule = f"must be in [2, {_MAX_WINDOW_DAYS}], got {request.window_days}"
        problems.append(FieldProblem("window_days", rule))
    if len(request.news_labels) > _MAX_LABELS:
        rule = f"must be at most {_MAX_LABELS}, got {len(request.news_labels)}"
        problems.append(FieldProblem("news_labels", rule))
    if not 0 <= request.news_threshold < float("inf"):
        problems.append(FieldProblem("news_threshold", f"must be > 0, got {request.news_threshold}"))
    if problems:
        raise InvalidInput(problems)
    labels = {
        validate_url(label.url, f"news_labels[{i}].url", error=InvalidInput): label.is_news
        for i, label in enumerate(request.news_labels)
    }
    from linkscore_scoring.browse_logs.mining import MiningSettings  # slow to import, few servers mine

    return MiningSettings(news_labels=labels, news_threshold=request.news_threshold)


def _policies(actor: CrawlActor, site: str) -> list[pb.MinedPolicy]:
    shard = actor.model.shard(site)
    config = actor.model.config
    choices = {choice.name: choice for choice in (*config.extra_policies, config.policy)}
    return [
        pb.MinedPolicy(policy=name, summary=shard.policy(choices[name]).describe(shard.model))
        for name in reading_policies(actor)
    ]


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


def _midnight(day: int) -> Timestamp:
    return Timestamp(seconds=day * DAY_S)


def _duration(seconds: float) -> Duration:
    return Duration(seconds=int(seconds), nanos=int(seconds % 1 * 1e9))
