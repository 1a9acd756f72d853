"""One Scrapy crawl, its server and its engine, shared by the middleware and the queues; fails open."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary, WeakSet, ref

from scrapy.utils.defer import maybe_deferred_to_future

from linkscore.connection import Connection
from linkscore.frontier import Item
from linkscore.outages import OwedPage
from linkscore.scrapy.config import Config
from linkscore.scrapy.pages import PageAnswer, is_web, mark_guess
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

if TYPE_CHECKING:
    from linkscore.scrapy.queue import DiskRequestStore

logger = logging.getLogger("linkscore")

T = TypeVar("T")

# Links that one call hands out at most, as the contract says.
_MAX_PLACES = 10_000
# Chosen, not measured: names a fetch may cost. With more buckets the order is refreshed more seldom.
_NAMES_PER_FETCH = 500


class Session:
    """What the middleware and the queues of one Scrapy crawler share: calls, and what is under way."""

    _of: ClassVar[WeakKeyDictionary[Any, Session]] = WeakKeyDictionary()

    def __init__(self, crawler: Any) -> None:
        self.config = config = Config.from_settings(crawler.settings, spider_name=crawler.spidercls.name)
        self.connection = Connection(
            config.target,
            crawl=config.crawl,
            config=config.crawl_options(),
            late_page=self._late_page,
            count=lambda name, by: crawler.stats.inc_value(f"linkscore/{name}", by),
            encoding=(  # a crawl that is only watched gets no priorities
                common_pb2.PRIORITY_ENCODING_UNSPECIFIED
                if config.observe_only
                else common_pb2.PRIORITY_ENCODING_SCRAPY
            ),
            **config.client_options(),
        )
        self.count, self.start, self.close = (
            self.connection.count,
            self.connection.start,
            self.connection.close,
        )
        self.allotment, self.allowance = self.connection.allotment, self.connection.allowance
        self.outlook, self.frontier = self.connection.outlook, self.connection.frontier
        self.queues: WeakSet[Any] = WeakSet()
        #: Where requests of the frontier are with `JOBDIR`; what cannot be stored there is with its item.
        self.disk: DiskRequestStore | None = None
        #: Requests whose links are with the scheduler: they no longer hold back the next fetch.
        self.released: WeakSet[Any] = WeakSet()
        #: Pages whose Requests are on their way to the scheduler: the best of them may be the last.
        self.releasing = 0
        #: Fetches answered since RankBuckets was asked.
        self.fetched = 0
        #: What was taken and not answered; one dropped by the downloader leaves with its last reference.
        self.under_way: WeakKeyDictionary[Any, Item] = WeakKeyDictionary()
        #: Requests whose page, or failure, is on its way to the server.
        self.awaiting: set[Any] = set()
        self._places = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._stats = crawler.stats
        self._crawler = ref(crawler)
        self._ranking = False
        self._closing: asyncio.Future[Any] | None = None
        self._arrived: Counter[str] | None = None

    @classmethod
    def of(cls, crawler: Any) -> Session:
        """Give the session of a crawler, the same one to everybody."""
        if crawler not in cls._of:
            cls._of[crawler] = cls(crawler)
        return cls._of[crawler]

    @property
    def away(self) -> bool:
        """Whether the server is out."""
        return self.connection.away

    async def greet(self) -> None:
        """Say where the crawl is scored; what was refused before the crawl began is not refused now."""
        try:
            await self.connection.greet()
        except ValueError as problem:
            logger.error("linkscore: %s: the crawl goes on in its own order", problem)

    def owe(self, page: OwedPage, requests: Sequence[Any]) -> None:
        """Let Requests of a page wait where links like them were last found, until it is answered."""
        if not self.away or self.config.observe_only:
            return
        crawler: Any = self._crawler()
        for request in requests:
            if not is_web(request.url):
                continue
            page.links.append((request.url, crawler.request_fingerprinter.fingerprint(request)))
            if guess := self.outlook.guess(request.url):
                mark_guess(request, *guess)
                self.count("guessed")

    def _late_page(self, owed: OwedPage, result: scoring_pb2.PageResult) -> None:
        """Place the Requests of a page that was sent when the server was back."""
        answer = PageAnswer(result.links)
        for url, fingerprint in owed.links:
            if found := answer.of(url):
                self.count("late/scored", sum(queue.place(fingerprint, found) for queue in self.queues))

    def stop(self) -> None:
        """Close the spider, once: its crawl has stopped."""
        if self._closing is None:
            logger.info("linkscore: the crawl ends: %s", self.allowance.why)
            # What is in flight is finished, what waits is kept in the job directory.
            crawler: Any = self._crawler()
            closing = crawler.engine.close_spider(crawler.spider, self.allowance.reason)
            self._closing = asyncio.ensure_future(maybe_deferred_to_future(closing))  # it waits for us

    def answered(self, request: Any) -> None:
        """Note that the server knows what came of a request, or never will."""
        self.fetched += 1
        if (item := self.under_way.pop(request, None)) is not None:
            self.frontier.done(item)
        self.awaiting.discard(request)

    @property
    def idle(self) -> bool:
        """Whether nothing is under way that would bring another answer of RankBuckets."""
        return not (self.under_way or self._ranking)

    async def rank_if_due(self, arrived: Mapping[str, int] | None = None) -> None:
        """Ask which buckets come next when enough was fetched since the last time.

        Pages that come while the server is asked are too late for its answer: it is asked once more then.
        `arrived` counts the links, by bucket, that are with the scheduler in a moment.
        """
        self._arrived = (self._arrived or Counter()) + Counter(arrived or {})
        if self._ranking:
            return
        self._ranking = True
        try:
            while self._arrived is not None:
                arrived, self._arrived = self._arrived, None
                await self._rank(arrived)
        finally:
            self._ranking = False

    async def _rank(self, arrived: Mapping[str, int]) -> None:
        n_buckets = len(self.frontier.waiting.keys() | arrived.keys())
        if not n_buckets or not self.fetched or self.fetched * _NAMES_PER_FETCH < n_buckets:
            return
        self.fetched = 0
        n = min(_MAX_PLACES, max(1, self._places - self.frontier.taken))
        values = await self.connection.rank(n, arrived)
        self._stats.set_value("linkscore/buckets", n_buckets)
        if self.disk is not None:
            self.disk.save(values)


WAITING_PER_SLOT = 2
"""Requests that may wait in a host's download slot for its delay to pass; chosen, not measured."""


