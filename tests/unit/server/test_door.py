"""Around every call: the token, readiness, room, latency by code, errors to status."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any

import grpc
import pytest

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_server.door import Arrivals
from linkscore_server.observability import Metrics
from support.grpc_calls import Context, Sent, door, intercepted

REQUEST = pb.GetCrawlRequest(name="crawls/life")
RAW = REQUEST.SerializeToString()


def unary(call: Any, request: type = pb.GetCrawlRequest) -> Any:
    return grpc.unary_unary_rpc_method_handler(call, request.FromString, request.SerializeToString)


async def echo(request: Any, context: Context) -> Any:
    return request


async def never(request: Any, context: Context) -> None:
    raise AssertionError("the call must not be made")


def calls(metrics: Metrics, code: str) -> float | None:
    labels = {"method": "CrawlService/GetCrawl", "code": code}
    return metrics.registry.get_sample_value("linkscore_rpc_duration_seconds_count", labels)


def exemplars(metrics: Metrics) -> list[dict[str, str]]:
    """Names of the calls that latencies are told with."""
    samples = [sample for family in metrics.registry.collect() for sample in family.samples]
    return [sample.exemplar.labels for sample in samples if sample.exemplar]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("crawler-7.page_12", "crawler-7.page_12"),
        *((unusable, "[0-9a-f]{16}") for unusable in ("", "a" * 65, "a b", "a\nlevel: error")),
    ],
)
async def test_a_client_that_names_its_call_usably_gets_that_name_back(given: str, named: str) -> None:
    context = Context()
    handler = await intercepted(door(), unary(echo), **{"x-request-id": given})
    await handler.stream_unary(Sent(RAW), context)
    assert re.fullmatch(named, dict(context.trailers)["x-request-id"])


async def test_trailers_log_and_exemplar_of_a_call_that_fails_have_one_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def call(request: Any, context: Context) -> str:
        raise ZeroDivisionError

    metrics, context = Metrics(), Context()
    handler = await intercepted(door(metrics), unary(call))
    await handler.stream_unary(Sent(RAW), context)
    name = dict(context.trailers)["x-request-id"]
    assert name in str(context.details)
    assert [name in record.getMessage() for record in caplog.records] == [True]
    assert exemplars(metrics) == [{"request_id": name}]


async def test_a_slow_call_leaves_a_line_with_its_name_and_a_mining_does_not(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkscore_server.door._SLOW_S", 0.0)
    for method in ("CrawlService/GetCrawl", "BrowseLogService/MineSite"):
        handler = await intercepted(door(), unary(echo), method)
        with caplog.at_level(logging.WARNING):
            await handler.stream_unary(Sent(RAW), Context())
    (record,) = caplog.records
    assert re.fullmatch(
        "request [0-9a-f]{16}: CrawlService/GetCrawl crawls/life of - at ipv4:127.0.0.1:1 took [0-9.]+ s, OK",
        record.getMessage(),
    )


async def test_while_state_loads_calls_are_unavailable_and_nothing_is_read() -> None:
    context, sent = Context(), Sent(RAW)
    handler = await intercepted(door(is_ready=False), unary(never))
    with pytest.raises(grpc.aio.AbortError):
        await handler.stream_unary(sent, context)
    assert (context.code, sent.read) == (grpc.StatusCode.UNAVAILABLE, 0)


class Silent(Sent):
    async def __anext__(self) -> bytes:
        await asyncio.Event().wait()
        raise AssertionError


async def test_a_request_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linkscore_server.door._RECEIVE_S", 0.0)
    context = Context()
    handler = await intercepted(door(), unary(never))
    await handler.stream_unary(Silent(), context)
    assert context.code == grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_without_memory_requests_on_their_way_are_refused_those_begun_first_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("linkscore_server.door._YOUNG_S", 0.0)
    monkeypatch.setattr("linkscore_server.door._LOOK_S", 0.01)
    handler = await intercepted(door(arrivals=Arrivals(lambda: 11, most=10)), unary(never))
    contexts = [Context() for _ in range(32)]  # each look refuses half of those that are left
    calls = [asyncio.create_task(handler.stream_unary(Silent(), context)) for context in contexts]
    await calls[0]
    assert not calls[-1].done()
    assert contexts[0].code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "memory_mb" in str(contexts[0].details)
    for call in calls[1:]:
        call.cancel()
