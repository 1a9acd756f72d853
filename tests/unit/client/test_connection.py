"""No call stops a crawl: what happens while the server is away, and when it is back."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import grpc
import pytest
from google.rpc import error_details_pb2

from linkscore import feedback, page
from linkscore import session as sessions
from linkscore.session import CrawlSession, Found, OwedPage
from support.fake_linkscore import FakeLinkscore

EVERYTHING = ("IngestPages", "GetCrawl", "RankBuckets", "ReportFeedback", "CreateCrawl", "ScoreLinks")


class Pauses:
    """Stands for sleep: notes how long, and goes on when it is told to."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._over = asyncio.Semaphore(0)
        self._waits = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        self._waits.set()
        await self._over.acquire()

    async def pass_(self, times: int = 1) -> None:
        """Let pauses end, one after another; returns when the next began."""
        for _ in range(times):
            await self._waits.wait()
            self._waits.clear()
            self._over.release()
        await self._waits.wait()

    def end(self) -> None:
        """Let the pause end that should be the last."""
        self._over.release()


async def caught_up(session: CrawlSession) -> None:
    """Wait until it does nothing beside the crawl."""
    while session._beside:
        await asyncio.sleep(0.001)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def late() -> list[str]:
    """URLs of pages that were answered late."""
    return []


@pytest.fixture
async def session(fake: FakeLinkscore, pauses: Pauses, late: list[str]) -> AsyncIterator[CrawlSession]:
    made = CrawlSession(f"127.0.0.1:{fake.port}", crawl="c", timeout_s=60)
    made.sleep = pauses
    made.late = lambda owed, result: late.append(owed.page.url)  # type: ignore[method-assign]
    yield made
    await made.close()


def owed(path: str) -> OwedPage:
    return OwedPage(page(url=f"http://a.org{path}", body=b"<p>"))


def is_away(fake: FakeLinkscore, code: grpc.StatusCode = grpc.StatusCode.RESOURCE_EXHAUSTED) -> None:
    """Let every call fail, at once: UNAVAILABLE would be repeated by gRPC."""
    fake.refuses = dict.fromkeys(EVERYTHING, code)


async def test_while_away_nothing_is_called_but_a_cheap_probe(
    fake: FakeLinkscore, session: CrawlSession, pauses: Pauses
) -> None:
    await session.start()
    is_away(fake)
    assert await session.ingest(owed("/1")) is None
    assert session.away
    before = dict(fake.calls)
    assert await session.ingest(owed("/2")) is None
    await pauses.pass_(5)
    assert pauses.asked == [1, 2, 4, 5, 5, 5]
    assert fake.calls["GetCrawl"] == before.get("GetCrawl", 0) + 5
    assert fake.calls["IngestPages"] == before["IngestPages"]


async def test_when_it_is_back_the_pages_are_sent_oldest_first(
    fake: FakeLinkscore, session: CrawlSession, pauses: Pauses, late: list[str]
) -> None:
    await session.start()
    is_away(fake)
    for path in ("/1", "/2", "/3"):
        await session.ingest(owed(path))
    fake.refuses = {}
    pauses.end()
    await caught_up(session)
    assert late == ["http://a.org/1", "http://a.org/2", "http://a.org/3"]
    assert not session.away
    assert session.counts["late/pages"] == 3
    assert len({one.event_id for one in fake.pages}) == 3


