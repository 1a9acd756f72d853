"""Known pages that are due again, sitemaps and feeds among them: for a crawl with `LINKSCORE_REVISIT`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from scrapy import Request
from w3lib.url import canonicalize_url

from linkscore.scrapy.scoring import PageAnswer
from linkscore.scrapy.session import Session
from linkscore.sitemaps import MAX_DEPTH, MAX_SITEMAPS, kind_of, named_sitemaps
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

LISTING = "linkscore_listing"
"""Key of `Request.meta`: how many indexes are above a listing. It is kept in a job directory; a callback that
is no method of the spider could not be."""
VALIDATORS = ("ETag", "Last-Modified")
"""Headers of a response that are sent with its page: by them the next request is conditional."""
LISTING_KINDS = (common_pb2.PAGE_KIND_SITEMAP, common_pb2.PAGE_KIND_FEED)
_AT_ONCE = 1_000  # pages of one answer; the server gives 10,000 at most


def listing_request(url: str, above: int = 0) -> Request:
    """Return a request whose response, which the spider did not ask for, is kept from it."""
    return Request(url, meta={LISTING: above})


def is_listing(response: Any) -> bool:
    """Say whether a response was asked for as a sitemap or feed; what came instead is one too."""
    return LISTING in response.request.meta


class Listings:
    """Goes on from listings: to sitemaps that an index names, and to pages if the spider wants them.

    A spider wants them if it has a method `listed_request(url)`, which returns a Request, or None for a page
    that it does not want. What was followed once is not followed again, as Scrapy's duplicate filter has it.
    """

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler
        self._left = MAX_SITEMAPS
        self._due: set[str] = set()

    def are_due(self, urls: Iterable[str]) -> None:
        """Note what is asked for anyway, which is not followed: Scrapy's filter does not know it."""
        self._due.update(map(canonicalize_url, urls))

    def follow(self, response: Any, answer: PageAnswer) -> Iterator[Request]:
        """Yield requests for what a listing names, as far as the server read it."""
        if not kind_of(response.body):  # another page came in its place
            return
        urls = [url for url, _ in answer.tickets()]
        named = named_sitemaps(response.url, response.body, urls)
        if named is None:
            make = getattr(self._crawler.spider, "listed_request", lambda url: None)
            yield from filter(None, map(make, urls))
            return
        above = response.request.meta[LISTING]
        named = [url for url in named if canonicalize_url(url) not in self._due]
        named = named[: self._left] if above < MAX_DEPTH else []
        self._left -= len(named)
        for url in named:
            yield listing_request(url, above + 1)


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
        return await self._session.connection.call(
            lambda client: client.rank_revisits(crawl=crawl, page_size=size, page_token=token)
        )


def _conditional(request: Any, page: scoring_pb2.DuePage) -> Any:
    """Return a request that the site may answer with 304, by what it said of the copy."""
    headers = request.headers.copy()
    for name, value in (("If-None-Match", page.etag), ("If-Modified-Since", page.last_modified)):
        if value:
            headers.setdefault(name, value)
    return request.replace(headers=headers)
