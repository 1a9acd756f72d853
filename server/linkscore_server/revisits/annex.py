"""Revisits as an annex of the server: its methods, and what it counts."""

from __future__ import annotations

from functools import partial
from typing import Any

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.grpc.convert.names import parse_crawl, site_of
from linkscore_server.grpc.convert.pages import seconds_of
from linkscore_server.revisits.metrics import RevisitMetrics
from linkscore_server.revisits.notices import take_notices
from linkscore_server.revisits.ranking import page_of, ranked
from linkscore_server.services import Host, Services


class Revisits(Services):
    """Says which known pages to fetch again, and hears of changes."""

    def __init__(self, host: Host) -> None:
        self._registry = host.registry
        self._clock = host.clock
        self._metrics = RevisitMetrics(host.metrics.registry)
        self.methods = {
            "LinkScoringService/RankRevisits": self.rank_revisits,
            "LinkScoringService/NotifyChanged": self.notify_changed,
        }

    def opened(self, actor: CrawlActor) -> None:
        """Count what is fetched again from now on."""
        actor.listeners.append(self._metrics.applied)

    async def rank_revisits(self, request: pb.RankRevisitsRequest, context: Any) -> pb.RankRevisitsResponse:
        """Rank the known pages of a site, or of all sites of a crawl."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        size, start = page_of(request)
        now_s = seconds_of(request.now, self._clock) if request.HasField("now") else self._clock()
        site = site_of(request.site, actor.model.config.name, "site") if request.site else ""
        return await actor.ask(partial(ranked, actor.model, site, now_s, size, start))

    async def notify_changed(
        self, request: pb.NotifyChangedRequest, context: Any
    ) -> pb.NotifyChangedResponse:
        """Take in that known pages are said to have changed."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        self._registry.check_room()
        answer = await take_notices(actor, request, self._clock)
        self._metrics.noticed(status.outcome for status in answer.statuses)
        return answer
