"""A session gives answers, or None and a counter; never an exception."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "client"))

from fake_linkscore import FakeLinkscore, serve
from linkscore import page
from linkscore.scrapy.session import Session


@pytest.fixture
def fake() -> Iterator[FakeLinkscore]:
    yield from serve(FakeLinkscore())


@pytest.fixture
async def session(fake, make_crawler):
    crawler = make_crawler(
        LINKSCORE_TARGET=f"127.0.0.1:{fake.port}", LINKSCORE_TIMEOUT=1, LINKSCORE_REFRESH=2
    )
    session = Session.of(crawler)
    yield session
    await session.close()
    assert crawler


def send(client):
    return client.ingest_pages(crawl="unit", pages=[page(url="http://h/", body=b"")])


def counts(session: Session) -> dict[str, int]:
    return dict(session._stats.counts)


async def test_the_crawl_is_made_with_the_first_call(session: Session, fake: FakeLinkscore) -> None:
    assert await session.call(send) is not None
    assert await session.call(send) is not None
    assert (fake.calls["CreateCrawl"], fake.calls["IngestPages"]) == (1, 2)


async def test_a_server_that_lost_the_crawl_gets_it_again(session: Session, fake: FakeLinkscore) -> None:
    await session.call(send)
    fake.crawls.clear()
    assert await session.call(send) is not None
    assert fake.calls["CreateCrawl"] == 2
    assert counts(session) == {}


async def test_an_outage_is_counted_and_then_not_asked(session: Session, fake: FakeLinkscore) -> None:
    await session.call(send)
    fake.hang.set()
    session.config = type(session.config)(target=session.config.target, crawl="unit")
    asked = await session.call(
        lambda client: client.ingest_pages(crawl="unit", pages=[page(url="http://h/")], timeout_s=0.1)
    )
    assert asked is None
    assert counts(session) == {"linkscore/errors/DEADLINE_EXCEEDED": 1}
    before = fake.calls["IngestPages"]
    assert await session.call(send) is None
    assert fake.calls["IngestPages"] == before


async def test_a_refusal_of_one_page_is_no_outage(session: Session, fake: FakeLinkscore) -> None:
    fake.failures["IngestPages"] = [grpc.StatusCode.INVALID_ARGUMENT]
    assert await session.call(send) is None
    assert await session.call(send) is not None
    assert counts(session) == {"linkscore/errors/INVALID_ARGUMENT": 1}


async def test_a_bug_here_does_not_stop_the_crawl(session: Session) -> None:
    async def broken(client):
        raise KeyError("bug")

    assert await session.call(broken) is None
    assert counts(session) == {"linkscore/errors/CLIENT": 1}
    assert await session.call(send) is not None


async def test_buckets_are_ranked_every_few_pops(session: Session, fake: FakeLinkscore) -> None:
    class Queue:
        values: dict[str, float] | None = None

        def buckets(self):
            return ["b", "a"]

        def reorder(self, values):
            self.values = values

    queue = Queue()
    session.queues.add(queue)
    fake.values = {"a": 0.1, "b": 0.9, "new": 0.5}
    session.popped = 1
    await session.rank_if_due(["new"])
    assert queue.values is None
    session.popped = 2
    await session.rank_if_due(["new"])
    assert queue.values == {"a": 0.1, "b": 0.9, "new": 0.5}
    assert (session.popped, counts(session)) == (0, {"linkscore/ranked": 1, "linkscore/buckets": 3})


async def test_many_buckets_are_ranked_more_seldom(session: Session, fake: FakeLinkscore) -> None:
    class Queue:
        def buckets(self):
            return [f"b{i}" for i in range(1_200)]

        def reorder(self, values):
            pass

    queue = Queue()
    session.queues.add(queue)
    session.popped = 2
    await session.rank_if_due()
    assert fake.calls["RankBuckets"] == 0
    session.popped = 3
    await session.rank_if_due()
    assert [len(names) for names in fake.ranked] == [1_200]
