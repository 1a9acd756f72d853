"""Turns of pages: callers have equal shares, and so have the crawls of each, however many calls they make."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from unittest import mock

import pytest

from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_server.grpc.admission import DelayEstimator, Flow
from linkscore_server.grpc.errors import CallerGone
from linkscore_server.grpc.scheduler import _CALLS_PARSED, FairScheduler
from support.grpc_calls import Clock, Context


@pytest.fixture
def clock() -> Iterator[Clock]:
    made = Clock()
    with mock.patch("linkscore_server.grpc.scheduler.time.perf_counter", made):
        yield made


class Turns:
    """Calls that take their turns; notes whose pages were worked on, in order."""

    def __init__(self, clock: Clock) -> None:
        self.work = DelayEstimator(5.0, clock)
        self.scheduler = FairScheduler(self.work)
        self.clock = clock
        self.order: list[Flow] = []

    async def call(self, flow: Flow, pages: int, page_s: float = 1.0) -> None:
        request = pb.IngestPagesRequest(crawl=f"crawls/{flow.crawl}")
        with self.work.counted(flow, pages):
            async with self.scheduler.of_call(request, Context()) as queue:
                for n in range(pages):
                    async with self.scheduler.of_page(queue, Context(), is_last=n + 1 == pages):
                        self.order.append(flow)
                        self.clock.now += page_s

    async def all(self, *calls: tuple[Flow, int, float]) -> None:
        async with asyncio.TaskGroup() as group:
            for flow, pages, page_s in calls:
                group.create_task(self.call(flow, pages, page_s))


async def test_a_light_call_goes_beside_the_many_of_another_crawl(clock: Clock) -> None:
    turns = Turns(clock)
    heavy, light = Flow("team", "heavy"), Flow("team", "light")
    await turns.all(*[(heavy, 50, 1.0)] * 12, (light, 3, 1.0))
    last = len(turns.order) - 1 - turns.order[::-1].index(light)
    assert last <= 2 * 3 + _CALLS_PARSED


async def test_crawls_share_the_time_and_not_the_pages(clock: Clock) -> None:
    turns = Turns(clock)
    cheap, dear = Flow("team", "cheap"), Flow("team", "dear")
    await turns.all(*[(cheap, 60, 1.0)] * 2, *[(dear, 60, 3.0)] * 2)
    had = Counter(turns.order[:80])
    assert had[cheap] == pytest.approx(3 * had[dear], abs=4)


async def test_who_has_many_crawls_has_no_more_than_who_has_one(clock: Clock) -> None:
    turns = Turns(clock)
    many = [Flow("many", f"crawl-{n}") for n in range(10)]
    await turns.all(*[(flow, 20, 1.0) for flow in many], *[(Flow("one", "crawl"), 100, 1.0)] * 2)
    had = Counter(flow.caller for flow in turns.order[:200])
    assert had["one"] == pytest.approx(had["many"], abs=2)
    crawls = Counter(flow.crawl for flow in turns.order[:200] if flow.caller == "many")
    assert max(crawls.values()) - min(crawls.values()) <= 1


async def test_who_was_silent_has_saved_up_nothing(clock: Clock) -> None:
    turns = Turns(clock)
    busy, late = Flow("team", "busy"), Flow("team", "late")
    await turns.call(busy, 50)
    turns.order.clear()
    await turns.all(*[(busy, 40, 1.0)] * 2, *[(late, 40, 1.0)] * 2)
    assert Counter(turns.order[:40])[late] == pytest.approx(20, abs=2)


async def test_few_calls_of_a_crawl_are_worked_on_at_a_time_and_those_before_others_end_first(
    clock: Clock,
) -> None:
    turns, ended = Turns(clock), []

    async def call(n: int) -> None:
        await turns.call(Flow("team", "crawl"), 5)
        ended.append(n)

    async with asyncio.TaskGroup() as group:
        for n in range(3 * _CALLS_PARSED):
            group.create_task(call(n))
    assert ended == sorted(ended)


async def test_a_turn_passes_by_who_is_gone(clock: Clock) -> None:
    turns = Turns(clock)
    queue, done = turns.scheduler.queue("crawl"), []

    async def page(context: Context) -> None:
        async with turns.scheduler.of_page(queue, context):
            done.append(context)

    contexts = [Context() for _ in range(4)]
    contexts[2].is_cancelled = True
    async with turns.scheduler.of_page(queue, Context()):
        waiting = [asyncio.create_task(page(context)) for context in contexts]
        await asyncio.sleep(0)
        waiting[0].cancel()
    ends = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 10)
    assert done == [contexts[1], contexts[3]]
    assert [type(end) for end in ends] == [asyncio.CancelledError, type(None), CallerGone, type(None)]


async def test_one_whose_turn_came_as_it_was_cancelled_passes_it_on(clock: Clock) -> None:
    scheduler = Turns(clock).scheduler
    queue = scheduler.queue("crawl")
    await scheduler.take(queue)
    second, third = (asyncio.create_task(scheduler.take(queue)) for _ in range(2))
    await asyncio.sleep(0)
    scheduler.pass_on()
    second.cancel()
    await asyncio.wait_for(third, 10)
    assert second.cancelled()
