"""A session asks which buckets come next: not too often, with what is under way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from scrapy import Request

from linkscore.frontier import Place
from linkscore.scrapy.session import Session
from support.fake_linkscore import FakeLinkscore, serve


@pytest.fixture
def fake() -> Iterator[FakeLinkscore]:
    yield from serve(FakeLinkscore())


@pytest.fixture
async def session(fake, make_crawler):
    crawler = make_crawler(LINKSCORE_TARGET=f"127.0.0.1:{fake.port}", LINKSCORE_TIMEOUT=60)
    session = Session.of(crawler)
    yield session
    await session.close()
    assert crawler


def counts(session: Session) -> dict[str, int]:
    return dict(session.counts)


@pytest.fixture
def taken(session: Session, fake: FakeLinkscore) -> list[Request]:
    """Three requests under way, of buckets `a`, which is worth more, and `gone`; links of both wait."""
    fake.values = {"a": 0.9, "b": 0.1}
    for bucket, n in (("b", 9), ("a", 11), ("gone", 1)):
        for i in range(n):
            session.frontier.add(f"{bucket}{i}", [Place(bucket, 0.5, 0.5)])
    requests = [Request(f"http://h/{n}") for n in range(3)]
    for request, bucket in zip(requests, ("a", "a", "gone"), strict=True):
        session.under_way[request] = session.frontier.take_from((bucket, ""))
    return requests


async def rank(session: Session, *, after: int) -> None:
    """Ask what comes next after so many answers about other pages."""
    for _ in range(after):
        session.answered(Request("http://h/seed"))
    await session.rank_if_due()


async def test_buckets_are_ranked_after_each_fetch(session: Session, taken: list[Request]) -> None:
    await rank(session, after=0)
    assert session.frontier.values["a"] == 0.5
    await rank(session, after=1)
    assert (session.frontier.values["a"], session.frontier.values["b"]) == (0.9, 0.1)
    assert counts(session) == {"ranked": 1}
    assert session.answers == 0


async def test_what_is_under_way_is_told_until_it_is_answered(
    session: Session, fake: FakeLinkscore, taken: list[Request]
) -> None:
    session.answered(taken[0])
    await rank(session, after=1)
    assert fake.in_flight == [{"a": 1, "gone": 1}]
    taken.clear()
    await rank(session, after=2)
    assert fake.in_flight[-1] == {}, "a request that the downloader dropped is not waited for"
