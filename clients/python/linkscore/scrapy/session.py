"""One crawl's connection to the server, shared by the middleware and the queues; fails open.

A circuit breaker keeps a dead server from costing a deadline for every page.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from itertools import islice
from typing import Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from linkscore.aio import AsyncClient
from linkscore.allotment import Allotment
from linkscore.breaker import OUTAGES, CircuitBreaker
from linkscore.errors import LinkscoreError, NotFound
from linkscore.messages import wanted_spec
from linkscore.scrapy.config import LEARN, Config

logger = logging.getLogger(__name__)

T = TypeVar("T")

# What one call may carry (the server's default of `max_buckets_per_call`).
_MAX_RANKED = 100_000
# Links that one call hands out at most, as the contract says.
_MAX_PLACES = 10_000
# A bound, chosen: distinct messages of refused calls that are logged; the stats count them all.
_MAX_LOGGED = 20
# Chosen, not measured: names a fetch may cost. With more buckets the order is refreshed more seldom.
_NAMES_PER_FETCH = 500


class Session:
    """Calls the server for one Scrapy crawler: a call gives the answer, or None and a counter."""

    _of: ClassVar[WeakKeyDictionary[Any, Session]] = WeakKeyDictionary()

    def __init__(self, crawler: Any) -> None:
        self.config = Config.from_settings(crawler.settings, spider_name=crawler.spidercls.name)
        self.breaker = CircuitBreaker(clock=time.monotonic)
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
        self._places = crawler.settings.getint("CONCURRENT_REQUESTS")
        self._stats = crawler.stats
        self._client: AsyncClient | None = None
        self._created: asyncio.Future[Any] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._ranking = False
        self._arrived: Counter[str] | None = None
        self._logged: set[str] = set()

    @classmethod
    def of(cls, crawler: Any) -> Session:
        """Give the session of a crawler, the same one to everybody."""
        if crawler not in cls._of:
            cls._of[crawler] = cls(crawler)
        return cls._of[crawler]

    def count(self, name: str, by: int = 1) -> None:
        """Add to a stats counter."""
        if by:
            self._stats.inc_value(f"linkscore/{name}", by)

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run something beside the crawl; `close` waits for it."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def call(self, make: Callable[[AsyncClient], Awaitable[T]]) -> T | None:
        """Make a call; on any error count it and give None, so that the crawl goes on."""
        if not self.breaker.allows():
            return None
        try:
            answer = await self._attempt(make)
        except LinkscoreError as e:
            self._failed(e)
            return None
        except asyncio.CancelledError:
            self.breaker.gave_up()
            raise
        except Exception:
            self.breaker.gave_up()
            self.count("errors/CLIENT")
            logger.exception("linkscore call failed in the client")
            return None
        if self.breaker.broken:
            logger.info("linkscore answers again")
        self.breaker.succeeded()
        return answer

    async def _attempt(self, make: Callable[[AsyncClient], Awaitable[T]]) -> T:
        client = await self._connected()
        try:
            return await make(client)
        except NotFound:  # the server lost the crawl: give it to it again
            self._created = None
            return await make(await self._connected())

    async def _connected(self) -> AsyncClient:
        config = self.config
        if self._client is None:
            self._client = AsyncClient(
                config.target, tls=config.tls, token=config.token or None, timeout_s=config.timeout
            )
        if self._created is None:
            work = self._client.ensure_crawl(
                crawl=config.crawl,
                policy=config.policy,
                wanted=wanted_spec(config.wanted),
                learn=LEARN[config.learn],
                experience=config.experience,
            )
            self._created = asyncio.ensure_future(work)
        created = self._created
        try:
            await asyncio.shield(created)
        except LinkscoreError:
            if self._created is created:
                self._created = None
            raise
        return self._client

    def _failed(self, error: LinkscoreError) -> None:
        self.count(f"errors/{error.code.name}")
        if error.code not in OUTAGES:
            self.breaker.succeeded()
            if str(error) not in self._logged and len(self._logged) < _MAX_LOGGED:
                logger.error("linkscore refused a call: %s: %s", error.code.name, error)
            self._logged.add(str(error))
            return
        known = self.breaker.broken
        self.breaker.failed(error.retry_after_s)
        if not known:
            logger.warning("linkscore does not answer (%s): the crawl goes on in Scrapy's own order", error)

    def took(self, request: Any, bucket: str) -> None:
        """Note that a request was taken from a bucket and is under way."""
        self.under_way[request] = bucket
        self.allotment.take(bucket)

    def answered(self, request: Any) -> None:
        """Note that the server knows what came of a request, or never will."""
        self.fetched += 1
        self.under_way.pop(request, None)

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
        for queue in self.queues:
            queue.reorder(values)

    async def drain(self) -> None:
        """Wait for what runs beside the crawl, at most one deadline."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self.config.timeout)

    async def close(self) -> None:
        """Close the connection."""
        for task in self._tasks:
            task.cancel()
        if self._client is not None:
            await self._client.close()
            self._client = None
