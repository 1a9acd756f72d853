"""SIGTERM: what is in flight finishes, and nothing acknowledged is lost."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from linkscore.v1 import (
    common_pb2 as common,
)
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import (
    link_scoring_service_pb2 as pb,
)
from linkscore.v1 import (
    site_model_service_pb2 as site_pb,
)
from support.crawl_calls import CRAWL, create, described, ingest
from support.server_process import serving, stubs
from support.small_site import HOST, url_of

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def test_on_sigterm_health_goes_first_calls_in_flight_finish_and_states_are_written(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as process, stubs(process.target) as server:
        create(server, CRAWL)
        watch = health_pb2_grpc.HealthStub(server.channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == SERVING
        big = "".join(f"<div><a class=c{i} href=/{i}>x</a></div>" for i in range(1_500)).encode()
        pages = [common.Page(event_id=f"{n}", url=url_of(n), status_code=200, body=big) for n in range(40)]
        call = server.links.IngestPages.future(pb.IngestPagesRequest(crawl=CRAWL, pages=pages))
        while not described(server, CRAWL).page_count:
            pass
        process.process.send_signal(signal.SIGTERM)
        assert next(watch).status == NOT_SERVING
        assert not call.done()
        assert len(call.result(60).results) == 40
        assert process.process.wait(60) == 0
    with serving(tmp_path) as process, stubs(process.target) as server:
        assert described(server, CRAWL).page_count == 40
        shards = server.crawls.ListShards(crawl_pb.ListShardsRequest()).shards
        assert [shard.replay_count for shard in shards] == [0]


def test_a_watcher_of_health_does_not_hold_a_drain(tmp_path: Path) -> None:
    with serving(tmp_path, "--drain-s", "600") as process, stubs(process.target) as server:
        watch = health_pb2_grpc.HealthStub(server.channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == SERVING
        process.process.send_signal(signal.SIGTERM)
        assert next(watch).status == NOT_SERVING
        assert process.process.wait(60) == 0


@pytest.mark.long
def test_a_call_longer_than_the_drain_is_cut(tmp_path: Path) -> None:
    with serving(tmp_path, "--drain-s", "0.05") as process, stubs(process.target) as server:
        create(server, CRAWL)
        ingest(server, CRAWL, *range(400))
        call = server.sites.LearnSite.future(site_pb.LearnSiteRequest(name=f"{CRAWL}/sites/{HOST}"))
        ingest(server, CRAWL, 400)
        assert process.terminate() == 0
        assert call.code() in (grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE)


@pytest.mark.long
@pytest.mark.parametrize("listen", ["a port", "a socket"])
def test_calls_that_come_while_a_server_ends_are_answered_or_unavailable(tmp_path: Path, listen: str) -> None:
    """Callers repeat what is UNAVAILABLE; gRPC ends a call as CANCELLED that meets a server as it closes."""
    stop, codes = threading.Event(), set()
    options = () if listen == "a port" else ("--listen", f"unix:{tmp_path / 'socket'}")

    def ask() -> None:
        with stubs(process.target, use_local_subchannel_pool=1, enable_retries=0) as server:
            while not stop.is_set():
                try:
                    described(server, CRAWL)
                except grpc.RpcError as exc:
                    codes.add(exc.code())

    with serving(tmp_path, *options) as process:
        with stubs(process.target) as server:
            create(server, CRAWL)
        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        assert process.terminate() == 0
        stop.set()
        for thread in threads:
            thread.join(60)
    assert codes == {grpc.StatusCode.UNAVAILABLE}
