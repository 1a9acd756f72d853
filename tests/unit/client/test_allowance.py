"""What a crawler may begin under a budget, by what answers say; the session on asyncio obeys it."""

from __future__ import annotations

import grpc
import pytest

from linkscore import session as sessions
from linkscore.frontier import Allowance
from linkscore.session import CrawlSession, Found
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.fake_linkscore import FakeLinkscore

COVERED, BUDGET = common_pb2.DECISION_STOP_COVERED, common_pb2.DECISION_STOP_BUDGET


def result(site: str = "a.org", **standing: object) -> pb.PageResult:
    return pb.PageResult(site=f"crawls/c/sites/{site}", standing=pb.Standing(**standing))


def test_what_is_pending_counts_against_what_is_left() -> None:
    allowance = Allowance()
    allowance.take(result(fetches_left=3))
    assert [allowance.is_full(pending) for pending in (2, 3)] == [False, True]
    allowance.take(result(fetches_left=0, decision=BUDGET, spent=True, reason="all spent"))
    assert (allowance.is_full(0), allowance.reason, allowance.why) == (True, "linkscore_budget", "all spent")


def test_an_answer_that_another_overtook_leaves_no_more() -> None:
    allowance = Allowance()
    for seq, left in ((8, 2), (7, 3)):
        allowance.take(numbered(seq, fetches_left=left))
    assert allowance.left == 2
    allowance.take(numbered(10, fetches_left=0, decision=BUDGET, spent=True, reason="all spent"))
    allowance.take(numbered(9, fetches_left=1))
    assert (allowance.is_full(0), allowance.why) == (True, "all spent")
    allowance.take(numbered(11, fetches_left=9))  # the budget was raised meanwhile
    assert (allowance.left, allowance.is_full(8)) == (9, False)
    for left in (8, 0):  # the server lost the crawl: its events are numbered anew
        allowance.take(numbered(2, fetches_left=left, spent=not left))
    assert (allowance.left, allowance.spent) == (0, True)


def numbered(seq: int, **standing: object) -> pb.PageResult:
    said = result(**standing)
    said.event_seq = seq
    return said


def test_only_links_of_a_site_that_stopped_are_held_and_it_may_go_on() -> None:
    allowance = Allowance()
    allowance.take(result("a.org%3A80", site_decision=COVERED, site_reason="found"))
    assert [allowance.holds(name) for name in ("a.org:80/x", "b.org/x")] == [True, False]
    assert (allowance.is_full(99), allowance.reason, allowance.why) == (False, "linkscore_covered", "found")
    allowance.take(result("a.org%3A80"))
    assert not allowance.holds("a.org:80/x")


@pytest.mark.parametrize(
    ("budget", "left"),
    [
        ({"max_fetches": 9}, 9),
        ({"max_site_fetches": 9}, None),
    ],
)
def test_one_fetch_at_a_time_begins_until_a_page_is_answered(
    budget: dict[str, float], left: int | None
) -> None:
    allowance = Allowance(budget)
    assert (allowance.left, allowance.is_full(1)) == (left, left is not None)
    allowance.take(result(fetches_left=left))
    assert not allowance.is_full(1)


async def session_of(fake: FakeLinkscore, *urls: str) -> CrawlSession:
    fake.bucket_of = lambda url: url.split("/")[2] + "/all"
    made = CrawlSession(
        f"127.0.0.1:{fake.port}", crawl="c", budget={"max_fetches": 9, "max_trap_share": 0.05}
    )
    await made.fetched("http://a.org/", b"<p>", [Found(url) for url in urls])
    return made


async def test_a_link_that_is_in_a_trap_by_now_is_passed_over(fake: FakeLinkscore) -> None:
    fake.standing = pb.Standing()
    session = await session_of(fake, "http://a.org/1", "http://a.org/2")
    fake.skips["http://a.org/1"] = common_pb2.SKIP_REASON_TRAP
    item = await session.take()
    assert item is not None
    assert (item.url, session.counts["skipped"]) == ("http://a.org/2", 1)
    assert await session.take() is None
    await session.close()


async def test_a_session_ends_when_only_the_server_that_is_away_could_say_more(
    fake: FakeLinkscore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.standing = pb.Standing(fetches_left=1)
    session = await session_of(fake, "http://a.org/1", "http://a.org/2")
    item = await session.take()
    assert item is not None
    fake.refuses = dict.fromkeys(("IngestPages", "GetCrawl"), grpc.StatusCode.UNAVAILABLE)
    await session.fetched(item.url, b"<p>", [])
    session.done(item)
    assert (await session.take(), session.stopped) == (None, "linkscore_away")
    monkeypatch.setattr(sessions, "PATIENCE_S", 0.0)
    assert (await session.take(), session.stopped) == (None, "linkscore_budget")
    await session.close()


def test_links_that_are_reserved_are_asked_about_before_they_are_fetched() -> None:
    allowance, found = Allowance(), result()
    allowance.take(found)
    assert not allowance.asks_again
    found.links.skip_reasons.extend([0, common_pb2.SKIP_REASON_RESPECT])
    allowance.take(found)
    assert allowance.asks_again
