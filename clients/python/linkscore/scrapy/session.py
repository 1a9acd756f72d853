"""One Scrapy crawl: what its server is told, what Requests carry of the answers, and what the engine does.

The middleware and the queues share its `Session`; it fails open.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self
from urllib.parse import urldefrag
from weakref import WeakKeyDictionary, WeakSet

from scrapy.http import TextResponse
from scrapy.utils.defer import maybe_deferred_to_future
from w3lib.url import canonicalize_url

from linkscore.frontier import GUESSED, MAX_PLACES, Item, Place
from linkscore.messages import Row, is_dropped, page, rows
from linkscore.scrapy.config import Config
from linkscore.session import MAX_BODY_BYTES, NOT_MODIFIED, CrawlSession, OwedPage
from linkscore.sitemaps import kind_of, packed
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

logger = logging.getLogger("linkscore")

META = "linkscore"
"""Key of `Request.meta` under which a scored request keeps what linkscore said about it."""

RESERVING = ("X-Robots-Tag", "Content-Signal", "TDM-Reservation")
"""Headers by which a site may reserve uses."""

WAITING_PER_SLOT = 2
"""Requests that may wait in a host's download slot for its delay to pass; chosen, not measured."""

FEEDBACK_AFTER_S = 2.0
"""Feedback waits so long, chosen: it follows its items soon, in few calls."""

_PRIORITIES = 31  # of scores from 0 to 1, where another queue than `BucketQueue` orders by them. Chosen
_MAX_PLACES = 10_000  # links that one call hands out at most, as the contract says
# Chosen, not measured: names a fetch may cost. With more buckets the order is refreshed more seldom.
_NAMES_PER_FETCH = 500


@dataclass(slots=True, eq=False)
class FetchedPage:
    """One fetched page on its way through the spider.

    `answer` is the task of the server's answer, None of pages that are not sent; `handed_on` and `scraped`
    count items that the spider gave, and that passed the pipelines.
    """

    owed: OwedPage
    answer: asyncio.Future[PageAnswer | None] | None = None
    handed_on: int = 0
    scraped: int = 0


def asked_url(request: Any) -> str:
    """Give the URL that a request asked for first: redirects count for it."""
    return urldefrag(str((request.meta.get("redirect_urls") or [request.url])[0])).url


def page_message(response: Any, headers: Iterable[str] = (), *, listings: bool = False) -> common_pb2.Page:
    """Build the page of a response, with its headers of some names. Bodies that are no text stay here.

    With `listings` sitemaps and feeds, packed ones too, are sent as what they are.
    """
    url, final = asked_url(response.request), urldefrag(response.url).url
    kind = kind_of(response.body) if listings else common_pb2.PAGE_KIND_UNSPECIFIED
    is_same = response.status == NOT_MODIFIED  # its body, of whatever type Scrapy takes it for, is none
    body = None
    if kind or (not is_same and isinstance(response, TextResponse)):
        body = (packed(response.body) if kind else None) or response.body[:MAX_BODY_BYTES]
    pairs = ((name, value) for name in headers for value in response.headers.getlist(name))
    return page(
        url=url,
        final_url=final if final != url else "",
        status_code=response.status,
        content_type=(response.headers.get("Content-Type") or b"").decode("latin-1"),
        body=body,
        ticket=ticket_of(response.request),
        headers=[(name, value.decode("latin-1")) for name, value in pairs],
        kind=kind,
        not_modified=is_same,
    )


def identity(url: str) -> str:
    """Give a URL as Scrapy's duplicate filter compares it; what is none as it is."""
    try:
        return str(canonicalize_url(url))
    except ValueError:
        return url


class PageAnswer:
    """The rows of one page by URL, best first; the same URL through several link paths has several.

    `page_info` is what the answer says about the page itself: `page_type` and `thread_id`, as far as known.
    """

    def __init__(self, result: scoring_pb2.PageResult) -> None:
        self.page_info: dict[str, str] = {}
        if result.page_type:
            self.page_info["page_type"] = _word(common_pb2.PageType, result.page_type, "PAGE_TYPE_")
        if result.thread_id:
            self.page_info["thread_id"] = result.thread_id
        self._by_url: dict[str, list[Row]] = {}
        for row in sorted(rows(result.links), key=lambda row: -row.score):
            if row.usable and row.url:
                self._by_url.setdefault(row.url, []).append(row)

    @property
    def urls(self) -> Iterable[str]:
        """The links of the page, best first."""
        return self._by_url.keys()

    @cached_property
    def _by_identity(self) -> dict[str, list[Row]]:
        return {identity(known): found for known, found in self._by_url.items()}

    def of(self, url: str) -> list[Row]:
        """Give the rows of a URL: as it stands, else by the identity Scrapy's duplicate filter uses."""
        return self._by_url.get(urldefrag(url).url) or self._by_identity.get(identity(url), [])


