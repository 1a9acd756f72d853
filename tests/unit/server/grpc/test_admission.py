"""What a server takes on: bytes of requests, and seconds of work that wait."""

from __future__ import annotations

import asyncio

import pytest

from linkscore.v1 import common_pb2
from linkscore_scoring.errors import LimitExceeded
from linkscore_server.grpc.admission import (
    AdmissionLimit,
    Backlog,
    DelayEstimator,
    Flow,
    require_caller,
    work_of,
)
from linkscore_server.grpc.errors import CallerGone, Overloaded
from linkscore_server.grpc.room import InflightBytes
from support.grpc_calls import Clock, Context

MINE, OTHER = Flow("team", "mine"), Flow("team", "other")
SECOND = 5_000_000  # bytes of a second of work, as long as nothing was measured


def room(max_bytes: int = 100, message_bytes: int = 40) -> InflightBytes:
    return InflightBytes(max_bytes, message_bytes)


async def test_as_many_requests_are_read_at_a_time_as_the_bound_has_room_for_the_largest() -> None:
    bytes_ = room()
    async with bytes_.reading(0, caller="a"), bytes_.reading(0, caller="b"):
        with pytest.raises(Overloaded, match="max_inflight_bytes"):
            async with bytes_.reading(0, caller="c"):
                pass
    async with bytes_.reading(0):
        pass


async def test_who_waits_for_room_gets_it_in_turn() -> None:
    bytes_, order = room(100, 100), []

    async def read(n: int) -> None:
        async with bytes_.reading(60):
            order.append(n)
            await asyncio.sleep(0)

    async with bytes_.reading(0):
        waiting = [asyncio.create_task(read(n)) for n in range(4)]
        await asyncio.sleep(0)
        waiting[1].cancel()
        await asyncio.sleep(0)
    await asyncio.gather(*waiting, return_exceptions=True)
    assert order == [0, 2, 3]


async def test_one_whose_turn_came_as_it_gave_up_passes_it_on() -> None:
    bytes_, passed = room(100, 100), []

    async def read() -> None:
        async with bytes_.reading(60):
            passed.append(asyncio.current_task())

    async with bytes_.reading(0):
        first, second = (asyncio.create_task(read()) for _ in range(2))
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait_for(second, 10)
    assert passed == [second]


async def test_one_request_is_let_in_however_small_the_bound() -> None:
    entered = False
    async with room(10, 1_000).reading(0):
        entered = True
    assert entered


async def test_a_stream_waits_while_its_caller_has_its_share_and_never_when_it_holds_nothing() -> None:
    bytes_, mine = room(), [25]
    with bytes_.held("other", 100):
        await bytes_.room_for_a_stream("me", lambda: 0)
    with bytes_.held("other", 99):
        await bytes_.room_for_a_stream("me", lambda: 25)
    waiting = asyncio.create_task(bytes_.room_for_a_stream("me", lambda: mine[0]))
    bytes_.take("me", 25)
    await asyncio.sleep(0)
    assert not waiting.done()
    mine[0] = 0
    bytes_.give_back("me", 25)
    await asyncio.wait_for(waiting, 10)


def test_nothing_is_refused_while_nothing_is_in_work() -> None:
    DelayEstimator(1.0, Clock()).check(MINE, 1_000 * SECOND, remaining_s=0.1)


def test_a_burst_may_queue_four_targets_and_a_standing_queue_one() -> None:
    clock = Clock()
    work = DelayEstimator(1.0, clock)
    with work.counted(MINE, 3 * SECOND):
        work.check(MINE, 0, None)
        clock.now += 4.1
        with pytest.raises(Overloaded, match="1 s may"):
            work.check(MINE, 0, None)
    work.check(MINE, 0, None)
    with work.counted(MINE, 5 * SECOND), pytest.raises(Overloaded, match="4 s may"):
        work.check(MINE, 0, None)


def test_a_call_that_would_end_after_its_deadline_is_refused() -> None:
    work = DelayEstimator(5.0, Clock())
    with work.counted(MINE, SECOND):
        work.check(MINE, SECOND, remaining_s=3.0)
        with pytest.raises(Overloaded, match="deadline"):
            work.check(MINE, 2 * SECOND, remaining_s=3.0)
        with pytest.raises(Overloaded, match="deadline"):
            work.check(MINE, 0, remaining_s=1.0)


def test_the_cost_of_a_byte_is_what_it_took_of_late() -> None:
    clock = Clock()
    work = DelayEstimator(5.0, clock)
    for _ in range(30):
        with work.counted(MINE, 1_000_000):
            clock.now += 2.0
    with work.counted(MINE, 1_000_000):
        assert work.delay_s == pytest.approx(2.0, rel=0.05)


def test_a_call_whose_turn_comes_too_late_is_refused_before_any_work() -> None:
    work = DelayEstimator(5.0, Clock())
    with work.counted(MINE, SECOND), work.counted(MINE, SECOND):
        work.check_turn(MINE, SECOND, None, among=1)
        work.check_turn(MINE, SECOND, 1.5, among=1)
        with pytest.raises(Overloaded, match=r"would take 2\.0 s and the deadline is in 1\.5 s"):
            work.check_turn(MINE, SECOND, 1.5, among=2)


