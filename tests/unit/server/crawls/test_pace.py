"""The pace of a shard: right for what comes evenly, bounded for bursts, fading when nothing comes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_server.crawls.pace import Pace


class Clock:
    """Time that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@given(every_s=st.floats(0.01, 5), events=st.integers(1, 200))
def test_what_comes_evenly_for_some_minutes_is_its_rate(every_s: float, events: int) -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(int(300 / every_s)):
        clock.now += every_s
        pace.add(events=events, size=100 * events, calls=2, waited_s=0.5)
    assert pace.events_per_s == pytest.approx(events / every_s, rel=0.05)
    assert pace.bytes_per_s == pytest.approx(100 * pace.events_per_s)
    assert pace.delay_s == pytest.approx(0.25)


def test_a_burst_is_a_minutes_worth_and_fades() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert (pace.events_per_s, pace.bytes_per_s, pace.delay_s) == (0, 0, 0)
    pace.add(events=600, size=0, calls=1, waited_s=3.0)
    assert pace.events_per_s == 10
    clock.now += 300
    assert pace.events_per_s < 0.1
    assert pace.delay_s == pytest.approx(3)
