"""Every call about a crawl is known for crawls of several groups; others end as an internal error."""

from __future__ import annotations

from linkscore.v1 import site_model_service_pb2 as pb
from linkscore_server.front.fan_out import CALLS, ROWS, merged_seeds
from linkscore_server.services.contract import RPCS

OF_NO_GROUP = {f"CrawlService/{name}" for name in ("CreateCrawl", "UpdateCrawl", "DeleteCrawl", "ListShards")}


def test_calls_about_a_crawl_are_taken_apart_somewhere() -> None:
    about_a_crawl = {name for name, rpc in RPCS.items() if rpc.crawl}
    routed = {*CALLS, *ROWS, *OF_NO_GROUP}
    assert about_a_crawl - routed == set()
    assert routed - about_a_crawl == set()


def seeds(total: int, state: str, **pages: int) -> pb.SuggestSeedsResponse:
    """Return the answer of a group with so much news, of which each page has so many."""
    found = [pb.Seed(url=url, reason=state, value=n / total, page_count=n) for url, n in pages.items()]
    return pb.SuggestSeedsResponse(seeds=found, policy="news_prefix", policy_state=state, event_seq=3)


def test_a_seed_of_several_groups_counts_for_the_news_of_all() -> None:
    merged = merged_seeds([seeds(10, "x", portal=6, a=4), seeds(30, "y", b=9, portal=8), seeds(1, "z")], 2)
    assert [(seed.url, seed.page_count, seed.value, seed.reason) for seed in merged.seeds] == [
        ("portal", 14, 0.35, "y"),
        ("b", 9, 0.225, "y"),
    ]
    assert merged.policy_state == "2 of 3 groups name seeds; that with most news: y"
    assert merged.policy == "news_prefix"
