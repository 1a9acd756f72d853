"""The spider middleware: every response goes to the server, every Request comes out with its priority."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Self
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import is_asyncio_reactor_installed

from linkscore.messages import Row, failed_page, is_dropped, page, rows
from linkscore.outages import OwedPage
from linkscore.scrapy.pages import (
    ANSWERS,
    META,
    RESERVING,
    FetchedPage,
    PageAnswer,
    asked_url,
    fetch_error,
    headers_of,
    identity,
    is_web,
    mark,
    note_of,
    page_message,
    ticket_of,
)
from linkscore.scrapy.queue import BucketQueue
from linkscore.scrapy.session import Session, download, hook, nudge
from linkscore.session import FIRST_FAILURE
from linkscore.sitemaps import MAX_DEPTH, MAX_SITEMAPS, kind_of, named_sitemaps
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

logger = logging.getLogger(__name__)

GROUP = 500
"""A spider that yields many Requests gets them scheduled in groups of this size; chosen, not measured."""

FLUSH_AT, FLUSH_AFTER_S = 100, 2.0
"""Feedback waits for so many pages or seconds, chosen: it follows its items soon, in few calls."""


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
        self._scorer = Scorer(self._session)
        self._reporter = Reporter(self._session)
        config = self._session.config
        self._sent_headers = (
            *(RESERVING if config.respect else ()),
            *(VALIDATORS if config.revisit is not None else ()),
        )
        self._site_files = SiteFiles(crawler, self._session) if self._session.config.respect else None
        self._fetched: WeakKeyDictionary[Any, FetchedPage] = WeakKeyDictionary()
        self._listings = Listings(crawler)

    @classmethod
    def from_crawler(cls, crawler: Any) -> Self:
        """Make the middleware; without asyncio it is disabled and the crawl is as if it were not there."""
        if not _has_asyncio():
            raise NotConfigured("linkscore needs Scrapy's asyncio reactor, see TWISTED_REACTOR")
        self = cls(crawler)
        self._session.config.check_server()
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._item, signals.item_scraped)
        crawler.signals.connect(self._item, signals.item_dropped)
        crawler.signals.connect(self._closed, signals.spider_closed)
        return self

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass the start requests, and those for known pages that are due."""
        is_due = self._session.config.revisit is not None and not self._session.config.observe_only
        due = DueRequests(self._crawler, self._session, self._listings)
        async for thing in due.after(start) if is_due else start:
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
        fetched = self._fetched_page(response)
        answer = await asyncio.shield(fetched.answer)
        if answer is not None:
            for request in self._listings.follow(response, answer):
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
                if self._session.config.observe_only or len(held) >= GROUP:
                    async for request in self._release(fetched, held):
                        yield request
                    held = []
        except Exception as e:  # what was yielded before it counts
            error = e
        async for request in self._release(fetched, held):
            yield request
        self._finished(response, fetched)
        if error is not None:
            raise error

    async def _release(self, fetched: FetchedPage, requests: list[Any]) -> AsyncIterator[Any]:
        if not self._session.config.observe_only:
            try:
                requests = await self._scorer.score(fetched, requests)
            except Exception as error:  # whatever it is: the spider is not to pay for it
                self._session.connection.failed(error)
        self._session.releasing += 1
        try:
            for request in requests:
                yield request
        finally:
            self._session.releasing -= 1

    def _finished(self, response: Any, fetched: FetchedPage) -> None:
        if not fetched.handed_on and 200 <= response.status < 300 and not is_listing(response):
            self._reporter.empty(fetched)
        self._session.released.add(response.request)
        nudge(self._crawler)

    def _fetched_page(self, response: Any) -> FetchedPage:
        fetched = self._fetched.get(response)
        if fetched is None:
            fetched = FetchedPage(asked_url(response.request), ticket_of(response.request))
            self._fetched[response] = fetched
            self._session.outlook.fetched(fetched.url, is_page=response.status < FIRST_FAILURE)
            if is_web(fetched.url):
                headers = headers_of(response, self._sent_headers)
                listings = self._session.config.revisit is not None
                fetched.owed = OwedPage(page_message(fetched, response, headers, listings=listings))
                self._session.awaiting.add(response.request)
                fetched.answer = self._session.start(self._answer(fetched.owed, response.request))
                ANSWERS[response] = fetched.answer
        return fetched

    async def _answer(self, page: OwedPage, request: Any) -> PageAnswer | None:
        if self._site_files is not None:
            await self._site_files.before(request.url)
        answer = await self._scorer.ingest(page)
        self._session.answered(request)
        if answer is not None and answer.page_info:
            request.meta[META] = note_of(request) | answer.page_info
        if self._session.config.budget:  # a page that no spider reads lets nothing else go
            nudge(self._crawler)
        return answer

    def _opened(self) -> None:
        if not hook(self._crawler, "process_exception", self._fetch_failed, first=False):
            logger.warning("linkscore cannot see failed fetches with this downloader")
        queue = load_object(self._crawler.settings["SCHEDULER_PRIORITY_QUEUE"])
        if not self._session.config.observe_only and not issubclass(queue, BucketQueue):
            logger.warning(
                "linkscore: requests keep the order they were found in; "
                'set SCHEDULER_PRIORITY_QUEUE = "linkscore.scrapy.BucketQueue"'
            )
        if self._session.allowance.asks_again and not self._session.config.observe_only:
            hook(self._crawler, "process_request", self._before_fetch, first=True)
        self._session.start(self._session.greet())

    async def _before_fetch(self, request: Any, spider: Any = None) -> None:
        """Ask about a link once more: it may be in a trap by now."""
        ticket = ticket_of(request)
        if ticket and await self._session.connection.is_to_skip(request.url, ticket):
            self._session.count("skipped")
            self._session.answered(request)
            raise IgnoreRequest("linkscore: to skip by now")

    def _fetch_failed(self, request: Any, exception: Exception, spider: Any = None) -> None:
        if isinstance(exception, IgnoreRequest) or request.callback is NO_CALLBACK or not is_web(request.url):
            return
        self._session.count("failed")
        sent = page(url=asked_url(request), fetch_error=fetch_error(exception), ticket=ticket_of(request))
        self._session.awaiting.add(request)
        self._session.outlook.fetched(sent.url, is_page=False)
        self._session.start(self._failed(sent, request))

    async def _failed(self, sent: common_pb2.Page, request: Any) -> None:
        await self._scorer.ingest(OwedPage(sent))
        self._session.answered(request)
        if not self._session.config.observe_only:
            await self._session.rank_if_due()
            nudge(self._crawler)

    def _item(self, response: Any, signal: Any) -> None:
        fetched = self._fetched.get(response) if isinstance(response, Response) else None
        if fetched is not None:
            is_scraped = signal is signals.item_scraped
            (self._reporter.scraped if is_scraped else self._reporter.dropped)(fetched)

    async def _closed(self) -> None:
        await self._session.close()


