"""Reads of a server that was stopped while others took its shards over, on real brokers."""

from __future__ import annotations

import signal
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_server.crawls.reads import CURRENT, KEY
from support.cluster.brokers import Brokers
from support.cluster.fleet import SITES, Fleet, Load, create, insistently
from support.cluster.links import Links
from support.server_process import stubs

pytestmark = pytest.mark.slow

GROUPS, SESSION_S = 16, 8.0
READ_S = 20.0  # longest wait of a read for a server that goes on
LOOKS = 100  # of each kind, for their time
METADATA = {"plain": (), "current": ((KEY, CURRENT),)}


def page_count(target: str, crawl: str, kind: str) -> int | grpc.StatusCode:
    """Return how many pages a server says a crawl has, or how it refuses."""
    request = crawl_pb.GetCrawlRequest(name=crawl)
    with stubs(target, enable_retries=0) as server:
        try:
            return server.crawls.GetCrawl(request, timeout=READ_S, metadata=METADATA[kind]).crawl.page_count
        except grpc.RpcError as exc:
            return exc.code()


def test_no_read_of_the_current_state_is_older_than_what_was_acknowledged(
    brokers: Brokers, tmp_path: Path, links: Links | None, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = Fleet(tmp_path, brokers.hosts, "reads", session_s=SESSION_S, links=links)
    load = Load(fleet, "crawls/reads")
    try:
        for name in "ab":
            fleet.start(name)
        create(fleet.targets()[0], crawl_pb.Crawl(name=load.crawl, groups=GROUPS))
        load.start()
        load.wait_for_all_sites(time.monotonic())
        held_up = fleet.running["a"].target
        fleet.signal("a", signal.SIGSTOP)
        load.wait_for_all_sites(time.monotonic())
        load.stop()
        with ThreadPoolExecutor() as threads:
            answers = [threads.submit(page_count, held_up, load.crawl, kind) for kind in METADATA]
            time.sleep(1.0)  # the calls are there when it goes on
            fleet.signal("a", signal.SIGCONT)
            plain, current = [answer.result() for answer in answers]
        acknowledged = len(load.acknowledged)
        with capsys.disabled():
            print(f"\n{acknowledged} pages acknowledged; plain read {plain}, current {current}")
        assert current is grpc.StatusCode.UNAVAILABLE or current >= acknowledged
        assert insistently(lambda: settled(held_up, load.crawl)) >= acknowledged
        said = insistently(lambda: times(held_up, load.crawl))
        with capsys.disabled():
            print(said)
    finally:
        fleet.close()


def settled(target: str, crawl: str) -> int:
    """Return how many pages a server says a crawl has now."""
    request = crawl_pb.GetCrawlRequest(name=crawl)
    with stubs(target) as server:
        return int(server.crawls.GetCrawl(request, metadata=METADATA["current"]).crawl.page_count)


def times(target: str, crawl: str) -> str:
    """Say how long reads of either kind take, in turns, of groups that are here or elsewhere."""
    took: dict[str, list[float]] = {kind: [] for kind in METADATA}
    with stubs(target) as server:
        for look in range(LOOKS):
            link = pb.CandidateLink(url=f"http://{SITES[look % len(SITES)]}/{look}")
            request = pb.ScoreLinksRequest(crawl=crawl, links=[link])
            for kind, metadata in METADATA.items():
                began = time.perf_counter()
                server.links.ScoreLinks(request, metadata=metadata)
                took[kind].append((time.perf_counter() - began) * 1e3)
    return ", ".join(
        f"{kind}: median {statistics.median(ms):.1f} ms, p90 {sorted(ms)[LOOKS * 9 // 10]:.1f} ms"
        for kind, ms in took.items()
    )