def is_web(url: str) -> bool:
    """Say whether the server takes a URL: http and https only."""
    return url.startswith(("http://", "https://"))


def _word(kind: Any, number: int, prefix: str) -> str:
    """Give an enum value as a word; the number of one that is newer than this client."""
    return str(kind.Name(number)).removeprefix(prefix).lower() if number in kind.values() else str(number)


def mark(request: Any, found: Sequence[Row]) -> None:
    """Write into a Request what its rows say.

    A positive priority the spider chose itself is kept on top of that of the score, and such a request waits
    in no bucket: it goes ahead of them.
    """
    best = found[0]
    note: dict[str, Any] = {"score": best.score, "ticket": best.ticket}
    own = max(0, request.priority)
    request.priority = own + round(_PRIORITIES * best.score)
    if not own:
        # Plain tuples: the meta of a request is pickled into job directories.
        places = {row.bucket: (row.bucket, row.score, row.bucket_value) for row in reversed(found)}
        note["buckets"] = sorted(places.values(), key=lambda place: -place[1])[:MAX_PLACES]
        note["redirects"] = request.meta.get("redirect_times", 0)
    if best.url_type:
        note["url_type"] = _word(common_pb2.UrlType, best.url_type, "URL_TYPE_")
    request.meta[META] = note


def mark_guess(request: Any, bucket: str, value: float) -> None:
    """Let a Request wait behind the scored ones of a bucket, unless its spider wants it ahead of all."""
    if request.priority <= 0:
        buckets = [(bucket, value - GUESSED, value)]
        redirects = request.meta.get("redirect_times", 0)
        request.meta[META] = {"guessed": True, "buckets": buckets, "redirects": redirects}


def note_of(request: Any) -> dict[str, Any]:
    """Give what a Request carries; `guessed` says that the bucket it waits in is a guess."""
    return request.meta.get(META) or {}


def places_of(request: Any) -> list[Place]:
    """Give the buckets a Request waits in; none for one that is not scored, or that was redirected since."""
    note = note_of(request)
    if request.meta.get("redirect_times", 0) > note.get("redirects", 0):
        return []
    return [Place(*place) for place in note.get("buckets", ())]


def ticket_of(request: Any) -> bytes:
    """Give the ticket a Request carries; empty if none."""
    return bytes(note_of(request).get("ticket", b""))


FETCHED: WeakKeyDictionary[Any, FetchedPage] = WeakKeyDictionary()
"""The pages under way, by response."""


async def page_note(response: Any) -> dict[str, str]:
    """Wait for what the server says about a page: `page_type` and `thread_id`, each only if it is known.

    For callbacks that are coroutines. Waits at most `LINKSCORE_TIMEOUT`; empty if the server does not answer
    or the page was not sent.
    """
    fetched = FETCHED.get(response)
    answer = await asyncio.shield(fetched.answer) if fetched and fetched.answer else None
    return dict(answer.page_info) if answer is not None else {}


