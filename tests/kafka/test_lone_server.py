"""A server without `peers_listen` and a cluster do not take logs from each other, whichever comes first."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path

import pytest

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.cluster.brokers import Brokers
from support.cluster.fleet import SITES, Fleet, create, insistently, page_of
from support.server_process import refusal, stubs

pytestmark = pytest.mark.slow

CRAWL = "crawls/lone"


def ingest(target: str, n: int) -> None:
    with stubs(target) as server:
        for site in SITES:
            request = pb.IngestPagesRequest(crawl=CRAWL, pages=[page_of(site, n)])
            insistently(partial(server.links.IngestPages, request))


def test_a_lone_server_is_refused_beside_a_cluster_and_gives_way_to_one(
    brokers: Brokers, tmp_path: Path
) -> None:
    fleet = Fleet(tmp_path, brokers.hosts, "lone", session_s=8)
    try:
        fleet.start("a")
        create(fleet.targets()[0], crawl_pb.Crawl(name=CRAWL, groups=4))
        with pytest.raises(AssertionError, match="peers_listen: must be set"):
            fleet.start("lone", "lone")
        ingest(fleet.running["a"].target, 1)
        fleet.end("a", signal.SIGTERM)
        fleet.start("lone", "lone")
        ingest(fleet.running["lone"].target, 2)
        fleet.start("a")
        ingest(fleet.running["a"].target, 3)
        with stubs(fleet.running["lone"].target) as server:
            send = partial(
                server.links.IngestPages, pb.IngestPagesRequest(crawl=CRAWL, pages=[page_of(SITES[0], 4)])
            )
            refused = refusal(send), refusal(send)
        assert "another process has taken these sites over" in refused[0].message
        assert "servers of a cluster have it" in refused[1].message
        ingest(fleet.running["a"].target, 4)
    finally:
        fleet.close()
