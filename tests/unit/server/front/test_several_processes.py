"""What a worker is told, what its metrics become, and what does not go with several processes.

Every call about a crawl is known for crawls of several groups; others end as an internal error.
"""

from __future__ import annotations

import grpc
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from linkscore_server.front.fan_out import CALLS
from linkscore_server.front.owners import error_of
from linkscore_server.front.workers import share_of
from linkscore_server.services.contract import RPCS, CallerGone, Forwarded, NotServing, status_of
from linkscore_server.settings import Settings


def failed(code: grpc.StatusCode, *trailers: tuple[str, bytes]) -> grpc.aio.AioRpcError:
    metadata = grpc.aio.Metadata(*trailers)
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), metadata, details="said")


def test_a_worker_gets_its_share_of_what_bounds_the_server() -> None:
    settings = Settings(workers=4, memory_mb=8_000, site_memory_mb=4_000, max_inflight_bytes=64 << 20)
    own = share_of(settings, "127.0.0.1:80")
    assert (own.memory_mb, own.site_memory_mb, own.listen, own.metrics_listen) == (
        2_000,
        1_000,
        "127.0.0.1:80",
        "",
    )
    assert own.max_inflight_bytes == settings.max_message_bytes  # one message must always fit


def test_what_another_process_said_is_passed_on_and_its_silence_is_to_try_again() -> None:
    status = status_pb2.Status(code=code_pb2.NOT_FOUND, message="no such crawl")
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason="CRAWL_NOT_FOUND"))
    wire = rpc_status.to_status(status)
    told = grpc.aio.AioRpcError(
        grpc.StatusCode.NOT_FOUND,
        grpc.aio.Metadata(),
        grpc.aio.Metadata(*wire.trailing_metadata),
        details=status.message,
    )
    got = error_of(told)
    assert isinstance(got, Forwarded)
    assert status_of(got) == status
    assert isinstance(error_of(failed(grpc.StatusCode.UNAVAILABLE)), NotServing)
    assert isinstance(error_of(failed(grpc.StatusCode.DEADLINE_EXCEEDED)), CallerGone)
    assert status_of(error_of(failed(grpc.StatusCode.RESOURCE_EXHAUSTED))).code == code_pb2.RESOURCE_EXHAUSTED


OF_NO_GROUP = {f"CrawlService/{name}" for name in ("CreateCrawl", "UpdateCrawl", "DeleteCrawl", "ListShards")}


def test_calls_about_a_crawl_are_taken_apart_somewhere() -> None:
    about_a_crawl = {name for name, rpc in RPCS.items() if rpc.crawl}
    routed = {*CALLS, *OF_NO_GROUP}
    assert about_a_crawl - routed == set()
    assert routed - about_a_crawl == set()
