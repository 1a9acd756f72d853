"""A session asks which buckets come next: not too often, with what is under way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from scrapy import Request

from linkscore.scrapy.session import Session
from support.fake_linkscore import FakeLinkscore, serve


@pytest.fixture
def fake() -> Iterator[FakeLinkscore]:
    yield from serve(FakeLinkscore())


@pytest.fixture
async def session(fake, make_crawler):
    crawler = make_crawler(LINKSCORE_TARGET=f"127.0.0.1:{fake.port}", LINKSCORE_TIMEOUT=1)
    session = Session.of(crawler)
    yield session
    await session.close()
    assert crawler


def counts(session: Session) -> dict[str, int]:
    return dict(session.connection.counts)


class Queue:
    """Buckets that wait, and the values they were given."""

    def __init__(self, waiting: dict[str, int]) -> None:
        self.waiting = waiting
        self.values: dict[str, float] | None = None

    def buckets(self):
        return self.waiting

    def reorder(self, values):
        self.values = values


@pytest.fixture
def queue(session: Session, fake: FakeLinkscore) -> Queue:
    """Buckets `a`, which is worth more, and `b`."""
    fake.values = {"a": 0.9, "b": 0.1}
    made = Queue({"b": 9, "a": 9})
    session.queues.add(made)
    return made


def taken(session: Session, *buckets: str) -> list[Request]:
    """Let requests of some buckets be under way."""
    requests = [Request(f"http://h/{n}") for n in range(len(buckets))]
    for request, bucket in zip(requests, buckets, strict=True):
        session.under_way[request] = bucket
        session.allotment.take(bucket)
    return requests


async def rank(session: Session, *, after: int) -> None:
    """Ask what comes next after so many answers about other pages."""
    for _ in range(after):
        session.answered(Request("http://h/seed"))
    await session.rank_if_due()


async def test_buckets_are_ranked_after_each_fetch(session: Session, queue: Queue) -> None:
    await rank(session, after=0)
    assert queue.values is None
    await rank(session, after=1)
    assert queue.values == {"a": 0.9, "b": 0.1}
    assert counts(session) == {"ranked": 1}
    assert session.fetched == 0


async def test_what_is_under_way_is_told_until_it_is_answered(
    session: Session, fake: FakeLinkscore, queue: Queue
) -> None:
    requests = taken(session, "a", "a", "gone")
    session.answered(requests[0])
    await rank(session, after=1)
    assert fake.in_flight == [{"a": 1, "gone": 1}]
    del requests
    await rank(session, after=2)
    assert fake.in_flight[-1] == {}, "a request that the downloader dropped is not waited for"
