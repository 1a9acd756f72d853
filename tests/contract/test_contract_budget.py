"""`Crawl.budget`: what it ends, what links say, and that a changed one holds at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from linkscore.v1 import common_pb2, crawl_service_pb2, site_model_service_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.crawl_calls import INVALID, change, described, ingest, score
from support.server_process import Stubs, refusal
from support.small_site import HOST, page, url_of

CONTINUE, STOP = common_pb2.DECISION_CONTINUE, common_pb2.DECISION_STOP_BUDGET
NewCrawl = Callable[..., str]


def budget(**bounds: float) -> crawl_service_pb2.Budget:
    return crawl_service_pb2.Budget(**bounds)


def test_a_crawl_without_a_budget_hears_nothing_of_one(server: Stubs, new_crawl: NewCrawl) -> None:
    crawl = new_crawl()
    [result] = ingest(server, crawl, 0)
    assert not result.HasField("standing")
    assert not result.links.skip_reasons
    assert (described(server, crawl).HasField("budget"), described(server, crawl).decision) == (False, 0)
    request = site_model_service_pb2.GetSiteRequest(name=f"{crawl}/sites/{HOST}")
    assert server.sites.GetSite(request).advice.decision == common_pb2.DECISION_UNSPECIFIED


def test_a_spent_budget_ends_a_crawl_and_more_of_it_lets_it_go_on(server: Stubs, new_crawl: NewCrawl) -> None:
    crawl = new_crawl(groups=1, budget=budget(max_fetches=2))
    [first] = ingest(server, crawl, 0)
    assert (first.standing.decision, first.standing.fetches_left) == (CONTINUE, 1)
    names = list(first.links.bucket_names)
    [second] = ingest(server, crawl, 1)
    assert (second.standing.decision, second.standing.reason) == (STOP, "max_fetches: 2 of 2 are spent")
    assert set(second.links.verdicts) == {common_pb2.VERDICT_SKIP}
    assert set(second.links.skip_reasons) == {common_pb2.SKIP_REASON_CRAWL_BUDGET}
    rank = pb.RankBucketsRequest(crawl=crawl, buckets=names, n=3)
    ranked = server.links.RankBuckets(rank)
    assert (set(ranked.urls), ranked.decision) == ({0}, STOP)
    assert score(server, crawl, url_of(7)).links.skip_reasons == [common_pb2.SKIP_REASON_CRAWL_BUDGET]
    there = described(server, crawl)
    assert (there.decision, there.decision_reason) == (STOP, "max_fetches: 2 of 2 are spent")
    assert there.budget == budget(max_fetches=2)

    change(server, crawl, budget=budget(max_fetches=9))
    assert described(server, crawl).decision == CONTINUE
    ranked = server.links.RankBuckets(rank)
    assert sum(ranked.urls) > 0
    assert ranked.decision == common_pb2.DECISION_UNSPECIFIED
    change(server, crawl, budget=None)
    assert not described(server, crawl).HasField("budget")


def test_bytes_are_those_that_came_or_those_sent(server: Stubs, new_crawl: NewCrawl) -> None:
    crawl = new_crawl(groups=1, budget=budget(max_bytes=1_000_000))
    pages = [page(0), page(1)]
    pages[1].fetched_bytes = 1_000_000 - len(pages[0].body)
    results = ingest(server, crawl, *pages)
    assert [result.standing.decision for result in results] == [CONTINUE, STOP]


def test_advice_says_why_a_site_stops_and_how_much_was_found(server: Stubs, new_crawl: NewCrawl) -> None:
    crawl = new_crawl(budget=budget(max_site_fetches=20, enough_coverage=1.0))
    ingest(server, crawl, *range(20))
    advice = server.sites.GetSite(site_model_service_pb2.GetSiteRequest(name=f"{crawl}/sites/{HOST}")).advice
    assert (advice.decision, advice.decision_reason) == (STOP, "max_site_fetches: 20 of 20 are spent")
    assert 0 < advice.coverage.low <= advice.coverage.share <= advice.coverage.high <= 1


@pytest.mark.parametrize("bounds", [{"max_fetches": 0}, {"max_trap_share": 2.0}])
def test_a_budget_that_cannot_work_is_refused(
    server: Stubs, new_crawl: NewCrawl, bounds: dict[str, float]
) -> None:
    refused = refusal(lambda: new_crawl(budget=budget(**bounds)))
    assert refused.code == INVALID
    assert "crawl.budget." in str(refused.violations)


def test_a_crawl_of_several_groups_stops_when_the_sites_of_all_have(
    server: Stubs, new_crawl: NewCrawl
) -> None:
    crawl = new_crawl(groups=4, budget=budget(max_site_fetches=2))
    sites = [f"http://{name}.example" for name in "abcdef"]

    def fetch(site: str, n: int) -> pb.PageResult:
        sent = common_pb2.Page(url=f"{site}/{n}", body=b"<p>text</p>", content_type="text/html")
        return ingest(server, crawl, sent)[0]

    for site in sites:
        fetch(site, 0)
    said = [(fetch(site, 1).standing, described(server, crawl).decision) for site in sites]
    assert {standing.site_decision for standing, _ in said} == {STOP}
    assert {standing.decision for standing, _ in said} == {CONTINUE}  # a group does not know the others
    assert [decision for _, decision in said] == [CONTINUE] * 5 + [STOP]
