"""What is fetched beside the pages a spider asks for: files that reserve uses, known pages that are due."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.http.request import NO_CALLBACK

from linkscore.messages import failed_page, page
from linkscore.outages import OwedPage
from linkscore.scrapy.pages import PageAnswer, identity
from linkscore.scrapy.session import Session, download
from linkscore.session import FIRST_FAILURE
from linkscore.sitemaps import MAX_DEPTH, MAX_SITEMAPS, kind_of, named_sitemaps
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

logger = logging.getLogger("linkscore")

FILES = ("/robots.txt", "/.well-known/tdmrep.json")

_MAX_AGE_S = 86_400.0
"""Files older than a day are fetched again, as RFC 9309, section 2.4, has it for `robots.txt`."""
_MAX_KEPT = 1_000  # files of hosts none of whose pages came yet: a bound
_MAX_BYTES = 500 * 1024  # the server reads no more


class SiteFiles:
    """Sends `robots.txt` and `tdmrep.json` of each host before the first of its pages.

    What Scrapy fetched for `ROBOTSTXT_OBEY` is not fetched again. A file that cannot be had says nothing.
    """

    def __init__(self, crawler: Any, session: Session) -> None:
        self._crawler, self._session = crawler, session
        self._hosts: dict[str, tuple[float, asyncio.Task[None]]] = {}
        self._there: dict[str, common_pb2.Page] = {}
        crawler.signals.connect(self._received, signals.response_received)

    async def before(self, url: str) -> None:
        """Wait until the server has the files of the host of a URL."""
        parts = urlsplit(url)
        host = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        since, sending = self._hosts.get(host, (0.0, None))
        if sending is None or time.monotonic() - since > _MAX_AGE_S:
            sending = self._session.start(self._send(host))
            self._hosts[host] = time.monotonic(), sending
        await asyncio.shield(sending)

    def _received(self, response: Any, request: Any, spider: Any = None) -> None:
        asked = (request.meta.get("redirect_urls") or [request.url])[0]
        if request.callback is NO_CALLBACK and urlsplit(asked).path in FILES:
            self._there[asked] = _message(asked, response)
            if len(self._there) > _MAX_KEPT:
                del self._there[next(iter(self._there))]

    async def _send(self, host: str) -> None:
        for path in FILES:
            url = host + path
            try:
                if url not in self._there:
                    await download(self._crawler, _request(url))
            except Exception as error:
                logger.debug("linkscore: %s cannot be had: %r", url, error)
            if (found := self._there.pop(url, None)) is not None:
                await self._session.connection.ingest(OwedPage(found))


def _request(url: str) -> Any:
    meta = {"dont_obey_robotstxt": True, "allow_offsite": True}
    return Request(url, callback=NO_CALLBACK, dont_filter=True, meta=meta)


def _message(url: str, response: Any) -> common_pb2.Page:
    if response.status >= FIRST_FAILURE:
        return failed_page(url=url, status_code=response.status)
    return page(url=url, body=response.body[:_MAX_BYTES], content_type="text/plain")


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
        self._due.update(map(identity, urls))

    def follow(self, response: Any, answer: PageAnswer) -> Iterator[Request]:
        """Yield requests for what a listing names, as far as the server read it."""
        if not kind_of(response.body):  # another page came in its place
            return
        urls = [url for url, _ in answer.tickets()]
        asked = response.request.meta.get("redirect_urls", [""])[0]
        named = named_sitemaps(response.url, response.body, urls, asked=asked)
        if named is None:
            make = getattr(self._crawler.spider, "listed_request", lambda url: None)
            yield from filter(None, map(make, urls))
            return
        above = response.request.meta[LISTING]
        named = [url for url in named if identity(url) not in self._due]
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
        due = {identity(page.url): page for page in await self._due()}
        self._listings.are_due(page.url for page in due.values() if page.kind in LISTING_KINDS)
        async for thing in start:
            page = due.pop(identity(thing.url), None) if isinstance(thing, Request) else None
            yield thing if page is None else _conditional(thing, page)
        make = getattr(self._crawler.spider, "revisit_request", Request)
        for page in due.values():
            try:
                request = listing_request(page.url) if page.kind in LISTING_KINDS else make(page.url)
            except ValueError as error:  # no URL
                self._session.connection.failed(error)
                continue
            self._session.count("revisits")
            yield _conditional(request.replace(dont_filter=True), page)

    async def _due(self) -> list[scoring_pb2.DuePage]:
        pages: list[scoring_pb2.DuePage] = []
        config, more = self._session.config, True
        asked: dict[str, Any] = {"crawl": config.crawl, "page_token": ""}
        while more and (left := config.due_pages - len(pages)) > 0:
            asked["page_size"] = min(left, _AT_ONCE)
            answer = await self._session.connection.call(lambda client: client.rank_revisits(**asked))
            if answer is None:
                break
            pages += answer.pages
            asked["page_token"] = answer.next_page_token
            more = bool(answer.next_page_token)
        return pages


def _conditional(request: Any, page: scoring_pb2.DuePage) -> Any:
    """Return a request that the site may answer with 304, by what it said of the copy."""
    headers = request.headers.copy()
    for name, value in (("If-None-Match", page.etag), ("If-Modified-Since", page.last_modified)):
        if value:
            headers.setdefault(name, value)
    return request.replace(headers=headers)
