"""A dead server is asked ever less often, and trusted again after one answer."""

from __future__ import annotations

import pytest

from linkscore.outages import CircuitBreaker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(clock=clock)


def test_calls_pass_until_the_first_outage(breaker: CircuitBreaker) -> None:
    assert breaker.allows()
    assert breaker.allows()
    breaker.failed()
    assert not breaker.allows()


def test_after_the_wait_one_call_probes(breaker: CircuitBreaker, clock: Clock) -> None:
    breaker.failed()
    clock.now = 1.0
    assert breaker.allows()
    assert not breaker.allows()


def test_pages_that_fail_together_count_once(breaker: CircuitBreaker) -> None:
    for _ in range(16):
        breaker.failed()
    assert breaker.wait_s == 1.0


def test_the_wait_doubles_up_to_five_seconds(breaker: CircuitBreaker, clock: Clock) -> None:
    waits = []
    for _ in range(8):
        assert breaker.allows()
        breaker.failed()
        waits.append(breaker.wait_s)
        clock.now += breaker.wait_s
    assert waits == [1, 2, 4, 5, 5, 5, 5, 5]


def test_one_answer_closes_it(breaker: CircuitBreaker, clock: Clock) -> None:
    breaker.failed()
    clock.now = 1.0
    assert breaker.allows()
    breaker.succeeded()
    assert not breaker.broken
    assert breaker.allows()
    assert breaker.allows()


def test_the_server_may_ask_for_a_longer_wait_within_a_bound(breaker: CircuitBreaker, clock: Clock) -> None:
    breaker.failed(retry_after_s=1e9)
    clock.now = 4
    assert not breaker.allows()
    clock.now = 5
    assert breaker.allows()


def test_a_cancelled_probe_leaves_the_next_one_free(breaker: CircuitBreaker, clock: Clock) -> None:
    breaker.failed()
    clock.now = 1.0
    assert breaker.allows()
    breaker.gave_up()
    assert breaker.allows()
