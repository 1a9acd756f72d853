"""RankSites: which sites to fetch from next, and how many URLs of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from linkscore.v1 import (
    policy_pb2,
)
from support.crawl_calls import INVALID, described, ingest, report
from support.server_process import Stubs, refusal
from support.small_site import HOST


def rank_sites(server: Stubs, crawl: str, *sites: pb.WaitingSite, **more: Any) -> pb.RankSitesResponse:
    return server.links.RankSites(pb.RankSitesRequest(crawl=crawl, sites=sites, **more))


def waits(site: str, n: int | None = None) -> pb.WaitingSite:
    return pb.WaitingSite(site=site, waiting=n)


def test_sites_are_ordered_by_value_and_their_urls_handed_out(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, *range(10))
    asked = [waits("new.test", 2), waits(HOST, 3), waits("empty.test", 0), waits("other.test", 9)]
    got = rank_sites(server, crawl, *asked, n=20)
    assert sorted(got.order) == [0, 1, 2, 3]
    assert list(got.values) == sorted(got.values, reverse=True)
    assert dict(zip(got.order, got.urls, strict=True)) == {0: 2, 1: 3, 2: 0, 3: 9}
    assert (got.policy, got.event_seq) == ("harvest", described(server, crawl).event_seq)
    values = dict(zip(got.order, got.values, strict=True))
    assert values[0] == values[2] == values[3], "sites never seen are alike"


def test_one_url_is_handed_out_unless_told_otherwise(server: Stubs, crawl: str) -> None:
    ingest(server, crawl, 0)
    asked = [waits(HOST), waits("new.test")]
    assert list(rank_sites(server, crawl, *asked).urls) == [1, 0]
    assert list(rank_sites(server, crawl, *asked, n=0).urls) == [0, 0]
    assert list(rank_sites(server, crawl, *asked, n=5).urls) == [5, 0]
    assert list(rank_sites(server, crawl).order) == []


def test_a_site_may_be_given_by_its_resource_name(server: Stubs, crawl: str) -> None:
    (result,) = ingest(server, crawl, 0)
    by_name, by_host = (rank_sites(server, crawl, waits(site)) for site in (result.site, HOST))
    assert by_name == by_host


def test_the_host_bandit_prefers_sites_that_yielded(server: Stubs, new_crawl: Callable[..., str]) -> None:
    policy = policy_pb2.PolicySpec(
        anthelion=policy_pb2.AnthelionParams(value_function="success_rate", explore_prob=0.3)
    )
    crawl = new_crawl(policy=policy, groups=1)  # one model of all sites: more are refused
    told = [pb.Feedback(url=f"http://good.test/{n}", relevant=True) for n in range(4)]
    told += [pb.Feedback(url=f"http://bad.test/{n}", relevant=False) for n in range(4)]
    report(server, crawl, *told)
    asked = [waits(f"{name}.test") for name in ("bad", "new", "good")]
    got = rank_sites(server, crawl, *asked, n=300)
    assert list(got.order) == [2, 1, 0]
    assert sum(got.urls) == 300
    assert got.urls[0] > 210
    assert got == rank_sites(server, crawl, *asked, n=300)


def test_bad_sites_are_all_named(server: Stubs, crawl: str) -> None:
    names = ["", "a.test", "crawls/other/sites/b.test", "a.test", "x" * 1_025, "a/b", f"{crawl}/sites/a.test"]
    told = refusal(lambda: rank_sites(server, crawl, *map(waits, names), n=10_001))
    assert told.code == INVALID
    assert set(told.violations) == {"n", *(f"sites[{row}].site" for row in (0, 2, 3, 4, 5, 6))}
