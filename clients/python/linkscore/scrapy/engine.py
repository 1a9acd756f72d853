"""What is asked of Scrapy's engine beyond its public interface; without that, each does nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import maybe_deferred_to_future

if TYPE_CHECKING:
    from linkscore.scrapy.session import Session

WAITING_PER_SLOT = 2
"""Requests that may wait in a host's download slot for its delay to pass; chosen, not measured."""


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
        return getattr(self._crawler, "engine", None)

    def must_wait(self) -> bool:
        """Say whether pages on their way to the server take all places of `CONCURRENT_REQUESTS`."""
        engine = self._engine
        if engine is None or engine.scraper.slot is None or self._session.away:
            return False
        places = engine.downloader.total_concurrency
        unscored = self._unscored(engine.scraper.slot)
        return bool(unscored and 0 < places <= len(engine.downloader.active) + unscored)

    def _unscored(self, scraping: Any) -> int:
        released = self._session.released
        return len(scraping.queue) + sum(1 for request in scraping.active if request not in released)

    def pending(self) -> int:
        """Count the fetches that the server has not answered: in flight, on their way to it, owed to it."""
        engine = self._engine
        if engine is None or engine.scraper.slot is None:
            return 0
        scraping, released = engine.scraper.slot, self._session.released
        scraped = {request for request in scraping.active if request not in released}
        begun = scraped | self._session.awaiting | set(engine.downloader.active)
        return len(begun) + len(scraping.queue) + self._session.connection.unknown

    def is_last(self) -> bool:
        """Say whether nothing is under way that could bring another request, start requests too."""
        engine = self._engine
        if engine is None or engine.scraper.slot is None:
            return False
        is_done = engine.scraper.slot.is_idle() and not engine.downloader.active
        return is_done and getattr(engine, "_start", None) is None

    def slot_of(self, request: Any) -> str:
        """Name the download slot of a request: its host, as a rule."""
        engine = self._engine
        return "" if engine is None else str(engine.downloader.get_slot_key(request))

    def busy(self) -> Counter[str]:
        """Count the requests of each slot that are on their way."""
        engine = self._engine
        if engine is None:
            return Counter()
        downloader = engine.downloader
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


def before_fetch(crawler: Any, ask: Callable[..., Any]) -> bool:
    """Call `ask` before each fetch, the first of all downloader middlewares."""
    methods = getattr(getattr(crawler.engine.downloader, "middleware", None), "methods", None)
    if methods is None:
        return False
    methods["process_request"].appendleft(ask)
    return True


def close_spider(crawler: Any, reason: str) -> Any:
    """Close the spider: what is in flight is finished, what waits is kept in the job directory."""
    engine = crawler.engine
    if hasattr(engine, "close_spider_async"):
        return engine.close_spider_async(reason=reason)
    return maybe_deferred_to_future(engine.close_spider(crawler.spider, reason))


def on_last_failure(crawler: Any, tell: Callable[..., None]) -> bool:
    """Call `tell` for fetches that fail for good: the last word, behind all downloader middlewares."""
    middleware = getattr(crawler.engine.downloader, "middleware", None)
    methods = getattr(middleware, "methods", None)
    if methods is None:
        return False
    methods["process_exception"].append(tell)
    return True
