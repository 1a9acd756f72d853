"""What adapters on asyncio share: the order is asked for with what waits and what is under way."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from linkscore import AsyncClient
from linkscore.session import CrawlSession, Found
from support.fake_linkscore import FakeLinkscore


@pytest.fixture
async def session(fake: FakeLinkscore) -> AsyncIterator[CrawlSession]:
    made = CrawlSession(f"127.0.0.1:{fake.port}", crawl="c")
    links = [Found(f"http://a.org/{path}") for path in ("tag/1", "tag/2", "thread/1", "thread/2")]
    await made.fetched("http://a.org/", b"<p>", links)
    yield made
    await made.close()


async def take(session: CrawlSession, places: int) -> list[str]:
    """Fill places, all at once."""
    items = await asyncio.gather(*(session.take() for _ in range(places)))
    return [item.url.removeprefix("http://a.org/") for item in items if item is not None]


async def test_who_asks_knows_what_those_before_took(fake: FakeLinkscore, session: CrawlSession) -> None:
    assert await take(session, 3) == ["thread/1", "thread/2", "tag/1"]
    assert fake.in_flight == [{}, {"thread": 1}, {"thread": 2}]
    assert fake.ranked == [["tag", "thread"], ["tag", "thread"], ["tag"]]


async def test_a_link_found_again_elsewhere_teaches_nothing(
    fake: FakeLinkscore, session: CrawlSession
) -> None:
    fake.bucket_of = lambda url: "menu"
    await session.fetched("http://a.org/", b"<p>", [Found("http://a.org/thread/1")])
    assert session.frontier.waiting["menu"] == 1
    assert session.outlook.guess("http://a.org/thread/3") == ("thread", pytest.approx(0.9))


@pytest.mark.parametrize(
    ("status", "said", "unchanged", "error"),
    [
        (304, "no text", True, ""),
        (404, "", False, ""),
        (200, "no text", False, "no text"),
        (0, "", False, "unknown"),
    ],
)
async def test_a_fetch_without_a_page_failed_unless_the_page_is_as_it_was(
    fake: FakeLinkscore, session: CrawlSession, status: int, said: str, unchanged: bool, error: str
) -> None:
    await session.failed("http://a.org/tag/1", status_code=status, fetch_error=said)
    sent = fake.pages[-1]
    assert (sent.not_modified, sent.fetch_error, sent.HasField("body")) == (unchanged, error, False)


async def test_of_a_server_away_nobody_hears_who_gave_up_waiting(caplog: pytest.LogCaptureFixture) -> None:
    session = CrawlSession("127.0.0.1:1", crawl="c")
    with suppress(TimeoutError):
        async with asyncio.timeout(0.0):
            await session.call(lambda client: client.get_crawl(crawl="c"))
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.wait(others, return_when="FIRST_COMPLETED")
    await session.close()
    del session, others
    gc.collect()
    assert "never retrieved" not in caplog.text


async def given_up(work: Coroutine[Any, Any, Any], call: str) -> None:
    """Give up what makes a call, as soon as the call is made."""
    is_made = asyncio.Event()

    async def never(client: AsyncClient, **request: Any) -> None:
        is_made.set()
        await asyncio.Event().wait()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AsyncClient, call, never)
        working = asyncio.create_task(work)
        await is_made.wait()
        working.cancel()
        await asyncio.wait([working])
    assert working.cancelled()


async def test_a_link_waits_again_whose_taker_gives_up(session: CrawlSession) -> None:
    session.allowance.asks_again = True
    before = session.frontier.waiting
    await given_up(session.take(), "score_links")
    assert (session.frontier.waiting, session.frontier.taken) == (before, 0)
    item = await session.take()
    assert item is not None
    assert (item.url, item.bucket, item.score) == ("http://a.org/thread/1", "thread", 0.9)
    assert item.ticket == b"t:http://a.org/thread/1"


async def test_what_a_page_was_worth_is_said_though_its_teller_gives_up(
    fake: FakeLinkscore, session: CrawlSession
) -> None:
    await given_up(session.reward("http://a.org/tag/1", 0.25), "report_feedback")
    await session.reward("http://a.org/tag/2", 0.5)
    assert [(event.url[-5:], event.reward) for event in fake.feedback] == [("tag/1", 0.25), ("tag/2", 0.5)]