class Scorer:
    """Turns pages into answers and answers into priorities."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def ingest(self, owed: OwedPage) -> PageAnswer | None:
        """Send one page; None if the server does not answer, or does not take the page."""
        result = await self._session.connection.ingest(owed)
        if result is None:
            return None
        self._session.count("pages")
        self._session.count("reserved", bool(result.reserved_uses))
        return PageAnswer(result.links, page_type=result.page_type, thread_id=result.thread_id)

    async def score(self, fetched: FetchedPage, requests: list[Any]) -> list[Any]:
        """Write score, ticket, buckets and priority into Requests; on an outage a guess, until it is over."""
        for request in requests:
            request.meta.pop(META, None)  # what a spider copied from the page before
        found = await asyncio.shield(fetched.answer) if fetched.answer is not None else None
        if found is None:
            self._session.allotment.lift()
            self._session.count("fallback", len(requests))
            if fetched.owed is not None:
                self._session.owe(fetched.owed, requests)
            return requests
        pairs = await self._rows(found, requests)
        await self._session.rank_if_due(Counter(of[0].bucket for _, of in pairs if of))
        return [request for request, of in pairs if self._keep(request, of)]

    async def _rows(self, found: PageAnswer, requests: list[Any]) -> list[tuple[Any, list[Row]]]:
        """Pair Requests with their rows; links that no anchor has, which the spider made, are asked about."""
        pairs = [(request, found.of(request.url)) for request in requests]
        unknown = [request for request, of in pairs if not of and is_web(request.url)]
        if not unknown:
            return pairs
        scores = await self._session.connection.score([request.url for request in unknown])
        if scores is None:
            return pairs
        asked = {id(unknown[row.index]): [row] for row in rows(scores) if row.usable}
        return [(request, of or asked.get(id(request), [])) for request, of in pairs]

    def _keep(self, request: Any, found: list[Row]) -> bool:
        if not found:
            self._session.count("fallback")
            return True
        if self._skips(found[0]):
            self._session.count("skipped")
            return False
        mark(request, found)
        self._session.count("scored")
        return True

    def _skips(self, row: Row) -> bool:
        """Say whether a link is dropped; one whose crawl or site has stopped waits for more budget."""
        if row.skip_reason:
            return is_dropped(row.skip_reason)
        return row.verdict == common_pb2.VERDICT_SKIP and self._session.config.obey_skip


class Reporter:
    """Says what extraction found on pages: once with the number of its items, or once that there is none."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._any_item = False  # until one passed, a page without an item says nothing
        self._timer: asyncio.TimerHandle | None = None

    def scraped(self, fetched: FetchedPage) -> None:
        """Note an item that passed the pipelines."""
        fetched.scraped += 1
        self._any_item = True
        self._session.connection.withdraw_feedback(f"{fetched.event_id}:none")
        self._owe(fetched, "items")

    def dropped(self, fetched: FetchedPage) -> None:
        """Note an item a pipeline dropped."""
        if not fetched.scraped:
            self._owe(fetched, "none")

    def empty(self, fetched: FetchedPage) -> None:
        """Note a page the spider found no item on."""
        if self._any_item and self._session.config.report_empty:
            self._owe(fetched, "none")

    def _owe(self, fetched: FetchedPage, verdict: str) -> None:
        connection, session = self._session.connection, self._session
        connection.owe_feedback(
            scoring_pb2.Feedback(
                event_id=f"{fetched.event_id}:{verdict}",
                url=fetched.url,
                ticket=fetched.ticket,
                item_count=fetched.scraped,
            )
        )
        if connection.unsaid == FLUSH_AT:
            session.start(connection.send_feedback())
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_AFTER_S, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._session.start(self._session.connection.send_feedback())


def _has_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return bool(is_asyncio_reactor_installed())
    return True


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
