"""The scheduler priority queue, in memory and on disk."""

from __future__ import annotations

import pytest
from scrapy import Request

from linkscore.scrapy import BucketQueue
from linkscore.scrapy.session import Session
from support.crawlers.stand_ins import FakeCrawler, drain, queue_of, scored


def test_start_requests_redirects_and_own_priorities_go_ahead(queue: BucketQueue) -> None:
    queue.push(scored("http://h/scored", ("best", 1.0)))
    queue.push(Request("http://h/plain"))
    queue.push(Request("http://h/start", meta={"is_start_request": True}, priority=1))
    queue.push(Request("http://h/own", priority=5))
    queue.push(scored("http://h/moved", ("best", 1.0), meta={"redirect_times": 1}, priority=2))
    assert drain(queue) == ["own", "moved", "start", "scored", "plain"]


def test_a_busy_host_leaves_the_turn_to_another(queue: BucketQueue, crawler: FakeCrawler) -> None:
    queue.push(scored("http://busy/a", ("best", 0.9)))
    queue.push(scored("http://free/b", ("good", 0.1)))
    crawler.engine.downloader.active = {Request(f"http://busy/{i}") for i in range(8)}
    assert queue.pop().url == "http://free/b"
    assert queue.pop() is None
    assert len(queue) == 1
    crawler.engine.downloader.active = set()
    assert queue.pop().url == "http://busy/a"


def test_pages_being_scored_take_places(queue: BucketQueue, crawler: FakeCrawler) -> None:
    crawler.engine.downloader.total_concurrency = 1
    page = Request("http://h/page")
    crawler.engine.scraper.slot.active = {page}
    queue.push(scored("http://h/a", ("best", 0.9)))
    assert queue.pop() is None
    Session.of(crawler).released.add(page)
    assert queue.pop().url == "http://h/a"


def test_a_request_that_cannot_be_stored_leaves_no_trace(crawler: FakeCrawler, tmp_path) -> None:
    queue = queue_of(crawler, tmp_path)
    with pytest.raises(ValueError, match="lambda"):
        queue.push(scored("http://h/a", ("low", 0.1), cb_kwargs={"f": lambda: None}))
    assert len(queue) == 0
    assert queue.pop() is None
    queue.close()
