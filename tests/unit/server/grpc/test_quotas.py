"""Quotas: what comes of a token stays within its rates, nothing of it is lost, and others are not held."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from hypothesis import given
from hypothesis import strategies as st

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.errors import LimitExceeded
from linkscore_server.grpc.access import check_count, set_caller
from linkscore_server.grpc.admission import DelayEstimator, Flow
from linkscore_server.grpc.errors import Leaving
from linkscore_server.grpc.overload import QuotaExceeded
from linkscore_server.grpc.quotas import Quotas
from linkscore_server.observability.metrics import Metrics
from linkscore_server.tokens import ANYBODY, Caller, Quota, Role
from support.grpc_calls import Clock, Context, Sent, intercepted, interceptor

PACKAGE = "LinkScoringService"
INGEST, RANK, STREAM = (f"{PACKAGE}/{name}" for name in ("IngestPages", "RankBuckets", "StreamPages"))
LONG_S = math.inf


def caller(name: str = "small", **quota: float) -> Caller:
    return Caller(name, Role.ADMIN, quota=Quota(**quota))


class Held:
    """Quotas in a time of their own: who is held gets there at once."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.began = self.clock.now
        self.waits: list[float] = []
        self.quotas = Quotas(clock=self.clock, sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.clock.now += seconds

    @property
    def passed_s(self) -> float:
        return self.clock.now - self.began

    async def call(self, who: Caller, pages: int, size: int) -> None:
        """Make an IngestPages as the gate does."""
        counted = await self.quotas.admit(who, INGEST, None, LONG_S)
        self.quotas.take(who, size=size)
        self.quotas.take(who, pages=pages - counted)

    async def message(self, who: Caller, pages: int, size: int) -> None:
        """Bring a message of a stream as the gate does."""
        while not await self.quotas.turn(who, STREAM):
            assert self.waits.pop() > 1  # it looks at its token, and is held on
        self.quotas.take(who, pages=pages, size=size)


@given(
    ways=st.lists(
        st.tuples(st.booleans(), st.integers(1, 50), st.integers(0, 5_000), st.floats(0, 3)), min_size=1
    ),
    pages_per_s=st.floats(0.5, 100),
    bytes_per_s=st.floats(100, 1e5),
)
async def test_in_any_time_no_more_comes_than_the_rates_a_burst_and_one_call(
    ways: list[tuple[bool, int, int, float]], pages_per_s: float, bytes_per_s: float
) -> None:
    held, who = Held(), caller(pages_per_s=pages_per_s, bytes_per_s=bytes_per_s)
    brought: list[tuple[float, int, int]] = []
    for is_stream, pages, size, idle_s in ways:
        held.clock.now += idle_s
        await (held.message if is_stream else held.call)(who, pages, size)
        brought.append((held.passed_s, pages, size))
    for first, (begun, *_) in enumerate(brought):
        for last in range(first, len(brought)):
            window_s = brought[last][0] - begun + 1
            some = brought[first:last]  # the last one may be as large as it likes: it is paid for afterwards
            assert sum(pages for _, pages, _ in some) <= window_s * pages_per_s + 1e-6 * len(ways)
            assert sum(size for _, _, size in some) <= window_s * bytes_per_s + 1e-6 * len(ways)


async def test_calls_that_come_together_are_held_one_after_the_other() -> None:
    held, who = Held(), caller(pages_per_s=2)
    held.quotas = Quotas(clock=held.clock, sleep=(together := Held())._sleep)
    for _ in range(6):
        await held.call(who, 1, 0)
    assert together.waits == [0.5, 1.0, 1.5]  # three at once: one, and a second's worth


@pytest.mark.parametrize(
    ("remaining_s", "longest_s", "told"),
    [(None, 5.0, [10, 10, 10, 6.5]), (4.0, 5.0, [10, 10, 10, 8]), (100.0, 15.0, [10, 10, 10])],
)
async def test_a_call_that_would_be_held_too_long_is_told_when_to_come_and_then_let_in(
    remaining_s: float | None, longest_s: float, told: list[float]
) -> None:
    held, who = Held(), caller(pages_per_s=1)
    await held.call(who, 40, 0)
    for told_s in told:
        with pytest.raises(QuotaExceeded) as refused:
            await held.quotas.admit(who, INGEST, remaining_s, longest_s)
        assert refused.value.retry_s == pytest.approx(told_s)
        held.clock.now += refused.value.retry_s
    await held.quotas.admit(who, INGEST, remaining_s, longest_s)
    assert held.passed_s == pytest.approx(39)


async def test_what_a_token_without_a_quota_or_another_one_brings_is_never_held() -> None:
    held = Held()
    for _ in range(100):
        await held.call(ANYBODY, 500, 1 << 20)
    await held.call(caller("small", pages_per_s=1), 500, 0)
    await held.call(caller("other", pages_per_s=1), 1, 0)
    assert held.waits == []


@pytest.mark.parametrize(("quota", "is_held"), [({"pages_per_s": 1.0}, False), ({"bytes_per_s": 1.0}, True)])
async def test_questions_wait_for_bytes_and_never_for_pages(quota: dict[str, float], is_held: bool) -> None:
    held, who = Held(), caller(**quota)
    await held.call(who, 100, 100)
    assert await held.quotas.admit(who, RANK, None, LONG_S) == 0
    assert bool(held.waits) == is_held


async def test_a_call_whose_caller_gives_up_while_it_is_held_takes_no_turn() -> None:
    quotas, who = Quotas(clock=Clock()), caller(pages_per_s=1)
    held = [asyncio.create_task(quotas.admit(who, INGEST, None, LONG_S)) for _ in range(10)]
    await asyncio.sleep(0)
    with pytest.raises(QuotaExceeded, match=r"in 9\.0 s"):
        await quotas.admit(who, INGEST, None, 5.0)
    for one in held:
        one.cancel()
    await asyncio.gather(*held, return_exceptions=True)
    assert await asyncio.wait_for(quotas.admit(who, INGEST, None, 5.0), 30) == 1


@pytest.mark.parametrize("way", ["a call", "a stream"])
async def test_who_is_held_comes_again_elsewhere_when_the_server_ends(way: str) -> None:
    quotas, who = Quotas(clock=Clock()), caller(pages_per_s=0.001)
    quotas.take(who, pages=3)
    held = asyncio.create_task(
        quotas.turn(who, STREAM) if way == "a stream" else quotas.admit(who, INGEST, None, LONG_S)
    )
    await asyncio.sleep(0)
    assert not held.done()
    quotas.close()
    with pytest.raises(Leaving):
        await asyncio.wait_for(held, 30)


@pytest.mark.parametrize("rate", ["pages", "bytes"])
async def test_however_large_a_message_it_locks_its_token_for_an_hour_at_the_longest(rate: str) -> None:
    held, who = Held(), caller(**{f"{rate}_per_s": 0.001})
    await held.call(who, 500, 64 << 20)
    await held.call(who, 1, 1)
    assert held.passed_s == pytest.approx(3600, abs=2)


async def test_a_token_whose_quota_changes_owes_nothing_and_its_stream_hears_of_it() -> None:
    held, small = Held(), caller(pages_per_s=0.01)
    await held.message(small, 20, 0)
    assert not await held.quotas.turn(small, STREAM)
    assert held.passed_s < 60
    for other in (caller(pages_per_s=0.02), caller(pages_per_s=100), caller(bytes_per_s=5), ANYBODY):
        assert await held.quotas.turn(other, STREAM)
        assert await held.quotas.admit(other, INGEST, None, 0.0) in (0, 1)


@pytest.mark.parametrize(
    ("now", "answered", "code"), [(None, 1, grpc.StatusCode.UNAUTHENTICATED), (ANYBODY, 4, None)]
)
async def test_a_stream_that_is_held_is_told_what_became_of_its_token(
    now: Caller | None, answered: int, code: grpc.StatusCode | None
) -> None:
    async def echo(requests: AsyncIterator[Any], context: Context) -> AsyncIterator[Any]:
        async for request in requests:
            yield request

    who, held = [caller(pages_per_s=0.01)], Held()

    async def changes(seconds: float) -> None:
        await held._sleep(seconds)
        who[:] = [now]

    held.quotas = Quotas(clock=held.clock, sleep=changes)
    kind = pb.StreamPagesRequest
    handler = await intercepted(
        interceptor(quotas=held.quotas, caller_of=lambda _: who[0]),
        grpc.stream_stream_rpc_method_handler(echo, kind.FromString, kind.SerializeToString),
        STREAM,
    )
    context, raw = Context(), kind(crawl="crawls/life").SerializeToString()
    answers = [answer async for answer in handler.stream_stream(Sent(*[raw] * 4), context)]
    assert (len(answers), context.code) == (answered, code)
    assert held.passed_s <= 10


async def test_pages_of_a_call_that_found_no_time_are_not_counted() -> None:
    async def never(request: Any, context: Context) -> None:
        raise AssertionError("the call must not be made")

    work, quotas, small = DelayEstimator(0.001), Quotas(), caller(pages_per_s=2)
    guard = interceptor(quotas=quotas, work=work, caller_of=lambda _: small)
    kind = pb.IngestPagesRequest
    handler = await intercepted(
        guard, grpc.unary_unary_rpc_method_handler(never, kind.FromString, kind.SerializeToString), INGEST
    )
    request, context = kind(crawl="crawls/life", pages=[kind().pages.add()] * 60), Context()
    with work.counted(Flow("small", "life"), 1 << 30):
        await handler.stream_unary(Sent(request.SerializeToString()), context)
    assert context.code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert await quotas.admit(small, INGEST, None, 0.1) == 1


async def test_the_gate_refuses_with_a_reason_and_a_time_before_it_reads() -> None:
    async def echo(request: Any, context: Context) -> Any:
        return request

    metrics, small = Metrics(), caller(pages_per_s=1)
    guard = interceptor(metrics, quotas=Quotas(), caller_of=lambda _: small)
    handler = await intercepted(
        guard,
        grpc.unary_unary_rpc_method_handler(
            echo, pb.IngestPagesRequest.FromString, pb.IngestPagesRequest.SerializeToString
        ),
        INGEST,
    )
    request = pb.IngestPagesRequest(crawl="crawls/life", pages=[pb.IngestPagesRequest().pages.add()] * 60)
    raw = request.SerializeToString()
    assert await handler.stream_unary(Sent(raw), Context()) == raw
    context, sent = Context(), Sent(raw)
    await handler.stream_unary(sent, context)
    assert (context.code, sent.read) == (grpc.StatusCode.RESOURCE_EXHAUSTED, 0)
    status = status_pb2.Status.FromString(dict(context.trailers)["grpc-status-details-bin"])
    info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    assert status.details[1].Unpack(retry)
    assert (info.reason, retry.retry_delay.seconds) == ("QUOTA_EXCEEDED", 10)
    counted = metrics.registry.get_sample_value
    assert counted("linkscore_quota_refusals_total", {"token": "small"}) == 1
    assert counted("linkscore_calls_shed_total", {"method": INGEST}) is None


def test_a_token_creates_no_more_crawls_than_there_may_be_among_its_own() -> None:
    set_caller(Caller("small", Role.WRITE, ("news-*",), Quota(crawls=2)))
    check_count("news-b", ["news-a", "other", "third"])
    check_count("news-a", ["news-a", "news-b", "news-c"])  # which is there
    with pytest.raises(LimitExceeded, match="2 crawls of small are there"):
        check_count("news-c", ["news-a", "news-b", "other"])
