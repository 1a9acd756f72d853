"""Which known pages to fetch again: what `RankRevisits` asks for, and the answer."""

from __future__ import annotations

import heapq
from typing import cast

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.revisits.companion import SiteRevisitor
from linkscore_scoring.revisits.site import SiteRevisits
from linkscore_scoring.revisits.values import Due
from linkscore_server.grpc.convert.names import site_name
from linkscore_server.grpc.convert.revisits import DUE_PAGES, MAX_DUE_PAGES, MAX_RANKED

_REASONS = {
    "stale": pb.REVISIT_REASON_STALE,
    "hub": pb.REVISIT_REASON_HUB,
    "check": pb.REVISIT_REASON_CHECK,
}

_KINDS = {
    "page": common_pb2.PAGE_KIND_PAGE,
    "sitemap": common_pb2.PAGE_KIND_SITEMAP,
    "feed": common_pb2.PAGE_KIND_FEED,
}


def page_of(request: pb.RankRevisitsRequest) -> tuple[int, int]:
    """Return how many pages are asked for, and after how many they begin.

    Raises
    ------
    InvalidInput
        If they are too many, or the token is none.
    """
    if request.page_size > MAX_DUE_PAGES:
        raise InvalidInput(f"must be at most {MAX_DUE_PAGES}, got {request.page_size}", field="page_size")
    token = request.page_token or "0"
    if not (token.isascii() and token.isdigit() and len(token) < 8 and int(token) <= MAX_RANKED):
        raise InvalidInput("must be the next_page_token of a call before", field="page_token")
    return request.page_size or DUE_PAGES, int(token)


def ranked(model: CrawlModel, site: str, now_s: float, size: int, start: int) -> pb.RankRevisitsResponse:
    """Return the answer about a site, or about all if it is empty; cost O(known pages).

    Raises
    ------
    InvalidInput
        If the crawl does not fetch again.
    """
    check_set(model)
    names = [site] if site else sorted(model.sites)
    most, known, fresh = start + size, 0, 0.0
    due: list[tuple[str, Due]] = []
    for name in names:
        revisits = revisits_of(model, name)
        due += ((name, page) for page in revisits.rank(now_s, most + 1))
        if len(names) > 1 and len(due) > most:  # those of all sites so far that can still be among the first
            due = heapq.nsmallest(most + 1, due, key=_order)
        fresh += len(revisits.pages) * revisits.expected_freshness(now_s)
        known += len(revisits.pages)
    due.sort(key=_order)
    crawl = model.config.name
    return pb.RankRevisitsResponse(
        pages=[_message(crawl, name, page) for name, page in due[start:most]],
        next_page_token=str(most) if len(due) > most and most <= MAX_RANKED else "",
        expected_freshness=fresh / known if known else 1.0,
        event_seq=model.seq,
        known_page_count=known,
    )


def _order(found: tuple[str, Due]) -> tuple[float, str, int]:
    name, page = found
    return -page.worth, name, page.key


def check_set(model: CrawlModel) -> None:
    """Refuse a crawl that does not fetch again.

    Raises
    ------
    InvalidInput
        Naming what it lacks.
    """
    if model.config.revisit is None:
        raise InvalidInput("must have `revisit`: UpdateCrawl sets it", field="crawl", reason="REQUIRED")


def revisits_of(model: CrawlModel, site: str) -> SiteRevisits:
    """Return what a known site of a crawl that fetches again knows of its pages."""
    return cast("SiteRevisitor", model.shard(site).revisitor).revisits


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
        kind=_KINDS[page.kind],
    )
    message.last_fetch_time.FromSeconds(int(page.last_s))
    return message