class Session(CrawlSession):
    """What the middleware and the queues of one Scrapy crawler share: calls, and what is under way.

    Scrapy pops the next request as soon as a download ends, before the page's links are scored, and pops more
    for a busy host than it can send: what comes later, however good, waits behind them. Here a page keeps its
    place among `CONCURRENT_REQUESTS` until its links are with the scheduler, and a host gets no more requests
    than it has room for: a request is chosen with what the pages before it taught.
    """

    def __init__(self, crawler: Any) -> None:
        self.config = config = Config.from_settings(crawler.settings, spider_name=crawler.spidercls.name)
        self._crawler, self._stats = crawler, crawler.stats
        options = config.crawl_options() | config.client_options()
        super().__init__(
            config.target,
            crawl=config.crawl,
            tell=lambda name, by: self._stats.inc_value(f"linkscore/{name}", by),
            **options,
        )
        self.queues: WeakSet[Any] = WeakSet()
        #: Where requests of the frontier are with `JOBDIR`; what cannot be stored there is with its item.
        self.disk: Any = None
        #: Requests whose links are with the scheduler: they no longer hold back the next fetch.
        self.released: WeakSet[Any] = WeakSet()
        #: Pages whose Requests are on their way to the scheduler: the best of them may be the last.
        self.releasing = 0
        #: Fetches answered since RankBuckets was asked.
        self.answers = 0
        #: What was taken and not answered; one dropped by the downloader leaves with its last reference.
        self.under_way: WeakKeyDictionary[Any, Item] = WeakKeyDictionary()
        #: Requests whose page, or failure, is on its way to the server.
        self.awaiting: set[Any] = set()
        self._places = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._closing: asyncio.Future[Any] | None = None
        self._arrived: Counter[str] = Counter()
        self._any_item = False  # until one passed, a page without an item says nothing
        self._timer: asyncio.TimerHandle | None = None

    @classmethod
    def of(cls, crawler: Any) -> Self:
        """Give the session of a crawler, the same one to everybody."""
        made: Self | None = getattr(crawler, "linkscore_session", None)
        if made is None:
            made = crawler.linkscore_session = cls(crawler)
        return made

    async def greet(self) -> None:
        """Say where the crawl is scored; what was refused before the crawl began is not refused now."""
        try:
            await self.start()
        except ValueError as problem:
            logger.error("linkscore: %s: the crawl goes on in its own order", problem)

    # Pages and their links

    async def answer(self, owed: OwedPage) -> PageAnswer | None:
        """Send one page; None if the server does not answer, or does not take the page."""
        result = await self.ingest(owed)
        if result is None:
            return None
        self.count("pages")
        self.count("reserved", bool(result.reserved_uses))
        return PageAnswer(result)

    async def scored(self, fetched: FetchedPage, requests: Sequence[Any]) -> Sequence[Any]:
        """Write score, ticket, buckets and priority into Requests; on an outage a guess, until it is over."""
        for request in requests:
            request.meta.pop(META, None)  # what a spider copied from the page before
        answer = await asyncio.shield(fetched.answer) if fetched.answer is not None else None
        if answer is None:
            self.allotment.lift()
            self.count("fallback", len(requests))
            self._owe(fetched.owed, requests if self.away else ())
            return requests
        pairs = await self._rows(answer, requests)
        await self.rank_if_due(found[0].bucket for _, found in pairs if found)
        return [request for request, found in pairs if self._keeps(request, found)]

    def _owe(self, owed: OwedPage, requests: Iterable[Any]) -> None:
        """Let Requests of a page wait where links like them were last found, until it is answered."""
        for request in requests:
            if is_web(request.url):
                owed.links.append((request.url, self._crawler.request_fingerprinter.fingerprint(request)))
                if guess := self.outlook.guess(request.url):
                    mark_guess(request, *guess)
                    self.count("guessed")

    def late(self, owed: OwedPage, result: scoring_pb2.PageResult) -> None:
        """Place the Requests of a page that was sent when the server was back."""
        answer = PageAnswer(result)
        for url, fingerprint in owed.links:
            if found := answer.of(url):
                self.count("late/scored", sum(queue.place(fingerprint, found) for queue in self.queues))

    async def _rows(self, answer: PageAnswer, requests: Sequence[Any]) -> list[tuple[Any, list[Row]]]:
        """Pair Requests with their rows; links that no anchor has, which the spider made, are asked about."""
        pairs = [(request, answer.of(request.url)) for request in requests]
        unknown = [request for request, found in pairs if not found and is_web(request.url)]
        scores = await self.score([request.url for request in unknown]) if unknown else None
        if scores is None:
            return pairs
        asked = {id(unknown[row.index]): [row] for row in rows(scores) if row.usable}
        return [(request, found or asked.get(id(request), [])) for request, found in pairs]

    def _keeps(self, request: Any, found: list[Row]) -> bool:
        """Mark a Request; false if it is dropped. One whose site has stopped waits for more budget."""
        best = found[0] if found else None
        is_advised = best is not None and best.verdict == common_pb2.VERDICT_SKIP and self.config.obey_skip
        if best is None:
            self.count("fallback")
        elif is_dropped(best.skip_reason) or (is_advised and not best.skip_reason):
            self.count("skipped")
            return False
        else:
            mark(request, found)
            self.count("scored")
        return True

    def answered(self, request: Any) -> None:
        """Note that the server knows what came of a request, or never will."""
        self.answers += 1
        if (item := self.under_way.pop(request, None)) is not None:
            self.frontier.done(item)
        self.awaiting.discard(request)

    # What extraction found: of each page once the number of its items, or once that there is none

    def item_scraped(self, fetched: FetchedPage) -> None:
        """Note an item that passed the pipelines."""
        fetched.scraped += 1
        self._any_item = True
        self._unsaid.pop(f"{fetched.owed.page.event_id}:none", None)
        self._say(fetched, "items")

    def no_item(self, fetched: FetchedPage) -> None:
        """Note a page whose items the pipelines dropped, or on which the spider found none."""
        is_silent = not fetched.handed_on and not (self._any_item and self.config.report_empty)
        if not (fetched.scraped or is_silent):
            self._say(fetched, "none")

    def _say(self, fetched: FetchedPage, verdict: str) -> None:
        sent, found = fetched.owed.page, fetched.scraped
        event_id = f"{sent.event_id}:{verdict}"
        self.owe_feedback(
            scoring_pb2.Feedback(event_id=event_id, url=sent.url, ticket=sent.ticket, item_count=found)
        )
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FEEDBACK_AFTER_S, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self.beside(self.send_feedback())

    # The order

    @property
    def idle(self) -> bool:
        """Whether nothing is under way that would bring another answer of RankBuckets."""
        return not self.under_way and not self._turn.locked()

    async def rank_if_due(self, arrived: Iterable[str] = ()) -> None:
        """Ask which buckets come next when enough was fetched since the last time.

        Pages that come while the server is asked are too late for its answer: it is asked once more then.
        `arrived` are the buckets of the links that are with the scheduler in a moment.
        """
        self._arrived.update(arrived)
        async with self._turn:
            with_scheduler, self._arrived = self._arrived, Counter()
            n_buckets = len(self.frontier.waiting.keys() | with_scheduler.keys())
            if not n_buckets or not self.answers or self.answers * _NAMES_PER_FETCH < n_buckets:
                return
            self.answers = 0
            n = min(_MAX_PLACES, max(1, self._places - self.frontier.taken))
            values = await self.rank(n, with_scheduler)
            self._stats.set_value("linkscore/buckets", n_buckets)
            if self.disk is not None:
                self.disk.save(values)

    # What Scrapy's engine does meanwhile

    @property
    def _downloader(self) -> Any:
        return self._crawler.engine.downloader

    @property
    def _unscored(self) -> set[Any]:
        """Requests whose pages are with the spider, or on their way to the server."""
        scraping = self._crawler.engine.scraper.slot
        waiting = {entry[1] for entry in scraping.queue}
        return {request for request in waiting | set(scraping.active) if request not in self.released}

    def must_wait(self) -> bool:
        """Say whether pages on their way to the server take all places of `CONCURRENT_REQUESTS`."""
        unscored = 0 if self.away else len(self._unscored)
        places = self._downloader.total_concurrency
        return bool(unscored and 0 < places <= len(self._downloader.active) + unscored)

    def stops(self, *, has_others: bool) -> bool:
        """Say whether no fetch may begin; close the spider when none ever will.

        `has_others` says whether requests wait that are in no bucket.
        """
        allowance, engine = self.allowance, self._crawler.engine
        allowance.without_answer(self.uncounted)
        is_held = self.frontier.all_held and not has_others
        # Whether nothing is under way that could bring another request, start requests too.
        is_last = is_held and engine.scraper.slot.is_idle() and not self._downloader.active
        if not (allowance.spent or (is_last and engine._start is None)):
            begun = self._unscored | self.awaiting | set(self._downloader.active)
            return allowance.is_full(len(begun) + self.unknown)
        if self._closing is None:
            logger.info("linkscore: the crawl ends: %s", allowance.why)
            # What is in flight is finished, what waits is kept in the job directory.
            closing = (
                engine.close_spider_async(reason=allowance.reason)
                if hasattr(engine, "close_spider_async")  # from Scrapy 2.14 on
                else maybe_deferred_to_future(engine.close_spider(self._crawler.spider, allowance.reason))
            )
            self._closing = asyncio.ensure_future(closing)  # it waits for us
        return True

    def slot_of(self, request: Any) -> str:
        """Name the download slot of a request: its host, as a rule."""
        return str(self._downloader.get_slot_key(request))

    def rooms(self) -> Callable[[str], bool]:
        """Give what says whether a slot can take one more request."""
        downloader = self._downloader
        busy = Counter(map(downloader.get_slot_key, downloader.active))

        def has_room(name: str) -> bool:
            slot = downloader.slots.get(name)
            if not busy[name] or slot is None:
                return busy[name] < (downloader.domain_concurrency or 1)
            if slot.concurrency and busy[name] >= slot.concurrency:
                return False
            return not slot.delay or busy[name] - len(slot.transferring) < WAITING_PER_SLOT

        return has_room

    def nudge(self) -> None:
        """Ask the engine to look at the scheduler again: a pop may have waited for the page now scored."""
        if (slot := getattr(self._crawler.engine, "_slot", None)) is not None:
            slot.nextcall.schedule()