async def test_a_server_that_answers_and_takes_nothing_in_is_away(
    fake: FakeLinkscore,
    session: CrawlSession,
    pauses: Pauses,
    late: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    await session.start()
    fake.refuses = {"IngestPages": grpc.StatusCode.RESOURCE_EXHAUSTED}
    fake.failure_details = [error_details_pb2.ErrorInfo(reason="DISK_FULL", domain="linkscore")]
    await session.ingest(owed("/1"))
    await pauses.pass_(6)
    assert session.away
    assert await session.call(lambda client: client.rank_buckets(crawl="c", buckets=["a"])) is None
    assert fake.calls["RankBuckets"] == 0
    fake.refuses = {}
    pauses.end()
    await caught_up(session)
    assert late == ["http://a.org/1"]
    warned = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len(warned) == 1
    assert "disk is full" in warned[0]
    assert sum("answers again" in r.getMessage() for r in caplog.records) == 1


async def test_a_server_that_lost_its_crawl_gets_it_again(
    fake: FakeLinkscore, session: CrawlSession, pauses: Pauses, late: list[str]
) -> None:
    await session.start()
    is_away(fake)
    await session.ingest(owed("/1"))
    fake.crawls.clear()
    fake.refuses = {}
    pauses.end()
    await caught_up(session)
    assert "crawls/c" in fake.crawls
    assert late == ["http://a.org/1"]


async def test_one_bad_page_does_not_keep_a_server_away(
    fake: FakeLinkscore, session: CrawlSession, pauses: Pauses, late: list[str]
) -> None:
    await session.start()
    fake.failures["IngestPages"] = [grpc.StatusCode.DEADLINE_EXCEEDED] * (1 + sessions.MAX_TRIES)
    await session.ingest(owed("/bad"))
    await pauses.pass_(sessions.MAX_TRIES)
    assert session.away
    pauses.end()
    await caught_up(session)
    assert (late, session.away, session.unknown) == ([], False, 1)


async def test_links_found_while_away_wait_by_their_shape_and_are_placed_when_it_is_back(
    fake: FakeLinkscore, pauses: Pauses
) -> None:
    session = CrawlSession(f"127.0.0.1:{fake.port}", crawl="c")
    session.sleep = pauses

    async def fetch(url: str, *paths: str) -> None:
        await session.fetched(url, b"<p>", [Found(f"http://a.org/{path}") for path in paths])

    await fetch("http://a.org/", "tag/1", "thread/1")
    is_away(fake)
    await fetch("http://a.org/2", "tag/2", "thread/2", "new/x/y")
    assert session.frontier.waiting == {"tag": 2, "thread": 2}
    assert session.counts["fallback"] == 3
    assert session.counts["guessed"] == 2
    await session.reward("http://a.org/2", 1.0)
    fake.bucket_of = lambda url: "new" if "new" in url else "all"
    fake.refuses = {}
    pauses.end()
    while fake.calls["ReportFeedback"] < 1 or not fake.feedback:
        await asyncio.sleep(0)
    assert session.frontier.waiting == {"tag": 1, "thread": 1, "all": 2, "new": 1}
    assert session.counts["late/scored"] == 3
    assert [event.url for event in fake.feedback] == ["http://a.org/2"]
    await session.close()


async def test_the_end_of_a_crawl_sends_what_waits_without_waiting_for_the_next_probe(
    fake: FakeLinkscore, session: CrawlSession, late: list[str]
) -> None:
    await session.start()
    is_away(fake)
    for path in ("/1", "/2"):
        await session.ingest(owed(path))
    fake.refuses = {}
    await session.close()
    assert late == ["http://a.org/1", "http://a.org/2"]
    assert session.unknown == 0


async def test_what_does_not_end_beside_the_crawl_costs_no_feedback(fake: FakeLinkscore) -> None:
    session = CrawlSession(f"127.0.0.1:{fake.port}", crawl="c", timeout_s=1.0)
    await session.start()
    session.beside(asyncio.Event().wait())
    session.owe_feedback(feedback(url="http://a.org/", reward=1.0))
    await session.close()
    assert len(fake.feedback) == 1


async def test_beyond_a_bound_the_oldest_page_goes(
    fake: FakeLinkscore, session: CrawlSession, late: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_BUFFER_BYTES", 2 * owed("/1").page.ByteSize())
    await session.start()
    is_away(fake)
    for path in ("/1", "/2", "/3"):
        await session.ingest(owed(path))
    fake.refuses = {}
    await session.close()
    assert (late, session.unknown) == (["http://a.org/2", "http://a.org/3"], 1)
