"""Known pages that are due again: a crawl with `LINKSCORE_REVISIT` asks for them when it starts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from scrapy import Request
from w3lib.url import canonicalize_url

from linkscore.scrapy.listings import Listings, listing_request
from linkscore.scrapy.session import Session
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

VALIDATORS = ("ETag", "Last-Modified")
"""Headers of a response that are sent with its page: by them the next request is conditional."""
LISTING_KINDS = (common_pb2.PAGE_KIND_SITEMAP, common_pb2.PAGE_KIND_FEED)
NOT_MODIFIED = 304  # RFC 9110, section 15.4.5
_AT_ONCE = 1_000  # pages of one answer; the server gives 10,000 at most


class DueRequests:
    """Adds the pages that are due to the start requests of a spider.

    A start request for a page that is due becomes conditional. The others come after the start requests, best
    first. A spider whose pages have callbacks of their own has a method `revisit_request(url)` that returns
    the Request; without it, they go to `parse`. Sitemaps and feeds go to neither, see `listings`.
    """

    def __init__(self, crawler: Any, session: Session, listings: Listings) -> None:
        self._crawler, self._session, self._listings = crawler, session, listings

    async def after(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass start requests on, and what is due."""
        due = {canonicalize_url(page.url): page for page in await self._due()}
        self._listings.are_due(page.url for page in due.values() if page.kind in LISTING_KINDS)
        async for thing in start:
            page = due.pop(canonicalize_url(thing.url), None) if isinstance(thing, Request) else None
            yield thing if page is None else _conditional(thing, page)
        make = getattr(self._crawler.spider, "revisit_request", Request)
        for page in due.values():
            self._session.count("revisits")
            request = listing_request(page.url) if page.kind in LISTING_KINDS else make(page.url)
            yield _conditional(request.replace(dont_filter=True), page)

    async def _due(self) -> list[scoring_pb2.DuePage]:
        pages: list[scoring_pb2.DuePage] = []
        left, token = self._session.config.revisit_pages, ""
        while left > 0:
            answer = await self._page(min(left, _AT_ONCE), token)
            if answer is None:
                break
            pages += answer.pages
            left, token = left - len(answer.pages), answer.next_page_token
            if not token:
                break
        return pages

    async def _page(self, size: int, token: str) -> scoring_pb2.RankRevisitsResponse | None:
        crawl = self._session.config.crawl
        return await self._session.call(
            lambda client: client.rank_revisits(crawl=crawl, page_size=size, page_token=token)
        )


def _conditional(request: Any, page: scoring_pb2.DuePage) -> Any:
    """Return a request that the site may answer with 304, by what it said of the copy."""
    headers = request.headers.copy()
    for name, value in (("If-None-Match", page.etag), ("If-Modified-Since", page.last_modified)):
        if value:
            headers.setdefault(name, value)
    return request.replace(headers=headers)
