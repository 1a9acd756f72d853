"""Revisits: which known pages to fetch again, what a page answers about its changes, and crawls without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from linkscore.v1 import common_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.crawl_calls import change, ingest
from support.server_process import Stubs, refusal

IN_GROUPS_TOO = True
HOST = "http://living.example"
DAY_S = 86_400
START_S = 1_700_000_000


def text(number: int, version: int) -> str:
    return f"Page {number} in version {version} says something of its own. " + f"w{version * 7} " * (
        5 + version
    )


def page(number: int, day: int, version: int = 0, links: int = 0, **said: Any) -> common_pb2.Page:
    anchors = "".join(f'<a href="/new/{number}/{n}">new {n}</a>' for n in range(links))
    body = f"<html><body><p>{text(number, version)}</p>{anchors}</body></html>".encode()
    made = common_pb2.Page(
        event_id=f"{number}-{day}", url=f"{HOST}/page/{number}", status_code=200, content_type="text/html"
    )
    if not said:
        made.body = body
    for name, value in said.items():
        setattr(made, name, value)
    made.fetch_time.FromSeconds(START_S + day * DAY_S)
    return made


def rank(server: Stubs, crawl: str, day: int, **more: Any) -> pb.RankRevisitsResponse:
    request = pb.RankRevisitsRequest(crawl=crawl, **more)
    request.now.FromSeconds(START_S + day * DAY_S)
    return server.links.RankRevisits(request)


def lived(server: Stubs, crawl: str) -> None:
    """Fetch a page that changes every day, one that never does, and a list with new links, for ten days."""
    for day in range(10):
        busy = page(1, day, version=day)
        still = page(2, day) if not day else page(2, day, not_modified=True, status_code=304)
        ingest(server, crawl, busy, still, page(3, day, links=3 * (day + 1)))


@pytest.fixture
def crawl(new_crawl: Callable[..., str]) -> str:
    return new_crawl(revisit=crawl_pb.Revisit(fetches_per_day=2.0))


def test_the_page_that_changes_and_the_list_come_before_the_one_that_does_not(
    server: Stubs, crawl: str
) -> None:
    lived(server, crawl)
    got = rank(server, crawl, 12)
    assert [due.url.rpartition("/")[2] for due in got.pages] == ["3", "1", "2"]
    assert [due.reason for due in got.pages][:2] == [pb.REVISIT_REASON_HUB, pb.REVISIT_REASON_STALE]
    assert {due.last_fetch_time.seconds for due in got.pages} == {START_S + 9 * DAY_S}
    assert got.pages[1].change_rate > got.pages[2].change_rate > 0.0
    assert got.pages[0].site == f"{crawl}/sites/living.example"
    assert got == rank(server, crawl, 12)


def test_no_more_pages_are_named_than_are_asked_for(server: Stubs, crawl: str) -> None:
    lived(server, crawl)
    whole = rank(server, crawl, 12, site="living.example")
    assert list(rank(server, crawl, 12, max_results=2).pages) == list(whole.pages)[:2]


def test_a_page_says_what_changed_and_when_to_come_again(server: Stubs, crawl: str) -> None:
    [first] = ingest(server, crawl, page(1, 0))
    assert not first.HasField("changed_share")
    [same, other] = [ingest(server, crawl, page(1, day, version))[0] for day, version in ((1, 0), (2, 1))]
    assert same.changed_share == 0.0
    assert other.changed_share == 1.0
    assert other.change_rate > same.change_rate
    assert other.next_fetch_time.seconds > START_S + 2 * DAY_S


@pytest.mark.parametrize(
    "said",
    [
        {"not_modified": True},
        {"not_modified": True, "body": b""},
        {"status_code": 304},
        {"status_code": 304, "body": b""},  # as HTTP libraries give it
    ],
)
def test_not_modified_is_unchanged_and_not_a_failure(server: Stubs, crawl: str, said: dict[str, Any]) -> None:
    ingest(server, crawl, page(1, 0))
    [got] = ingest(server, crawl, page(1, 1, **said))
    assert got.status.code == common_pb2.ITEM_CODE_OK
    assert got.changed_share == 0.0
    [again] = ingest(server, crawl, page(1, 1, not_modified=True))
    assert again.status.code == common_pb2.ITEM_CODE_DUPLICATE


def test_validators_come_back_with_the_page_that_is_due(server: Stubs, crawl: str) -> None:
    first, other = page(1, 0), page(2, 0)
    first.headers.add(name="etag", value='"v1"')
    first.headers.add(name="Last-Modified", value="Sat, 01 Jan 2022 00:00:00 GMT")
    ingest(server, crawl, first, other)
    ingest(server, crawl, page(1, 1, not_modified=True))
    due = {each.url[-1]: (each.etag, each.last_modified) for each in rank(server, crawl, 5).pages}
    assert due == {"1": ('"v1"', "Sat, 01 Jan 2022 00:00:00 GMT"), "2": ("", "")}
    ingest(server, crawl, page(1, 6, version=1))
    assert not any(each.etag for each in rank(server, crawl, 9).pages)


def test_a_failed_fetch_is_no_visit_and_says_when_to_try_again(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, page(1, 0))
    [got] = ingest(server, crawl, page(1, 5, status_code=503))
    assert not got.HasField("changed_share")
    assert got.next_fetch_time.seconds == START_S + 5 * DAY_S + 3_600
    assert [due.last_fetch_time.seconds for due in rank(server, crawl, 6).pages] == [START_S]


def test_a_page_that_is_gone_is_not_asked_for(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, page(1, 0), page(2, 0))
    [got] = ingest(server, crawl, page(1, 1, status_code=404))
    assert got.changed_share == 1.0
    assert not got.HasField("next_fetch_time")
    assert [due.url for due in rank(server, crawl, 5).pages] == [f"{HOST}/page/2"]


def test_a_crawl_without_revisit_says_nothing_of_changes(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    crawl = new_crawl()
    for day in range(2):
        [got] = ingest(server, crawl, page(1, day, version=day))
        assert not any(got.HasField(name) for name in ("change_rate", "changed_share", "next_fetch_time"))
    assert refusal(lambda: rank(server, crawl, 5)).code == grpc.StatusCode.INVALID_ARGUMENT


def test_revisit_can_be_set_later_and_taken_away(server: Stubs, new_crawl: Callable[..., str]) -> None:
    crawl = new_crawl()
    revisit = crawl_pb.Revisit(objective=crawl_pb.REVISIT_OBJECTIVE_FRESHNESS)
    revisit.longest_interval.FromSeconds(30 * DAY_S)
    assert change(server, crawl, revisit=revisit).revisit == revisit
    ingest(server, crawl, page(1, 0))
    assert [due.reason for due in rank(server, crawl, 40).pages] == [pb.REVISIT_REASON_CHECK]
    assert not change(server, crawl, revisit=None).HasField("revisit")


@pytest.mark.parametrize(
    "revisit",
    [
        crawl_pb.Revisit(objective=9),  # type: ignore[arg-type]
        crawl_pb.Revisit(fetches_per_day=-1.0),
    ],
)
def test_what_cannot_be_is_refused(
    server: Stubs, new_crawl: Callable[..., str], revisit: crawl_pb.Revisit
) -> None:
    assert refusal(lambda: new_crawl(revisit=revisit)).code == grpc.StatusCode.INVALID_ARGUMENT


def test_a_question_out_of_bounds_is_refused(server: Stubs, crawl: str) -> None:
    refused = refusal(lambda: rank(server, crawl, 5, max_results=100_001))
    assert (refused.code, list(refused.violations)) == (grpc.StatusCode.INVALID_ARGUMENT, ["max_results"])


def sitemap(day: int, body: str, **said: Any) -> common_pb2.Page:
    made = page(0, day, body=body.encode(), kind=common_pb2.PAGE_KIND_SITEMAP, **said)
    made.event_id, made.url = f"sitemap-{day}", f"{HOST}/sitemap.xml"
    return made


def test_links_of_a_sitemap_are_scored_before_any_page_was_fetched(server: Stubs, crawl: str) -> None:
    urls = [f"{HOST}/page/{n}" for n in (1, 2)]
    body = "".join(f"<url><loc>{url}</loc><lastmod>2023-11-01</lastmod></url>" for url in urls)
    [got] = ingest(server, crawl, sitemap(0, f"<urlset>{body}</urlset>"))
    assert list(got.links.urls) == urls
    assert len(got.links.scores) == 2
    [due] = rank(server, crawl, 400).pages
    assert due.url == f"{HOST}/sitemap.xml"


def test_a_page_that_is_due_says_what_it_was_sent_as(server: Stubs, crawl: str) -> None:
    feed = page(3, 0, body=b"<rss><channel/></rss>", kind=common_pb2.PAGE_KIND_FEED)
    again = page(3, 1, not_modified=True, kind=common_pb2.PAGE_KIND_FEED)
    ingest(server, crawl, page(1, 0), feed, sitemap(0, "<urlset/>"))
    ingest(server, crawl, again)
    kinds = {due.url.rpartition("/")[2]: due.kind for due in rank(server, crawl, 9).pages}
    assert kinds == {
        "1": common_pb2.PAGE_KIND_PAGE,
        "3": common_pb2.PAGE_KIND_FEED,
        "sitemap.xml": common_pb2.PAGE_KIND_SITEMAP,
    }
    ingest(server, crawl, page(3, 4))
    assert common_pb2.PAGE_KIND_FEED not in {due.kind for due in rank(server, crawl, 9).pages}


@pytest.mark.parametrize(
    "other", ['<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "<html><p>Not found", "no XML"]
)
def test_what_is_no_sitemap_is_refused_and_the_call_goes_on(server: Stubs, crawl: str, other: str) -> None:
    bad, good = ingest(server, crawl, sitemap(0, other), page(1, 0))
    assert (bad.status.code, good.status.code) == (common_pb2.ITEM_CODE_INVALID, common_pb2.ITEM_CODE_OK)
    assert [problem.field.rpartition(".")[2] for problem in bad.status.problems] == ["body"]


def test_a_sitemap_in_whose_place_something_else_comes_backs_off(server: Stubs, crawl: str) -> None:
    listed = "<urlset><url><loc>http://a.test/1</loc></url></urlset>"
    for number in range(3):
        ingest(server, crawl, sitemap(number, listed), page(1, number))
    for number in range(3, 7):
        assert "sitemap.xml" in {due.url.rpartition("/")[2] for due in rank(server, crawl, number).pages}
        [refused] = ingest(server, crawl, sitemap(number, "<html><p>Maintenance"))
        assert refused.status.code == common_pb2.ITEM_CODE_INVALID
        assert "sitemap.xml" not in {due.url.rpartition("/")[2] for due in rank(server, crawl, number).pages}


def test_a_kind_that_nobody_reads_is_refused_by_name(server: Stubs, crawl: str) -> None:
    [got] = ingest(server, crawl, page(1, 0, body=b"<p>", kind=9))
    assert got.status.code == common_pb2.ITEM_CODE_INVALID
    assert [problem.field.rpartition(".")[2] for problem in got.status.problems] == ["kind"]


def notify(server: Stubs, crawl: str, *urls: str, day: int | None = None) -> list[str]:
    request = pb.NotifyChangedRequest(crawl=crawl, urls=urls)
    if day is not None:
        request.change_time.FromSeconds(START_S + day * DAY_S)
    statuses = server.links.NotifyChanged(request).statuses
    return [pb.NoticeOutcome.Name(each.outcome).removeprefix("NOTICE_OUTCOME_") for each in statuses]


def test_notices_are_answered_url_by_url(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, page(1, 0), page(2, 0))
    one, other = f"{HOST}/page/1", "http://other.example/"
    urls = (one, "ftp://living.example/", f"{HOST}/page/77", other, one)
    assert notify(server, crawl, *urls, day=3) == ["NOTED", "INVALID", "UNKNOWN", "UNKNOWN", "REPEATED"]
    assert notify(server, crawl, *urls, day=3) == ["REPEATED", "INVALID", "UNKNOWN", "UNKNOWN", "REPEATED"]
    assert notify(server, crawl, f"{HOST}/page/2") == ["NOTED"]
    [bad] = server.links.NotifyChanged(pb.NotifyChangedRequest(crawl=crawl, urls=["x"])).statuses
    assert [problem.field for problem in bad.problems] == ["urls[0]"]


def test_an_honest_notice_brings_its_page_forward(server: Stubs, crawl: str) -> None:
    for day in range(0, 40, 2):
        version = day // 6
        if day % 6 == 0:
            notify(server, crawl, f"{HOST}/page/1", f"{HOST}/page/2", day=day - 1)
        ingest(server, crawl, page(1, day, version=version), page(2, day, version=version + 50))
    before = {due.url[-1]: due.worth for due in rank(server, crawl, 41).pages}
    assert notify(server, crawl, f"{HOST}/page/2", day=40) == ["NOTED"]
    after = {due.url[-1]: due.worth for due in rank(server, crawl, 41).pages}
    assert after["1"] == before["1"]
    assert after["2"] > 2.0 * before["2"]


def test_ten_thousand_pages_are_one_call_and_more_are_refused(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, page(1, 0))
    urls = [f"{HOST}/page/{number}" for number in range(10_000)]
    outcomes = notify(server, crawl, *urls, day=1)
    assert (outcomes.count("NOTED"), outcomes.count("UNKNOWN")) == (1, 9_999)
    for wrong in ([*urls, f"{HOST}/"], []):
        refused = refusal(lambda wrong=wrong: notify(server, crawl, *wrong))  # type: ignore[misc]
        assert refused.code == grpc.StatusCode.INVALID_ARGUMENT
        assert list(refused.violations) == ["urls"]


def test_a_change_that_is_to_come_is_refused(server: Stubs, crawl: str) -> None:
    refused = refusal(lambda: notify(server, crawl, f"{HOST}/page/1", day=100_000))
    assert refused.code == grpc.StatusCode.INVALID_ARGUMENT
    assert list(refused.violations) == ["change_time"]


def test_a_crawl_without_revisit_takes_no_notices(server: Stubs, new_crawl: Callable[..., str]) -> None:
    refused = refusal(lambda: notify(server, new_crawl(), f"{HOST}/page/1"))
    assert refused.code == grpc.StatusCode.INVALID_ARGUMENT
    assert list(refused.violations) == ["crawl"]


def test_a_sitemap_whose_links_the_crawler_sends_is_taken_in_without_dates(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, page(1, 0))
    body = f"<urlset><url><loc>{HOST}/page/1</loc><lastmod>2023-11-20</lastmod></url></urlset>"
    sent = sitemap(1, body)
    sent.outlinks.extend(common_pb2.Outlink(url=f"{HOST}/page/{n}") for n in (1, 2))
    [got] = ingest(server, crawl, sent)
    assert got.status.code == common_pb2.ITEM_CODE_OK
    assert list(got.links.urls) == [f"{HOST}/page/1", f"{HOST}/page/2"]
