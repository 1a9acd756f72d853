"""Every call about a crawl is known for crawls of several groups; others end as an internal error."""

from __future__ import annotations

from linkscore_server.front.fan_out import CALLS
from linkscore_server.services.contract import RPCS

OF_NO_GROUP = {f"CrawlService/{name}" for name in ("CreateCrawl", "UpdateCrawl", "DeleteCrawl", "ListShards")}


def test_calls_about_a_crawl_are_taken_apart_somewhere() -> None:
    about_a_crawl = {name for name, rpc in RPCS.items() if rpc.crawl}
    routed = {*CALLS, *OF_NO_GROUP}
    assert about_a_crawl - routed == set()
    assert routed - about_a_crawl == set()
