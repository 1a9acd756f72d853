"""One Scrapy crawl and its server, shared by the middleware and the queues; fails open."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary, WeakSet, ref

from linkscore.aio import AsyncClient
from linkscore.allotment import Allotment
from linkscore.allowance import Allowance
from linkscore.connection import Connection
from linkscore.messages import Row
from linkscore.outages import OwedPage
from linkscore.scrapy.config import Config
from linkscore.scrapy.engine import close_spider
from linkscore.scrapy.scoring import PageAnswer, is_web, mark_guess
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

logger = logging.getLogger("linkscore")

T = TypeVar("T")

# What one call may carry (the server's default of `max_buckets_per_call`).
_MAX_RANKED = 100_000
# Links that one call hands out at most, as the contract says.
_MAX_PLACES = 10_000
# Chosen, not measured: names a fetch may cost. With more buckets the order is refreshed more seldom.
_NAMES_PER_FETCH = 500


class Session:
    """Calls the server for one Scrapy crawler: a call gives the answer, or None and a counter."""

    _of: ClassVar[WeakKeyDictionary[Any, Session]] = WeakKeyDictionary()

    def __init__(self, crawler: Any) -> None:
        self.config = Config.from_settings(crawler.settings, spider_name=crawler.spidercls.name)
        config = self.config
        #: How priorities are wanted: a crawl that is only watched gets none.
        self.encoding = (
            common_pb2.PRIORITY_ENCODING_UNSPECIFIED
            if config.observe_only
            else common_pb2.PRIORITY_ENCODING_SCRAPY
        )
        self.connection = Connection(
            config.target,
            crawl=config.crawl,
            adapter=self,
            config=config.crawl_options(),
            count=self._add_to_stats,
            encoding=self.encoding,
            **config.client_options(),
        )
        self.queues: WeakSet[Any] = WeakSet()
        #: Requests whose links are with the scheduler: they no longer hold back the next fetch.
        self.released: WeakSet[Any] = WeakSet()
        #: Pages whose Requests are on their way to the scheduler: the best of them may be the last.
        self.releasing = 0
        #: Fetches answered since RankBuckets was asked.
        self.fetched = 0
        #: Requests taken and not answered, each with the bucket it was taken from; one dropped by the
        #: downloader leaves with its last reference.
        self.under_way: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self.allotment = Allotment()
        #: Requests whose page, or failure, is on its way to the server.
        self.awaiting: set[Any] = set()
        self.allowance = Allowance(config.budget)
        self._places = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._stats = crawler.stats
        self._crawler = ref(crawler)
        self._when_back: list[Callable[[], Awaitable[None]]] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ranking = False
        self._closing: asyncio.Future[Any] | None = None
        self._arrived: Counter[str] | None = None

    @classmethod
    def of(cls, crawler: Any) -> Session:
        """Give the session of a crawler, the same one to everybody."""
        if crawler not in cls._of:
            cls._of[crawler] = cls(crawler)
        return cls._of[crawler]

    def count(self, name: str, by: int = 1) -> None:
        """Add to a stats counter."""
        self.connection.count(name, by)

    def _add_to_stats(self, name: str, by: int) -> None:
        self._stats.inc_value(f"linkscore/{name}", by)

    @property
    def away(self) -> bool:
        """Whether the server is out."""
        return self.connection.away

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something beside the crawl; `close` waits for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def call(self, make: Callable[[AsyncClient], Awaitable[T]]) -> T | None:
        """Make a call; on any error count it and give None, so that the crawl goes on."""
        return await self.connection.call(make)

    def owe(self, page: OwedPage | None, requests: Sequence[Any]) -> None:
        """Let Requests wait where links like them were last found, until the server is back and says more.

        Parameters
        ----------
        page
            The page they were found on; None for links that are scored by their URLs.
        """
        if not self.away or self.config.observe_only:
            return
        web = [request for request in requests if is_web(request.url)]
        crawler: Any = self._crawler()
        links = [(request.url, crawler.request_fingerprinter.fingerprint(request)) for request in web]
        if page is not None:
            page.links += links
        else:
            self.connection.buffer.owe(OwedPage(None, links))
        for request in web:
            if guess := self.connection.outlook.guess(request.url):
                mark_guess(request, *guess)
                self.count("guessed")

    def late_page(self, owed: OwedPage, result: scoring_pb2.PageResult) -> None:
        """Place the Requests of a page that was sent when the server was back."""
        self.allowance.take(result)
        found = PageAnswer(result.links)
        for url, fingerprint in owed.links:
            self._place(fingerprint, found.of(url), found.values)

    def late_links(self, links: Sequence[tuple[Any, Row]]) -> None:
        """Place Requests that were scored when the server was back."""
        for fingerprint, row in links:
            self._place(fingerprint, [row], {row.bucket: row.bucket_value})

    def _place(self, fingerprint: bytes, found: list[Row], values: dict[str, float]) -> None:
        if found:
            placed = sum(queue.place(fingerprint, found, values) for queue in self.queues)
            self.count("late/scored", placed)

    def when_back(self, do: Callable[[], Awaitable[None]]) -> None:
        """Have something done when the server answers again."""
        self._when_back.append(do)

    async def back(self) -> None:
        """Send what else was kept: the server answers again."""
        for do in self._when_back:
            await do()

    def stop(self) -> None:
        """Close the spider, once: its crawl has stopped."""
        if self._closing is None:
            logger.info("linkscore: the crawl ends: %s", self.allowance.why)
            closing = close_spider(self._crawler(), self.allowance.reason)
            self._closing = asyncio.ensure_future(closing)  # not of `_tasks`: it waits for those

    def took(self, request: Any, bucket: str) -> None:
        """Note that a request was taken from a bucket and is under way."""
        self.under_way[request] = bucket
        self.allotment.take(bucket)
        self.connection.outlook.taken(bucket)
        for queue in self.queues if self.away else ():
            queue.weigh(self.connection.outlook.worth)

    def answered(self, request: Any) -> None:
        """Note that the server knows what came of a request, or never will."""
        self.fetched += 1
        self.under_way.pop(request, None)
        self.awaiting.discard(request)

    @property
    def idle(self) -> bool:
        """Whether nothing is under way that would bring another answer of RankBuckets."""
        return not (self.under_way or self._ranking)

    async def rank_if_due(self, arrived: Mapping[str, int] | None = None) -> None:
        """Ask which buckets come next when enough was fetched since the last time.

        Pages that come while the server is asked are too late for its answer: it is asked once more then.

        Parameters
        ----------
        arrived
            Links, by bucket, that are with the scheduler in a moment.
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
        waiting: Counter[str] = Counter()
        for queue in self.queues:
            waiting.update(queue.buckets())
        waiting.update(arrived)
        refresh = 1 if self.allotment.short else self.config.refresh
        if not waiting or self.fetched < refresh or self.fetched * _NAMES_PER_FETCH < len(waiting):
            return
        self.fetched = 0
        self.allotment.asked()
        asked = dict(islice(waiting.items(), _MAX_RANKED))
        in_flight = Counter(self.under_way.values())
        # What is taken until the next question, `refresh` fetches from now, is handed out with this one.
        n = min(_MAX_PLACES, max(1, self._places - in_flight.total()) + self.config.refresh - 1)
        answer = await self.call(
            lambda client: client.rank_buckets(
                crawl=self.config.crawl, buckets=asked, n=n, in_flight=in_flight
            )
        )
        if answer is None:
            self.allotment.lift()
            return
        self.count("ranked")
        self._stats.set_value("linkscore/buckets", len(asked))
        values = self.allotment.read(answer, waiting=asked, n=n)
        self.connection.best = next(iter(values.items()), None)
        for queue in self.queues:
            queue.reorder(values)

    async def drain(self) -> None:
        """Wait for what runs beside the crawl, at most one deadline."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self.config.timeout)

    async def close(self) -> None:
        """Send what waits, if the server answers, and close the connection."""
        for task in self._tasks:
            task.cancel()
        await self.connection.close()
