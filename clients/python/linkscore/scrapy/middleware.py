"""The spider middleware: every response goes to the server, every Request comes out with its priority."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, Self
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import is_asyncio_reactor_installed

from linkscore.messages import FIRST_FAILURE, failed_page, page
from linkscore.scrapy.queue import BucketQueue
from linkscore.scrapy.session import (
    FETCHED,
    META,
    RESERVING,
    FetchedPage,
    PageAnswer,
    Session,
    asked_url,
    identity,
    is_web,
    note_of,
    page_message,
    ticket_of,
)
from linkscore.session import OwedPage
from linkscore.sitemaps import MAX_DEPTH, MAX_SITEMAPS, kind_of, named_sitemaps
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

logger = logging.getLogger(__name__)

GROUP = 500
"""A spider that yields many Requests gets them scheduled in groups of this size; chosen, not measured."""

VALIDATORS = ("ETag", "Last-Modified")
"""Headers of a response that are sent with its page: by them the next request is conditional."""


class LinkscoreMiddleware:
    """Scores the links of a Scrapy crawl.

    Put it below 50, next to the engine, so that it sees failed responses before they are filtered and
    Requests after they are. Items pass at once; Requests wait for one answer of the server, at most
    `LINKSCORE_TIMEOUT`. Without an answer they wait where links like them were last found, or unscored, and
    `linkscore/fallback` counts them; when the server is back they are scored.
    """

    def __init__(self, crawler: Any) -> None:
        self._crawler = crawler
        self._session = Session.of(crawler)
        self._config = config = self._session.config
        self._is_due = config.revisit is not None
        self._sent_headers = RESERVING * bool(config.respect) + VALIDATORS * self._is_due
        self._site_files = SiteFiles(crawler, self._session) if config.respect else None
        self._revisits = Revisits(crawler, self._session)

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        """Make the middleware; without asyncio it is disabled and the crawl is as if it were not there."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            if not is_asyncio_reactor_installed():
                raise NotConfigured("linkscore needs Scrapy's asyncio reactor, see TWISTED_REACTOR") from None
        self = cls(crawler)
        self._config.check_server()
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._item, signals.item_scraped)
        crawler.signals.connect(self._item, signals.item_dropped)
        crawler.signals.connect(self._session.close, signals.spider_closed)
        return self

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass the start requests, and those for known pages that are due."""
        is_due = self._is_due and not self._config.observe_only
        async for thing in self._revisits.after(start) if is_due else start:
            yield thing

    def process_spider_input(self, response: Any, spider: Any = None) -> None:
        """Send the response; its scores are on their way while the spider reads it.

        What was asked for as a listing is not for the spider. Only now its request gets a callback that says
        so: one that waits in a job directory can have no callback but those of the spider.
        """
        self._fetched_page(response)
        if is_listing(response):
            response.request.callback = self._read_listing

    def process_spider_exception(self, response: Any, exception: Exception, spider: Any = None) -> None:
        """Send a response the spider never got or failed on: it was fetched all the same."""
        self._fetched_page(response)

    async def _read_listing(self, response: Any) -> AsyncIterator[Any]:
        """Read a listing in place of the spider."""
        pending = self._fetched_page(response).answer
        answer = await asyncio.shield(pending) if pending is not None else None
        if answer is not None:
            for request in self._revisits.follow(response, answer):
                yield request

    async def process_spider_output(
        self, response: Any, result: AsyncIterator[Any], spider: Any = None
    ) -> AsyncIterator[Any]:
        """Pass items at once and Requests with their scores."""
        fetched = self._fetched_page(response)
        held: list[Any] = []
        error: Exception | None = None
        try:
            async for thing in result:
                if not isinstance(thing, Request):
                    fetched.handed_on += 1
                    yield thing
                    continue
                held.append(thing)
                if self._config.observe_only or len(held) >= GROUP:
                    async for request in self._release(fetched, held):
                        yield request
                    held = []
        except Exception as e:  # what was yielded before it counts
            error = e
        async for request in self._release(fetched, held):
            yield request
        if not fetched.handed_on and 200 <= response.status < 300 and not is_listing(response):
            self._session.no_item(fetched)
        self._session.released.add(response.request)
        self._session.nudge()
        if error is not None:
            raise error

    async def _release(self, fetched: FetchedPage, requests: Sequence[Any]) -> AsyncIterator[Any]:
        if not self._config.observe_only:
            try:
                requests = await self._session.scored(fetched, requests)
            except Exception as error:  # whatever it is: the spider is not to pay for it
                self._session.met(error)
        self._session.releasing += 1
        try:
            for request in requests:
                yield request
        finally:
            self._session.releasing -= 1

    def _fetched_page(self, response: Any) -> FetchedPage:
        fetched = FETCHED.get(response)
        if fetched is None:
            sent = page_message(response, self._sent_headers, listings=self._is_due)
            fetched = FETCHED[response] = self._sent(response.request, sent)
        return fetched

    def _sent(self, request: Any, sent: common_pb2.Page) -> FetchedPage:
        """Tell the server what came of a request."""
        fetched = FetchedPage(OwedPage(sent))
        self._session.outlook.fetched(sent.url, is_page=0 < sent.status_code < FIRST_FAILURE)
        if is_web(sent.url):
            self._session.awaiting.add(request)
            fetched.answer = self._session.beside(self._answer(fetched.owed, request))
        return fetched

    async def _answer(self, owed: OwedPage, request: Any) -> PageAnswer | None:
        is_failure = not owed.page.status_code
        if self._site_files is not None and not is_failure:
            await self._site_files.before(request.url)
        answer = await self._session.answer(owed)
        self._session.answered(request)
        if answer is not None and answer.page_info:
            request.meta[META] = note_of(request) | answer.page_info
        if is_failure and not self._config.observe_only:
            await self._session.rank_if_due()
        if is_failure or self._config.budget:  # a page that no spider reads lets nothing else go
            self._session.nudge()
        return answer

    def _opened(self) -> None:
        methods = self._crawler.engine.downloader.middleware.methods
        methods["process_exception"].append(self._fetch_failed)
        if self._session.allowance.asks_again and not self._config.observe_only:
            methods["process_request"].appendleft(self._before_fetch)
        queue = load_object(self._crawler.settings["SCHEDULER_PRIORITY_QUEUE"])
        if not self._config.observe_only and not issubclass(queue, BucketQueue):
            logger.warning(
                "linkscore: requests keep the order they were found in; "
                'set SCHEDULER_PRIORITY_QUEUE = "linkscore.scrapy.BucketQueue"'
            )
        self._session.beside(self._session.greet())

    async def _before_fetch(self, request: Any, spider: Any = None) -> None:
        """Ask about a link once more: it may be in a trap by now."""
        ticket = ticket_of(request)
        if ticket and await self._session.is_to_skip(request.url, ticket):
            self._session.count("skipped")
            self._session.answered(request)
            raise IgnoreRequest("linkscore: to skip by now")

    def _fetch_failed(self, request: Any, exception: Exception, spider: Any = None) -> None:
        if isinstance(exception, IgnoreRequest) or request.callback is NO_CALLBACK or not is_web(request.url):
            return
        self._session.count("failed")
        why = type(exception.__cause__ or exception).__name__
        self._sent(request, page(url=asked_url(request), fetch_error=why, ticket=ticket_of(request)))

    def _item(self, response: Any, signal: Any) -> None:
        fetched = FETCHED.get(response) if isinstance(response, Response) else None
        if fetched is not None:
            (self._session.item_scraped if signal is signals.item_scraped else self._session.no_item)(fetched)


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
            sending = self._session.beside(self._send(host))
            self._hosts[host] = time.monotonic(), sending
        await asyncio.shield(sending)

    def _received(self, response: Any, request: Any, spider: Any = None) -> None:
        asked = (request.meta.get("redirect_urls") or [request.url])[0]
        if request.callback is not NO_CALLBACK or urlsplit(asked).path not in FILES:
            return
        if response.status >= FIRST_FAILURE:
            self._there[asked] = failed_page(url=asked, status_code=response.status)
        else:
            self._there[asked] = page(url=asked, body=response.body[:_MAX_BYTES], content_type="text/plain")
        if len(self._there) > _MAX_KEPT:
            del self._there[next(iter(self._there))]

    async def _send(self, host: str) -> None:
        for url in (host + path for path in FILES):
            try:
                if url not in self._there:
                    await self._download(url)
            except Exception as error:
                logger.debug("linkscore: %s cannot be had: %r", url, error)
            if (found := self._there.pop(url, None)) is not None:
                await self._session.ingest(OwedPage(found))

    async def _download(self, url: str) -> None:
        """Download something beside the crawl, as `robots.txt` is."""
        meta = {"dont_obey_robotstxt": True, "allow_offsite": True}
        request = Request(url, callback=NO_CALLBACK, dont_filter=True, meta=meta)
        engine = self._crawler.engine
        if hasattr(engine, "download_async"):  # since Scrapy 2.14
            await engine.download_async(request)
        else:
            await maybe_deferred_to_future(engine.download(request))


LISTING = "linkscore_listing"
"""Key of `Request.meta`: how many indexes are above a listing. It is kept in a job directory; a callback that
is no method of the spider could not be."""
_LISTING_KINDS = (common_pb2.PAGE_KIND_SITEMAP, common_pb2.PAGE_KIND_FEED)


def is_listing(response: Any) -> bool:
    """Say whether a response was asked for as a sitemap or feed; what came instead is one too."""
    return LISTING in response.request.meta


class Revisits:
    """Adds the pages that are due to the start requests of a spider, and goes on from listings among them.

    A start request for a page that is due becomes conditional. The others come after the start requests, best
    first. A spider whose pages have callbacks of their own has a method `revisit_request(url)` that returns
    the Request; without it, they go to `parse`. Sitemaps and feeds go to neither: an index leads to the
    sitemaps that it names, others to pages if the spider wants them. It does if it has a method
    `listed_request(url)`, which returns a Request, or None for a page that it does not want. What was
    followed once is not followed again, as Scrapy's duplicate filter has it.
    """

    def __init__(self, crawler: Any, session: Session) -> None:
        self._crawler, self._session = crawler, session
        self._left = MAX_SITEMAPS
        self._due: dict[str, scoring_pb2.DuePage] = {}

    async def after(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass start requests on, and what is due."""
        await self._ask()
        left = self._due.copy()
        async for thing in start:
            due = left.pop(identity(thing.url), None) if isinstance(thing, Request) else None
            yield thing if due is None else _conditional(thing, due)
        make = getattr(self._crawler.spider, "revisit_request", Request)
        for due in left.values():
            try:
                made = _listing_request(due.url) if due.kind in _LISTING_KINDS else make(due.url)
            except ValueError as error:  # no URL
                self._session.met(error)
                continue
            self._session.count("revisits")
            yield _conditional(made.replace(dont_filter=True), due)

    async def _ask(self) -> None:
        crawl, most = self._session.config.crawl, self._session.config.due_pages
        if not most:
            return
        answer = await self._session.call(lambda client: client.rank_revisits(crawl=crawl, max_results=most))
        if answer is not None:
            self._due = {identity(each.url): each for each in answer.pages}

    def follow(self, response: Any, answer: PageAnswer) -> Iterator[Request]:
        """Yield requests for what a listing names, as far as the server read it."""
        if not kind_of(response.body):  # another page came in its place
            return
        asked = response.request.meta.get("redirect_urls", [""])[0]
        named = named_sitemaps(response.url, response.body, answer.urls, asked=asked)
        if named is None:
            make = getattr(self._crawler.spider, "listed_request", lambda url: None)
            yield from filter(None, map(make, answer.urls))
            return
        above = response.request.meta[LISTING]
        # What is due is asked for anyway, and Scrapy's filter does not know it.
        kinds = {url: due.kind for url, due in self._due.items()}
        named = [url for url in named if kinds.get(identity(url)) not in _LISTING_KINDS]
        named = named[: self._left] if above < MAX_DEPTH else []
        self._left -= len(named)
        for url in named:
            yield _listing_request(url, above + 1)


def _listing_request(url: str, above: int = 0) -> Request:
    """Return a request whose response, which the spider did not ask for, is kept from it."""
    return Request(url, meta={LISTING: above})


def _conditional(request: Any, due: scoring_pb2.DuePage) -> Any:
    """Return a request that the site may answer with 304, by what it said of the copy."""
    headers = request.headers.copy()
    for name, value in (("If-None-Match", due.etag), ("If-Modified-Since", due.last_modified)):
        if value:
            headers.setdefault(name, value)
    return request.replace(headers=headers)
