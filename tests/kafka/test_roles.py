"""Fronts and owners over real brokers: each answers what is its own to answer."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.cluster.brokers import Brokers
from support.cluster.fleet import SITES, Fleet, create, insistently, page_of
from support.server_process import stubs

pytestmark = pytest.mark.slow

CRAWL = "crawls/roles"


def health_of(target: str) -> int:
    with grpc.insecure_channel(target) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
    return int(answer.status)


def test_fronts_answer_calls_and_owners_have_the_crawls(brokers: Brokers, tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, brokers.hosts, "roles", session_s=8)
    try:
        fleet.start("owner-a", "owner")
        fleet.start("front", "front")
        fleet.start("owner-b", "owner")
        front, owner = (fleet.running[name].target for name in ("front", "owner-a"))
        assert [health_of(target) for target in fleet.targets()] == [
            health_pb2.HealthCheckResponse.SERVING
        ] * 3
        create(front, crawl_pb.Crawl(name=CRAWL, groups=8))
        with stubs(owner) as server, pytest.raises(grpc.RpcError) as refused:
            server.crawls.ListCrawls(crawl_pb.ListCrawlsRequest())
        assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
        with stubs(front) as server:
            for site in SITES:
                [result] = server.links.IngestPages(
                    pb.IngestPagesRequest(crawl=CRAWL, pages=[page_of(site, 1)])
                ).results
                assert len(result.links.scores) > 0
            shards = server.crawls.ListShards(crawl_pb.ListShardsRequest()).shards
            assert len({shard.owner for shard in shards}) == 2
            assert sum(shard.site_count for shard in shards) == len(SITES)
            fleet.end("owner-a", signal.SIGTERM)
            for site in SITES:
                request = pb.IngestPagesRequest(crawl=CRAWL, pages=[page_of(site, 2)])
                [result] = insistently(partial(server.links.IngestPages, request)).results
                assert len(result.links.scores) > 0
            shards = server.crawls.ListShards(crawl_pb.ListShardsRequest()).shards
            assert len({shard.owner for shard in shards}) == 1
    finally:
        fleet.close()
