"""What a worker is told, what its metrics become, and what does not go with several processes."""

from __future__ import annotations

import grpc
import pytest
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as open_metrics

from linkscore_server.front.owners import error_of
from linkscore_server.front.workers import WorkersCollector, share_of
from linkscore_server.services.errors import CallerGone, Forwarded, NotServing, status_of
from linkscore_server.settings import Settings


def failed(code: grpc.StatusCode, *trailers: tuple[str, bytes]) -> grpc.aio.AioRpcError:
    metadata = grpc.aio.Metadata(*trailers)
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), metadata, details="said")


@pytest.mark.parametrize("code", ["UNAVAILABLE", "CANCELLED", "INTERNAL", "UNKNOWN"])
def test_a_call_that_lost_its_process_is_to_be_repeated(code: str) -> None:
    error = error_of(failed(grpc.StatusCode[code]))
    assert isinstance(error, NotServing)
    assert status_of(error).code == code_pb2.UNAVAILABLE


def test_several_processes_need_a_folder_and_a_port() -> None:
    wrong = Settings(workers=2, data_dir="memory", listen="unix:/tmp/x").problems()
    assert [problem.field for problem in wrong] == ["workers", "workers"]
    assert [problem.field for problem in Settings(workers=0).problems()] == ["workers"]
    assert Settings(workers=4).problems() == []


def test_servers_over_a_database_share_it_by_themselves() -> None:
    where = "postgresql://db.example/crawls"
    assert Settings(data_dir=where).problems() == []
    (wrong,) = Settings(data_dir=where, workers=2).problems()
    assert (wrong.field, "start as many servers" in wrong.rule) == ("workers", True)
    assert [one.field for one in Settings(advertise="nowhere").problems()] == ["advertise"]


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


def test_metrics_of_workers_keep_their_values_and_say_whose_they_are() -> None:
    texts = {}
    for number in (0, 1):
        registry = CollectorRegistry()
        Counter("pages", "Pages", ["outcome"], registry=registry).labels("ok").inc(number + 1)
        Gauge("sites", "Sites", registry=registry).set(5)
        Histogram("took_seconds", "Time", buckets=(1.0,), registry=registry).observe(0.5, {"request_id": "r"})
        texts[number] = open_metrics(registry).decode()
    whole = CollectorRegistry()
    whole.register(WorkersCollector(lambda: texts))
    said = generate_latest(whole).decode().splitlines()
    assert 'pages_total{outcome="ok",worker="0"} 1.0' in said
    assert 'pages_total{outcome="ok",worker="1"} 2.0' in said
    assert 'sites{worker="1"} 5.0' in said
    assert 'took_seconds_bucket{le="1.0",worker="0"} 1.0' in said
    assert said.count("# TYPE pages_total counter") == 1
    assert '# {request_id="r"} 0.5' in open_metrics(whole).decode()


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
