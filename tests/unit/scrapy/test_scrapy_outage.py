"""While the server is away requests wait by guesses; when it is back they wait where they belong."""

from __future__ import annotations

import json
from pathlib import Path

from scrapy import Request

from linkscore.messages import rows
from linkscore.scrapy import BucketQueue
from linkscore.scrapy.session import META, Session, mark_guess
from linkscore.v1 import common_pb2
from support.crawlers.stand_ins import FakeCrawler, drain, queue_of, scored


def leave(crawler: FakeCrawler, *, away: bool = True) -> None:
    Session.of(crawler).outlook.turn(away=away)


def guessed(url: str, bucket: str, value: float = 0.9) -> Request:
    request = Request(url)
    mark_guess(request, bucket, value)
    return request


def place(queue: BucketQueue, crawler: FakeCrawler, url: str, bucket: str, value: float) -> bool:
    """Say, as a late answer does, where a request belongs."""
    links = common_pb2.LinkScores(
        urls=[url],
        scores=[value],
        bucket_names=[bucket],
        bucket_values=[value],
        buckets=[0],
        ticket_values=[b"late"],
        tickets=[0],
    )
    fingerprint = crawler.request_fingerprinter.fingerprint(Request(url))
    return queue.place(fingerprint, list(rows(links)))


def test_a_guess_never_holds_back_what_the_spider_wants_first(queue: BucketQueue) -> None:
    urgent = Request("http://h/urgent", priority=3)
    mark_guess(urgent, "high", 0.9)
    queue.push(scored("http://h/a", ("high", 0.9)))
    queue.push(urgent)
    assert drain(queue) == ["urgent", "a"]


def test_a_late_answer_takes_the_place_of_a_guess(queue: BucketQueue, crawler: FakeCrawler) -> None:
    queue.push(guessed("http://h/guess", "high"))
    queue.push(scored("http://h/a", ("high", 0.9)))
    queue.push(scored("http://h/b", ("low", 0.1)))
    assert place(queue, crawler, "http://h/guess", "best", 1.0)
    assert not place(queue, crawler, "http://h/guess", "other", 1.0)
    assert Session.of(crawler).frontier.waiting == {"best": 1, "high": 1, "low": 1}
    first = queue.pop()
    assert first.url == "http://h/guess"
    assert first.meta[META]["ticket"] == b"late"
    assert drain(queue) == ["a", "b"]


def test_a_request_without_any_score_is_placed_too(queue: BucketQueue, crawler: FakeCrawler) -> None:
    leave(crawler)
    for name in "abc":
        queue.push(Request(f"http://h/{name}"))
    leave(crawler, away=False)
    assert place(queue, crawler, "http://h/b", "best", 1.0)
    assert len(queue) == 3
    assert drain(queue) == ["b", "c", "a"]  # the others in Scrapy's own order: last in, first out
    assert len(queue) == 0


def test_a_job_goes_on_with_what_was_placed(crawler: FakeCrawler, tmp_path: Path) -> None:
    queue = queue_of(crawler, tmp_path / "q")
    leave(crawler)
    queue.push(guessed("http://h/guess", "high"))
    for name in "ab":
        queue.push(Request(f"http://h/{name}"))
    leave(crawler, away=False)
    assert place(queue, crawler, "http://h/guess", "best", 1.0)
    assert place(queue, crawler, "http://h/b", "best", 1.0)
    state = json.loads(json.dumps(queue.close()))
    again = queue_of(crawler, tmp_path / "q", state)
    assert len(again) == 3
    assert drain(again) == ["guess", "b", "a"]
    again.close()
