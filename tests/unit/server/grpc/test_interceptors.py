"""Around every call: the token, readiness, latency by code, errors to status."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from linkscore_server.grpc.interceptors import CallInterceptor
from linkscore_server.observability.metrics import Metrics


class Details:
    def __init__(self, method: str, **metadata: str) -> None:
        self.method = method
        self.invocation_metadata = tuple(metadata.items())


class Context:
    code = details = None

    def set_code(self, code: grpc.StatusCode) -> None:
        self.code = code

    def set_details(self, details: str) -> None:
        self.details = details

    def set_trailing_metadata(self, metadata: Any) -> None:
        self.trailers = metadata


async def intercepted(guard: CallInterceptor, call: Any, **metadata: str) -> Any:
    handler = grpc.unary_unary_rpc_method_handler(call)

    async def found(_: Any) -> Any:
        return handler

    return await guard.intercept_service(found, Details("/linkscore.v1.CrawlService/GetCrawl", **metadata))


def calls(metrics: Metrics, code: str) -> float | None:
    labels = {"method": "CrawlService/GetCrawl", "code": code}
    return metrics.registry.get_sample_value("linkscore_rpc_duration_seconds_count", labels)


async def test_an_answer_passes_and_is_measured() -> None:
    async def call(request: str, context: Context) -> str:
        return request.upper()

    metrics = Metrics()
    handler = await intercepted(CallInterceptor(metrics), call)
    assert await handler.unary_unary("x", Context()) == "X"
    assert calls(metrics, "OK") == 1


async def test_a_failure_becomes_a_status_and_is_measured_by_its_code() -> None:
    async def call(request: str, context: Context) -> str:
        raise ZeroDivisionError("inside")

    metrics, context = Metrics(), Context()
    handler = await intercepted(CallInterceptor(metrics), call)
    assert await handler.unary_unary("x", context) is None
    assert context.code == grpc.StatusCode.INTERNAL
    assert "inside" not in str(context.details)
    assert calls(metrics, "INTERNAL") == 1


async def test_a_call_that_is_given_up_is_measured_as_cancelled() -> None:
    async def call(request: str, context: Context) -> None:
        await asyncio.Event().wait()

    metrics = Metrics()
    guard = CallInterceptor(metrics)
    handler = await intercepted(guard, call)
    running = asyncio.create_task(handler.unary_unary("x", Context()))
    await asyncio.sleep(0)
    idle = asyncio.create_task(guard.idle())
    await asyncio.sleep(0)
    assert not idle.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await asyncio.wait_for(idle, 10)
    assert calls(metrics, "CANCELLED") == 1


async def test_while_state_loads_calls_are_unavailable() -> None:
    async def call(request: str, context: Context) -> str:
        return request

    context = Context()
    handler = await intercepted(CallInterceptor(Metrics(), is_ready=lambda: False), call)
    await handler.unary_unary("x", context)
    assert context.code == grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize(
    ("given", "allowed"), [("Bearer t", True), ("Bearer T", False), ("t", False), ("", False)]
)
async def test_only_the_token_lets_a_call_in(given: str, allowed: bool) -> None:
    async def call(request: str, context: Context) -> str:
        return request

    context = Context()
    handler = await intercepted(CallInterceptor(Metrics(), token="t"), call, authorization=given)
    assert (await handler.unary_unary("x", context) == "x") == allowed
    assert (context.code is None) == allowed