_NO_ENGINE = SimpleNamespace(
    scraper=SimpleNamespace(slot=SimpleNamespace(queue=(), active=(), is_idle=lambda: False)),
    downloader=SimpleNamespace(active=(), total_concurrency=0, get_slot_key=lambda request: ""),
)


class Throttle:
    """Says when the next request may be popped, so that it is chosen with what the pages before it taught.

    Scrapy pops the next request as soon as a download ends, before the page's links are scored, and pops more
    for a busy host than it can send: what comes later, however good, waits behind them. Here a page keeps its
    place among `CONCURRENT_REQUESTS` until its links are with the scheduler, and a host gets no more requests
    than it has room for. Without an engine everything may go.
    """

    def __init__(self, crawler: Any, session: Session) -> None:
        self._crawler = crawler
        self._session = session

    @property
    def _engine(self) -> Any:
        """The engine, once it scrapes; before that one that does nothing."""
        engine = getattr(self._crawler, "engine", None)
        return _NO_ENGINE if engine is None or engine.scraper.slot is None else engine

    def must_wait(self) -> bool:
        """Say whether pages on their way to the server take all places of `CONCURRENT_REQUESTS`."""
        if self._session.away:
            return False
        engine = self._engine
        places = engine.downloader.total_concurrency
        unscored = len(engine.scraper.slot.queue) + len(self._scraped(engine.scraper.slot))
        return bool(unscored and 0 < places <= len(engine.downloader.active) + unscored)

    def _scraped(self, scraping: Any) -> set[Any]:
        """Requests whose pages are with the spider, or on their way to the server."""
        return {request for request in scraping.active if request not in self._session.released}

    def pending(self) -> int:
        """Count the fetches that the server has not answered: in flight, on their way to it, owed to it."""
        engine = self._engine
        scraping = engine.scraper.slot
        begun = self._scraped(scraping) | self._session.awaiting | set(engine.downloader.active)
        return len(begun) + len(scraping.queue) + self._session.connection.unknown

    def is_last(self) -> bool:
        """Say whether nothing is under way that could bring another request, start requests too."""
        engine = self._engine
        is_done = engine.scraper.slot.is_idle() and not engine.downloader.active
        return is_done and getattr(engine, "_start", None) is None

    def slot_of(self, request: Any) -> str:
        """Name the download slot of a request: its host, as a rule."""
        return str(self._engine.downloader.get_slot_key(request))

    def busy(self) -> Counter[str]:
        """Count the requests of each slot that are on their way."""
        downloader = self._engine.downloader
        return Counter(downloader.get_slot_key(request) for request in downloader.active)

    def has_room(self, slot_name: str, busy: Counter[str]) -> bool:
        """Say whether a slot can take one more request."""
        if not busy[slot_name]:
            return True
        downloader = self._engine.downloader
        slot = downloader.slots.get(slot_name)
        if slot is None:
            return bool(busy[slot_name] < (downloader.domain_concurrency or 1))
        if slot.concurrency and busy[slot_name] >= slot.concurrency:
            return False
        return not slot.delay or busy[slot_name] - len(slot.transferring) < WAITING_PER_SLOT


def nudge(crawler: Any) -> None:
    """Ask the engine to look at the scheduler again: a pop may have waited for the page now scored."""
    slot = getattr(crawler.engine, "_slot", None)
    if slot is not None:
        slot.nextcall.schedule()


def flush_seen(crawler: Any) -> None:
    """Write what the duplicate filter knows to the job directory: a kill must not part it from the queue."""
    slot = getattr(crawler.engine, "_slot", None)
    duplicates = getattr(getattr(slot, "scheduler", None), "df", None)
    file = getattr(duplicates, "file", None)
    if file is not None:
        file.flush()


async def download(crawler: Any, request: Any) -> Any:
    """Download something beside the crawl, as `robots.txt` is."""
    engine = crawler.engine
    if hasattr(engine, "download_async"):
        return await engine.download_async(request)
    return await maybe_deferred_to_future(engine.download(request))


def hook(crawler: Any, kind: str, tell: Callable[..., Any], *, first: bool) -> bool:
    """Call `tell` before or behind all downloader middlewares; false if this downloader has none."""
    methods = getattr(getattr(crawler.engine.downloader, "middleware", None), "methods", None)
    if methods is None:
        return False
    (methods[kind].appendleft if first else methods[kind].append)(tell)
    return True