def test_a_call_that_is_alone_is_worked_on_however_wrong_the_estimate() -> None:
    work = DelayEstimator(5.0, Clock())
    with work.counted(MINE, SECOND):
        work.check_turn(MINE, SECOND, 0.001, among=1)


def test_a_call_that_failed_teaches_no_cost() -> None:
    clock = Clock()
    work = DelayEstimator(5.0, clock)
    with pytest.raises(ValueError, match="x"), work.counted(MINE, SECOND):
        raise ValueError("x")
    with work.counted(MINE, SECOND):
        assert work.delay_s == pytest.approx(1.0, rel=0.01)


def test_a_call_that_is_worked_on_elsewhere_delays_nobody_and_teaches_no_cost() -> None:
    clock = Clock()
    work = DelayEstimator(1.0, clock)
    with work.counted(MINE, 9 * SECOND):
        with pytest.raises(Overloaded):
            work.check(MINE, 0, None)
        work.leave()
        work.leave()
        assert not work.delay_s
        with work.counted(MINE, SECOND):  # the next one, of a stream say, is not the one that left
            clock.now += 1.0
        assert not work.delay_s
    with work.counted(MINE, SECOND):
        assert work.delay_s == pytest.approx(1.0, rel=0.01)


def test_what_of_a_call_is_worked_on_elsewhere_delays_nobody_and_the_rest_does() -> None:
    work = DelayEstimator(1.0, Clock())
    request = common_pb2.Page(body=b"x" * 10)
    assert work.size_of(request) == work_of(request, request.ByteSize())
    with work.counted(MINE, 9 * SECOND):
        before = work.size_of(request)
        work.leave(6 * SECOND)
        assert work.size_of(request) == before - 6 * SECOND
        assert work.delay_s == pytest.approx(3.0, rel=0.01)
        work.leave(0)
        work.leave(10 * SECOND)
        assert not work.delay_s
    work.leave()  # it has ended
    assert not work.delay_s


def test_the_pause_asked_for_lets_the_queue_shrink_to_half() -> None:
    work = DelayEstimator(1.0, Clock())
    with work.counted(MINE, 6 * SECOND), pytest.raises(Overloaded) as caught:
        work.check(MINE, 0, None)
    assert caught.value.retry_s == pytest.approx(4.0, rel=0.01)


def test_a_light_call_to_another_crawl_waits_for_as_much_as_it_brings_itself() -> None:
    work = DelayEstimator(1.0, Clock())
    with work.counted(MINE, 100 * SECOND):
        with pytest.raises(Overloaded):
            work.check(MINE, SECOND, None)
        work.check(OTHER, SECOND, 3.0)
        with pytest.raises(Overloaded, match="deadline"):
            work.check(OTHER, SECOND, 2.5)


def test_a_call_waits_for_the_share_that_others_have_while_it_is_served() -> None:
    backlog = Backlog()
    for flow, size in ((MINE, 10), (OTHER, 50), (Flow("them", "a"), 30), (Flow("them", "b"), 1)):
        backlog.add(flow, size)
    assert backlog.until(MINE, 10) == 10 + 10 + 20
    assert backlog.until(MINE, 60) == backlog.total + 50
    assert backlog.until(Flow("third", "new"), 5) == 15
    assert backlog.until(Flow("them", "b"), 1) == 1 + 1 + 2


def test_crawls_of_one_caller_do_not_make_another_caller_wait_for_each() -> None:
    backlog = Backlog()
    for n in range(100):
        backlog.add(Flow("team", f"crawl-{n}"), 50)
    assert backlog.until(Flow("other", "one"), 10) == 20


def test_work_that_ended_leaves_nothing_behind() -> None:
    backlog = Backlog()
    backlog.add(MINE, 5)
    backlog.add(MINE, -5)
    assert (backlog.total, backlog.of(MINE), backlog._of) == (0, 0, {})


def test_items_over_the_limit_are_sent_away_until_there_is_room() -> None:
    limit = AdmissionLimit(10)
    with limit.admitted(MINE, 8):
        with pytest.raises(LimitExceeded, match="max_items_in_work: 8 items"), limit.admitted(MINE, 3):
            pass
        with limit.admitted(MINE, 2):
            pass
    with limit.admitted(MINE, 50):
        pass


def test_items_of_a_crawl_that_has_its_share_are_refused_and_those_of_another_are_not() -> None:
    limit = AdmissionLimit(10)
    with limit.admitted(MINE, 10):
        with pytest.raises(LimitExceeded), limit.admitted(MINE, 1):
            pass
        with limit.admitted(OTHER, 5), pytest.raises(LimitExceeded), limit.admitted(OTHER, 1):
            pass


@pytest.mark.parametrize("remaining_s", [None, 0.1])
def test_work_goes_on_for_a_caller_that_waits(remaining_s: float | None) -> None:
    assert require_caller(Context(remaining_s)) is None


def test_work_stops_when_the_deadline_has_passed_or_the_caller_is_gone() -> None:
    gone = Context()
    gone.is_cancelled = True
    for context in (gone, Context(0.0)):
        with pytest.raises(CallerGone):
            require_caller(context)
