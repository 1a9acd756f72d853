"""Browse logs over the wire: each batch once and as a whole, what is left out is counted, sites are mined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import policy_pb2
from linkscore.v1 import site_model_service_pb2 as sites
from support.server_process import Stubs, refusal

DAY_S = 86_400
START = 20_000 * DAY_S

NEWS = policy_pb2.PolicySpec(news_prefix=policy_pb2.NewsPrefixParams())
pytestmark = pytest.mark.usefixtures("takes_logs")


def record(second: int, client: str, path: str, referrer: str = "") -> pb.BrowseRecord:
    made = pb.BrowseRecord(
        client_id=client, url=f"http://a.org{path}", referrer=referrer and f"http://a.org{referrer}"
    )
    made.time.seconds = START + second
    return made


def batch(
    crawl: str, batch_id: str, *records: pb.BrowseRecord, **more: object
) -> pb.ImportBrowseRecordsRequest:
    return pb.ImportBrowseRecordsRequest(crawl=crawl, batch_id=batch_id, records=records, **more)


def send(server: Stubs, request: pb.ImportBrowseRecordsRequest) -> pb.ImportBrowseRecordsResponse:
    return server.browse.ImportBrowseRecords(request)


def stats(server: Stubs, crawl: str) -> pb.GetBrowseStatsResponse:
    return server.browse.GetBrowseStats(pb.GetBrowseStatsRequest(crawl=crawl))


@pytest.fixture
def news_crawl(new_crawl: Callable[..., str]) -> str:
    return new_crawl(policy=NEWS)


def test_a_batch_is_answered_with_counts_of_what_became_of_its_records(server: Stubs, crawl: str) -> None:
    records = (record(1, "c", "/"), record(2, "c", "/"), record(3, "c", "/x", "/"))
    got = send(server, batch(crawl, "1", *records, left_out={"mine": 4}))
    assert (got.duplicate, got.visit_count) == (False, 2)
    assert dict(got.left_out) == {"repeat": 1, "mine": 4}


def test_a_batch_counts_once(server: Stubs, crawl: str) -> None:
    first = batch(crawl, "1", record(1, "c", "/"))
    send(server, first)
    assert send(server, first) == pb.ImportBrowseRecordsResponse(duplicate=True)
    send(server, batch(crawl, "2", record(1, "d", "/")))
    assert stats(server, crawl).visit_count == 2


def test_an_invalid_batch_is_refused_by_field(server: Stubs, crawl: str) -> None:
    many = {f"{n}": 1 for n in range(33)}
    bad = {"batch_id": batch(crawl, "", record(1, "c", "/")), "left_out": batch(crawl, "t", left_out=many)}
    for field, request in bad.items():
        assert set(refusal(lambda request=request: send(server, request)).violations) == {field}
    assert stats(server, crawl).visit_count == 0


def test_stats_say_sites(server: Stubs, crawl: str) -> None:
    send(server, batch(crawl, "1", record(1, "c", "/"), record(2 * DAY_S, "c", "/"), record(3, "", "/")))
    got = stats(server, crawl)
    (site,) = got.sites
    assert (site.site, site.visit_count, site.mined_days) == ("a.org", 2, 0)
    assert (site.first_day.seconds, site.last_day.seconds) == (START, START + 2 * DAY_S)
    assert (got.batch_count, got.visit_count, dict(got.left_out)) == (1, 2, {"bad_line": 1})


def test_a_site_is_mined_and_its_policy_says_what_it_learned(server: Stubs, news_crawl: str) -> None:
    send(
        server,
        batch(news_crawl, "1", record(1, "c", "/"), record(2, "d", "/x", "/"), record(DAY_S, "c", "/x")),
    )
    got = server.browse.MineSite(pb.MineSiteRequest(name=f"{news_crawl}/sites/a.org"))
    assert (got.window_start.seconds, got.window_days) == (START - 58 * DAY_S, 60)
    assert (got.visit_count, got.page_count) == (3, 2)
    assert got.policy == "news_prefix"
    assert got.summary
    (site,) = stats(server, news_crawl).sites
    assert (site.mined_start.seconds, site.mined_days) == (START - 58 * DAY_S, 60)


def test_without_a_policy_that_reads_logs_there_is_nothing_to_mine(server: Stubs, crawl: str) -> None:
    send(server, batch(crawl, "1", record(1, "c", "/")))
    assert server.browse.MineSite(pb.MineSiteRequest(name=f"{crawl}/sites/a.org")) == pb.MineSiteResponse()


def news_of(host: str) -> list[pb.BrowseRecord]:
    """Return a log of 30 days: each day sixty people come from a list to a page of that day alone."""
    rows = []
    for second in range(30 * 60):
        day, person = divmod(second, 60)
        record_ = pb.BrowseRecord(
            client_id=f"{person}", url=f"http://{host}/news/{day}", referrer=f"http://{host}/list"
        )
        record_.time.seconds = START + day * DAY_S + person
        rows.append(record_)
    return rows


def seeds(server: Stubs, crawl: str, **more: Any) -> sites.SuggestSeedsResponse:
    return server.sites.SuggestSeeds(sites.SuggestSeedsRequest(crawl=crawl, **more))


def test_seeds_without_a_site_are_those_of_all_sites(server: Stubs, new_crawl: Callable[..., str]) -> None:
    """Two sites that the crawl never fetched from, in one log; of one group or of several."""
    crawl = new_crawl(policy=NEWS)
    send(server, batch(crawl, "1", *news_of("a.org"), *news_of("b.org")))
    got = seeds(server, crawl)
    assert [(seed.url, seed.value) for seed in got.seeds] == [
        ("http://a.org/list", 0.5),
        ("http://b.org/list", 0.5),
    ]
    assert got.seeds[1].reason == (
        "visitors went from it to 29 news pages, 29 of them from no seed before; b.org is not crawled yet"
    )
    assert (got.site, got.policy) == ("", "news_prefix")
    assert "have news: " in got.policy_state
    assert [seed.page_count for seed in got.seeds] == [29, 29]
    assert seeds(server, crawl) == got
    assert seeds(server, crawl, max_results=1).seeds == got.seeds[:1]
    again = batch(crawl, "2", record(31 * DAY_S, "c", "/"))
    send(server, again)
    assert seeds(server, crawl).event_seq > got.event_seq
    assert list(refusal(lambda: seeds(server, crawl, max_results=1_001)).violations) == ["max_results"]


def test_seeds_need_a_site_without_a_log_or_a_policy_that_looks_for_news(
    server: Stubs, new_crawl: Callable[..., str]
) -> None:
    other, without = new_crawl(), new_crawl(policy=NEWS)
    send(server, batch(other, "1", record(1, "c", "/")))
    for crawl in (other, without):
        told = refusal(lambda crawl=crawl: seeds(server, crawl))
        assert (told.code, told.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "REQUIRED")


@pytest.mark.parametrize(
    ("call", "code", "reason"),
    [
        (lambda s, c: send(s, batch("", "1")), "INVALID_ARGUMENT", "REQUIRED"),
        (lambda s, c: send(s, batch("crawls/nope", "1")), "NOT_FOUND", "CRAWL_NOT_FOUND"),
        (lambda s, c: stats(s, "crawls/nope"), "NOT_FOUND", "CRAWL_NOT_FOUND"),
        (lambda s, c: mine(s, f"{c}/sites/b.org"), "NOT_FOUND", "SITE_NOT_FOUND"),
    ],
)
def test_bad_calls_are_refused(
    call: Callable[[Stubs, str], object], code: str, reason: str, server: Stubs, news_crawl: str
) -> None:
    told = refusal(lambda: call(server, news_crawl))
    assert (told.code, told.reason) == (getattr(grpc.StatusCode, code), reason)


def mine(server: Stubs, name: str, **more: object) -> pb.MineSiteResponse:
    return server.browse.MineSite(pb.MineSiteRequest(name=name, **more))
