"""What a server takes on: bytes of requests, and seconds of work that wait."""

from __future__ import annotations

import asyncio

import pytest
from calls import Clock, Context

from linkscore.v1 import common_pb2
from linkscore_server.grpc.admission import WorkAhead, require_caller
from linkscore_server.grpc.errors import CallerGone, Overloaded
from linkscore_server.grpc.room import InflightBytes

SECOND = 5_000_000  # bytes of a second of work, as long as nothing was measured


def room(max_bytes: int = 100, message_bytes: int = 40) -> InflightBytes:
    return InflightBytes(max_bytes, message_bytes)


async def test_as_many_requests_are_read_at_a_time_as_the_bound_has_room_for_the_largest() -> None:
    bytes_ = room()
    async with bytes_.reading(0), bytes_.reading(0):
        with pytest.raises(Overloaded, match="max_inflight_bytes"):
            async with bytes_.reading(0):
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


async def test_a_stream_is_read_no_further_while_it_holds_its_share_and_always_when_it_holds_nothing() -> (
    None
):
    bytes_, mine = room(), [25]
    with bytes_.held(100):
        await bytes_.room_for_a_stream(lambda: 0)
    waiting = asyncio.create_task(bytes_.room_for_a_stream(lambda: mine[0]))
    bytes_.take(25)
    await asyncio.sleep(0)
    assert not waiting.done()
    mine[0] = 0
    bytes_.give_back(25)
    await asyncio.wait_for(waiting, 10)


def test_nothing_is_refused_while_nothing_is_in_work() -> None:
    WorkAhead(1.0, Clock()).check(1_000 * SECOND, remaining_s=0.1)


def test_a_burst_may_queue_four_targets_and_a_standing_queue_one() -> None:
    clock = Clock()
    work = WorkAhead(1.0, clock)
    with work.counted(3 * SECOND):
        work.check(0, None)
        clock.now += 4.1
        with pytest.raises(Overloaded, match="1 s may"):
            work.check(0, None)
    work.check(0, None)
    with work.counted(5 * SECOND), pytest.raises(Overloaded, match="4 s may"):
        work.check(0, None)


def test_a_call_that_would_end_after_its_deadline_is_refused() -> None:
    work = WorkAhead(5.0, Clock())
    with work.counted(SECOND):
        work.check(SECOND, remaining_s=3.0)
        with pytest.raises(Overloaded, match="deadline"):
            work.check(2 * SECOND, remaining_s=3.0)
        with pytest.raises(Overloaded, match="deadline"):
            work.check(0, remaining_s=1.0)


def test_the_cost_of_a_byte_is_what_it_took_of_late() -> None:
    clock = Clock()
    work = WorkAhead(5.0, clock)
    for _ in range(30):
        with work.counted(1_000_000):
            clock.now += 2.0
    with work.counted(1_000_000):
        assert work.delay_s == pytest.approx(2.0, rel=0.05)


def test_a_call_whose_turn_comes_too_late_is_refused_before_any_work() -> None:
    work = WorkAhead(5.0, Clock())
    with work.counted(SECOND), work.counted(SECOND):
        work.check_turn(SECOND, None, among=1)
        work.check_turn(SECOND, 1.5, among=1)
        with pytest.raises(Overloaded, match=r"would take 2\.0 s and the deadline is in 1\.5 s"):
            work.check_turn(SECOND, 1.5, among=2)


def test_a_call_that_is_alone_is_worked_on_however_wrong_the_estimate() -> None:
    work = WorkAhead(5.0, Clock())
    with work.counted(SECOND):
        work.check_turn(SECOND, 0.001, among=1)


def test_a_call_that_failed_teaches_no_cost() -> None:
    clock = Clock()
    work = WorkAhead(5.0, clock)
    with pytest.raises(ValueError, match="x"), work.counted(SECOND):
        raise ValueError("x")
    with work.counted(SECOND):
        assert work.delay_s == pytest.approx(1.0, rel=0.01)


def test_a_call_that_is_worked_on_elsewhere_delays_nobody_and_teaches_no_cost() -> None:
    clock = Clock()
    work = WorkAhead(1.0, clock)
    with work.counted(9 * SECOND):
        with pytest.raises(Overloaded):
            work.check(0, None)
        work.leave()
        work.leave()
        assert work.is_idle
        with work.counted(SECOND):  # the next one, of a stream say, is not the one that left
            clock.now += 1.0
        assert work.is_idle
    with work.counted(SECOND):
        assert work.delay_s == pytest.approx(1.0, rel=0.01)


def test_what_of_a_call_is_worked_on_elsewhere_delays_nobody_and_the_rest_does() -> None:
    work = WorkAhead(1.0, Clock())
    request = common_pb2.Page(body=b"x" * 10)
    assert work.size_of(request) == request.ByteSize()
    with work.counted(9 * SECOND):
        before = work.size_of(request)
        work.leave(6 * SECOND)
        assert work.size_of(request) == before - 6 * SECOND
        assert work.delay_s == pytest.approx(3.0, rel=0.01)
        work.leave(0)
        work.leave(10 * SECOND)
        assert work.is_idle
    work.leave()  # it has ended
    assert work.is_idle


def test_the_pause_asked_for_lets_the_queue_shrink_to_half() -> None:
    work = WorkAhead(1.0, Clock())
    with work.counted(6 * SECOND), pytest.raises(Overloaded) as caught:
        work.check(0, None)
    assert caught.value.retry_s == pytest.approx(4.0, rel=0.01)


@pytest.mark.parametrize("remaining_s", [None, 0.1])
def test_work_goes_on_for_a_caller_that_waits(remaining_s: float | None) -> None:
    assert require_caller(Context(remaining_s)) is None


def test_work_stops_when_the_deadline_has_passed_or_the_caller_is_gone() -> None:
    gone = Context()
    gone.is_cancelled = True
    for context in (gone, Context(0.0)):
        with pytest.raises(CallerGone):
            require_caller(context)
