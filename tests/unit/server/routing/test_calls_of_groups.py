"""Every call about a crawl is known for crawls of several groups; others end as an internal error."""

from __future__ import annotations

from linkscore_server.grpc.access import RPCS
from linkscore_server.routing.fan_out import FAN_OUT
from linkscore_server.routing.router import CHANGES
from linkscore_server.routing.scatter_gather import SCATTER_GATHER

STREAMS = {"LinkScoringService/StreamPages", "BrowseLogService/ImportBrowseRecords"}
OF_NO_GROUP = {"CrawlService/ListShards"}


def test_calls_about_a_crawl_are_taken_apart_somewhere() -> None:
    about_a_crawl = {name for name, rpc in RPCS.items() if rpc.crawl}
    routed = {*FAN_OUT, *SCATTER_GATHER, *CHANGES, *STREAMS, *OF_NO_GROUP}
    assert about_a_crawl - routed == set()
    assert routed - about_a_crawl == set()
