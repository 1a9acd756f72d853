"""All crawls of a frontier, the one writer of their stores, and what linkscore says of them.

It is asked what buckets are worth and where new URLs belong, and told which fetches failed. Each crawl has a
`CrawlSession`, as in the adapters of crawlers: while linkscore is away no call waits for it, and what it
missed is made up for when it is back. The stores go on meanwhile by what they know.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import zip_longest
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily

from linkscore import failed_page, rows, ticket_bytes
from linkscore.frontier import Place
from linkscore.messages import is_dropped
from linkscore.session import CrawlSession, OwedPage
from linkscore_frontier import urlfrontier_pb2 as pb
from linkscore_frontier.store import MAX_GIVEN, Arrival, CrawlStore, Given, State, Wish
from linkscore_server.data_folder import DataFolder, sync

T = TypeVar("T")

_MAX_CRAWLS = 100  # each has open files; the server's default
_DELAY_S = 1  # between two gifts of a queue, unless SetDelay says another number: that of URLFrontier


class Crawls:
    """The crawls below a folder, `stores` in the order in which they take turns; all files are open.

    OSError if another process has the folder open, or it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._lock, self._folder = DataFolder(folder), folder / "crawls"
        self._folder.mkdir(exist_ok=True)
        self._node = folder / "node.json"
        node = json.loads(self._node.read_text()) if self._node.exists() else {}
        self.is_active: bool = node.get("active", True)
        self.delay_s: int = node.get("delay_s", _DELAY_S)
        files = sorted(self._folder.glob("*.sqlite"))
        self.stores = {unquote(file.name.removesuffix(".sqlite")): CrawlStore(file) for file in files}
        # SQLite is used by one thread: writes of all calls come one after the other anyway.
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="frontier-writer")

    async def run(self, work: Callable[[], T]) -> T:
        """Do something with the stores, in their thread."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, work)

    async def ask(self, crawl: str, work: Callable[[CrawlStore], T]) -> T | None:
        """Do something with one store, in the thread of the stores; None if there is no such crawl."""
        return await self.run(lambda: work(self.stores[crawl]) if crawl in self.stores else None)

    def close(self) -> None:
        """Wait for what is being written, and close all files."""
        self._writer.shutdown()
        for store in self.stores.values():
            store.close()
        self._lock.close()

    # In the thread of the stores

    def open(self, crawl: str) -> CrawlStore:
        """Return the store of a crawl, made if there is none; RuntimeError if there may be no more."""
        store = self.stores.get(crawl)
        if store is None:
            if len(self.stores) >= _MAX_CRAWLS:
                raise RuntimeError(f"there are {_MAX_CRAWLS} crawls: delete one (DeleteCrawl)")
            store = self.stores[crawl] = CrawlStore(self._folder / f"{quote(crawl, safe='')}.sqlite")
        return store

    def delete(self, crawl: str) -> int:
        """Delete a crawl; return how many of its URLs were not done."""
        store = self.stores.pop(crawl, None)
        if store is None:
            return 0
        active = store.count(State.WAITING, State.LATER, State.LEASED)
        store.erase()
        return active

    def take(self, crawls: list[str], wish: Wish, now: float) -> list[tuple[str, Given]]:
        """Lease the best URLs of some crawls, which take turns in going first; see `CrawlStore.take`."""
        given: list[tuple[str, Given]] = []
        keys = 0
        for crawl in crawls:
            if (wish.queues and keys >= wish.queues) or len(given) >= MAX_GIVEN:
                break
            if (store := self.stores.get(crawl)) is None:
                continue
            taken = store.take(wish._replace(queues=wish.queues and wish.queues - keys), now)
            keys += len({one.key for one in taken})
            given += [(crawl, one) for one in taken]
            if len(crawls) > 1 and taken:
                self.stores[crawl] = self.stores.pop(crawl)  # last next time
        return given

    def save(self) -> None:
        """Write what holds for all crawls; on the disk when it returns."""
        fresh = self._node.with_suffix(".new")
        fresh.write_text(json.dumps({"active": self.is_active, "delay_s": self.delay_s}))
        sync(fresh)
        fresh.replace(self._node)


_log = logging.getLogger(__name__)

BUCKET, SCORE, VALUE, TICKET = "linkscore.bucket", "linkscore.score", "linkscore.value", "linkscore.ticket"
"""Metadata of a link that linkscore scored; docs/reference/clients.md says what they are."""

_BATCH = 500  # URLs of one ScoreLinks call: other calls are answered in between; chosen
# Longest name of a bucket: all are kept in memory. Those of linkscore have some twenty characters; a bound.
_MAX_BUCKET_CHARS = 256
_RANK_S = 1.0  # longest wait of GetURLs for the order of buckets
# Seconds between two looks for work: new URLs wait that long, at most, in the order they came. Chosen.
_PAUSE_S = 0.1
_REFUSED_S = 10.0  # pause after URLs that linkscore refuses to score, which waiting may not mend; chosen


class FrontierMetrics:
    """What a frontier counts, for Prometheus; what waits is read from the counts that are kept anyway."""

    def __init__(self, crawls: Crawls) -> None:
        self._crawls = crawls
        registry = self.registry = CollectorRegistry()
        self.put = Counter("linkscore_frontier_put", "URLs put, by outcome", ["status"], registry=registry)
        self.given = Counter("linkscore_frontier_given", "URLs given", registry=registry)
        self.get_s = Histogram("linkscore_frontier_get_seconds", "Time of GetURLs", registry=registry)
        self.scored = Counter("linkscore_frontier_scored", "URLs placed by ScoreLinks", registry=registry)
        self.errors = Counter(
            "linkscore_frontier_errors", "Calls that linkscore did not answer", ["code"], registry=registry
        )
        self.is_away: Callable[[], bool] = bool
        registry.register(self)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        urls = GaugeMetricFamily("linkscore_frontier_urls", "URLs by state", labels=["crawl", "state"])
        for crawl, store in list(self._crawls.stores.items()):
            for state in State:
                urls.add_metric([crawl, state.name.lower()], store.count(state))
        yield urls
        away = "1 while linkscore does not answer"
        yield GaugeMetricFamily("linkscore_frontier_away", away, value=self.is_away())


class Advisor:
    """The connections of all crawls to linkscore.

    `crawl` is the one of linkscore that all belong to; empty: each has one of its own name. `client` has
    options of `AsyncClient`: `tls`, `token`.
    """

    def __init__(
        self, crawls: Crawls, metrics: FrontierMetrics, *, target: str, crawl: str = "", **client: Any
    ) -> None:
        self._crawls, self._metrics = crawls, metrics
        self._target, self._crawl, self._client = target, crawl, client
        self._connections: dict[str, CrawlSession] = {}
        self._failed: defaultdict[str, deque[OwedPage]] = defaultdict(deque)
        self._reporting: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._ranking: dict[str, asyncio.Task[None]] = {}
        self._refused_until: dict[str, float] = {}
        self._work = asyncio.create_task(self._keep_working())
        metrics.is_away = lambda: any(one.away for one in list(self._connections.values()))

    async def close(self) -> None:
        """End all that runs beside the calls, and tell what can be told."""
        for task in (self._work, *self._ranking.values()):
            task.cancel()
        await asyncio.gather(*(one.close() for one in self._connections.values()))

    async def forget(self, crawl: str) -> None:
        """Close the connection of a crawl that is deleted."""
        self._failed.pop(crawl, None)
        if (connection := self._connections.pop(crawl, None)) is not None:
            await connection.close()

    def _of(self, crawl: str) -> CrawlSession:
        connection = self._connections.get(crawl)
        if connection is None:
            name = self._crawl or re.sub(r"[^a-z0-9_-]", "-", crawl.lower())[:64]
            connection = self._connections[crawl] = CrawlSession(
                self._target, crawl=name, tell=self._count, **self._client
            )
        return connection

    def _count(self, name: str, by: int) -> None:
        kind, _, code = name.partition("/")
        if kind == "errors":
            self._metrics.errors.labels(code).inc(by)

    def failed(self, crawl: str, arrivals: Iterable[Arrival]) -> None:
        """Note fetches that failed: linkscore is told of them soon, and before it is asked for the order."""
        for one in arrivals:
            page = failed_page(url=one.url, status_code=one.failed_status, ticket=one.ticket)
            self._failed[crawl].append(OwedPage(page))

    async def rank(self, crawl: str, wish: Wish) -> None:
        """Bring the order of a crawl's buckets up to date, unless linkscore is away or takes too long.

        Who comes while it is being asked takes of what the answer hands out.
        """
        if crawl not in self._crawls.stores:
            return
        running = self._ranking.get(crawl)
        if running is None:
            running = self._ranking[crawl] = asyncio.create_task(self._rank(crawl, wish))
            running.add_done_callback(lambda _: self._ranking.pop(crawl, None))
        await asyncio.wait([running], timeout=_RANK_S)

    async def _rank(self, crawl: str, wish: Wish) -> None:
        # A fetch that failed is under way no longer: the order is asked for when linkscore knows of it, or
        # the next link goes out of the bucket that just failed.
        await self._report(crawl)
        question = await self._crawls.ask(crawl, lambda store: store.question(wish, time.time()))
        if question is None:
            return
        session = self._of(crawl)
        answer = await session.call(
            lambda client: client.rank_buckets(
                crawl=session.crawl,
                buckets=question.waiting,
                n=question.places,
                in_flight=question.under_way,
                fill=question.fill,
                timeout_s=_RANK_S,
            )
        )
        await self._crawls.ask(crawl, lambda store: store.answered(question, answer))

    async def _report(self, crawl: str) -> None:
        failed = self._failed.get(crawl)
        async with self._reporting[crawl]:
            while failed:
                await self._of(crawl).ingest(failed.popleft())

    async def _keep_working(self) -> None:
        while True:
            has_worked = False
            for crawl, store in list(self._crawls.stores.items()):
                try:
                    await self._report(crawl)
                    has_worked |= bool(store.new) and await self._score(crawl)
                except Exception:
                    _log.exception("crawl %s", crawl)
            await asyncio.sleep(0 if has_worked else _PAUSE_S)

    async def _score(self, crawl: str) -> bool:
        """Ask where URLs belong that came without a place; say whether more may be asked at once."""
        session = self._of(crawl)
        if session.away or time.monotonic() < self._refused_until.get(crawl, 0.0):
            return False
        found = await self._crawls.ask(crawl, lambda store: store.unscored(_BATCH)) or []
        links = [(url, ticket_in(metadata_of(pb.URLInfo.FromString(info)))) for _, url, info in found]
        answer = await session.call(lambda client: client.score_links(crawl=session.crawl, links=links))
        if answer is None:
            self._refused_until[crawl] = time.monotonic() + _REFUSED_S * (not session.away)
            return False
        placed: list[tuple[int, list[Place]]] = []
        dropped = []
        for (number, _, _), (_, ticket), row in zip(found, links, rows(answer.links), strict=True):
            is_placed = row.usable and row.bucket
            place = Place(row.bucket, row.score, row.bucket_value, ticket)
            placed.append((number, [place] if is_placed else []))
            dropped += [number] if is_dropped(row.skip_reason) else []
        self._metrics.scored.inc(sum(bool(places) for _, places in placed))
        await self._crawls.ask(crawl, lambda store: store.place(placed, dropped))
        return True


def metadata_of(info: pb.URLInfo) -> dict[str, list[str]]:
    """Return what a crawler keeps with a URL."""
    return {name: list(texts.values) for name, texts in info.metadata.items()}


def places_in(metadata: dict[str, list[str]]) -> list[Place] | None:
    """Return the places that metadata name: None without a bucket, none if linkscore knew nothing of it.

    Numbers that cannot be read count as the worst.

    >>> places_in({"linkscore.bucket": ["a/h1.x"], "linkscore.score": ["0.7"], "linkscore.value": ["0.5"]})
    [Place(bucket='a/h1.x', score=0.7, value=0.5, ticket=b'', slot='')]
    """
    if BUCKET not in metadata:
        return None
    columns = zip_longest(*(metadata.get(key, []) for key in (BUCKET, SCORE, VALUE, TICKET)))
    found = []
    for name, score, value, ticket in columns:
        if name and len(name) <= _MAX_BUCKET_CHARS:
            worth = _number(score)
            found.append(Place(name, worth, worth if value is None else _number(value), _bytes(ticket)))
    return found


def ticket_in(metadata: dict[str, list[str]]) -> bytes:
    """Return the ticket that metadata hold; empty if there is none that can be read."""
    return _bytes(next(iter(metadata.get(TICKET, ())), None))


def _bytes(ticket: str | None) -> bytes:
    try:
        return ticket_bytes(ticket or "")
    except ValueError:
        return b""


def _number(text: str | None) -> float:
    try:
        return min(1.0, max(0.0, float(text or 0.0)))
    except ValueError:
        return 0.0
