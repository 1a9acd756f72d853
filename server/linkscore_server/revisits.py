"""Revisits as an annex of the server: `RankRevisits`, what it asks for and the answer."""

from __future__ import annotations

import heapq
from typing import Any, cast

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.revisits.companion import SiteRevisitor
from linkscore_scoring.revisits.site import SiteRevisits
from linkscore_scoring.revisits.values import Due
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.grpc.convert.names import parse_crawl, site_name, site_of
from linkscore_server.grpc.convert.pages import seconds_of
from linkscore_server.services import Host, Services

SETTING = "revisit"
"""Field of `Crawl` that the annex brings, and name of its companion."""
_DEFAULT_PAGES, _MOST_PAGES = 100, 10_000
"""Pages of one answer, as the contract says."""
_MOST_RANKED = 1_000_000
"""A bound: pages that several answers may go through."""
_REASONS = {
    "stale": pb.REVISIT_REASON_STALE,
    "hub": pb.REVISIT_REASON_HUB,
    "check": pb.REVISIT_REASON_CHECK,
}


class Revisits(Services):
    """Says which known pages to fetch again."""

    def __init__(self, host: Host) -> None:
        self._registry: CrawlRegistry = host.registry
        self._clock = host.clock
        self.methods = {"LinkScoringService/RankRevisits": self.rank_revisits}

    async def rank_revisits(self, request: pb.RankRevisitsRequest, context: Any) -> pb.RankRevisitsResponse:
        """Rank the known pages of a site, or of all sites of a crawl."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        size, start = _page(request)
        now_s = seconds_of(request.now, self._clock) if request.HasField("now") else self._clock()
        site = site_of(request.site, actor.model.config.name, "site") if request.site else ""
        return await actor.ask(lambda: _ranked(actor.model, site, now_s, size, start))


def _page(request: pb.RankRevisitsRequest) -> tuple[int, int]:
    """Return how many pages are asked for, and after how many they begin.

    Raises
    ------
    InvalidInput
        If they are too many, or the token is none.
    """
    if request.page_size > _MOST_PAGES:
        raise InvalidInput(f"must be at most {_MOST_PAGES}, got {request.page_size}", field="page_size")
    token = request.page_token or "0"
    if not (token.isascii() and token.isdigit() and len(token) < 8 and int(token) <= _MOST_RANKED):
        raise InvalidInput("must be the next_page_token of a call before", field="page_token")
    return request.page_size or _DEFAULT_PAGES, int(token)


def _ranked(model: CrawlModel, site: str, now_s: float, size: int, start: int) -> pb.RankRevisitsResponse:
    if SETTING not in model.config.companions:
        raise InvalidInput("must have `revisit`: UpdateCrawl sets it", field="crawl", reason="REQUIRED")
    names = [site] if site else sorted(model.sites)
    most, known, fresh = start + size, 0, 0.0
    due: list[tuple[str, Due]] = []
    for name in names:
        revisits = _of(model, name)
        due += ((name, page) for page in revisits.rank(now_s, most + 1))
        if len(names) > 1 and len(due) > most:  # those of all sites so far that can still be among the first
            due = heapq.nsmallest(most + 1, due, key=_order)
        fresh += len(revisits.pages) * revisits.expected_freshness(now_s)
        known += len(revisits.pages)
    due.sort(key=_order)
    crawl = model.config.name
    return pb.RankRevisitsResponse(
        pages=[_message(crawl, name, page) for name, page in due[start:most]],
        next_page_token=str(most) if len(due) > most and most <= _MOST_RANKED else "",
        expected_freshness=fresh / known if known else 1.0,
        event_seq=model.seq,
    )


def _order(found: tuple[str, Due]) -> tuple[float, str, int]:
    name, page = found
    return -page.worth, name, page.key


def _of(model: CrawlModel, site: str) -> SiteRevisits:
    return cast("SiteRevisitor", model.shard(site).companions[SETTING]).revisits


def _message(crawl: str, site: str, page: Due) -> pb.DuePage:
    message = pb.DuePage(
        url=page.url,
        site=site_name(crawl, site),
        worth=page.worth,
        reason=_REASONS[page.reason],
        expected_changes=page.changes,
        change_rate=page.rate,
        etag=page.validators.etag,
        last_modified=page.validators.last_modified,
    )
    message.last_fetch_time.FromSeconds(int(page.last_s))
    return message
