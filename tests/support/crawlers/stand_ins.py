"""Stand-ins for the parts of Scrapy around the queue."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

from scrapy import Request, Spider
from scrapy.settings import Settings
from scrapy.signalmanager import SignalManager
from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue, PickleFifoDiskQueue, PickleLifoDiskQueue
from scrapy.utils.request import RequestFingerprinter

from linkscore.scrapy import BucketQueue


class Stats:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def inc_value(self, key: str, count: int = 1) -> None:
        self.counts[key] += count

    def set_value(self, key: str, value: Any) -> None:
        self.counts[key] = value


class FakeCrawler:
    """As much of a crawler as the queue and the session look at."""

    def __init__(self, **settings: Any) -> None:
        self.settings = Settings(settings)
        self.spidercls = Spider
        Spider.name = "unit"
        self.spider = Spider("unit")
        self.stats = Stats()
        self.signals = SignalManager()
        self.request_fingerprinter = RequestFingerprinter()
        self.engine = SimpleNamespace(
            scraper=SimpleNamespace(slot=SimpleNamespace(queue=[], active=set())),
            downloader=SimpleNamespace(
                active=set(),
                slots={},
                total_concurrency=16,
                domain_concurrency=8,
                get_slot_key=lambda request: request.url.split("/")[2],
            ),
        )


def scored(url: str, *buckets: tuple[str, float], **kwargs: Any) -> Request:
    """Make a Request as the middleware leaves it."""
    waits = [(name, score, score) for name, score in buckets]
    note = {"score": buckets[0][1], "ticket": b"t", "buckets": waits, "redirects": 0}
    return Request(url, meta={"linkscore": note, **kwargs.pop("meta", {})}, **kwargs)


def queue_of(crawler: FakeCrawler, key: Any = "", state: Any = ()) -> BucketQueue:
    """Make a queue in memory, on disk if a folder is given."""
    return BucketQueue.from_crawler(
        crawler,
        PickleLifoDiskQueue if key else LifoMemoryQueue,
        str(key),
        state,
        start_queue_cls=PickleFifoDiskQueue if key else FifoMemoryQueue,
    )


def drain(queue: BucketQueue) -> list[str]:
    """Take all; return the last parts of their URLs."""
    urls = []
    while (request := queue.pop()) is not None:
        urls.append(request.url.rsplit("/", 1)[1])
    return urls
