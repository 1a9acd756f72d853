"""More calls than can be answered, in simulated time: nearly all work that is done is answered in time.

One worker reads pages as the service does, those of a few calls in turn, and the others wait in the order
they came. Callers come at a rate and give up at their deadline; they do not come back.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field

import pytest

from linkscore_server.grpc.admission import DelayEstimator, Flow
from linkscore_server.grpc.errors import Overloaded
from linkscore_server.grpc.scheduler import _CALLS_PARSED
from support.grpc_calls import Clock

PAGES, PAGE_BYTES, PAGE_S = 20, 20_000, 0.01
DEADLINE_S, TARGET_S = 10.0, 5.0
SECONDS = 120.0
FLOW = Flow("caller", "crawl")

Slowness = Callable[[float, random.Random], float]
"""How many times its usual cost a page takes at a time."""

PATTERNS: dict[str, Slowness] = {
    "steady": lambda now_s, rng: 1.0,
    "pages of very different cost": lambda now_s, rng: rng.lognormvariate(-0.5, 1.0),
    "a site is learned for 3 s of 10": lambda now_s, rng: 2.0 if now_s % 10 < 3 else 1.0,
    "slower and slower": lambda now_s, rng: 1.0 + now_s / 40,
    "three times slower every other 15 s": lambda now_s, rng: 3.0 if now_s % 30 < 15 else 1.0,
    "stalls of 2 s": lambda now_s, rng: 200.0 if rng.random() < 0.001 else 1.0,
}


@dataclass(slots=True)
class Call:
    """A call that was let in."""

    deadline_s: float
    counted: AbstractContextManager[None]
    left: int = PAGES


@dataclass(slots=True)
class Server:
    """The worker, its queue, and what came of it."""

    rng: random.Random
    clock: Clock = field(default_factory=Clock)
    waiting: deque[Call] = field(default_factory=deque)
    parsed: deque[Call] = field(default_factory=deque)
    busy_s: float = 0.0
    useful_s: float = 0.0
    refused: int = 0
    late: int = 0
    work: DelayEstimator = field(init=False)

    def __post_init__(self) -> None:
        self.work = DelayEstimator(TARGET_S, self.clock)

    def run(self, factor: float, slowness: Slowness) -> float:
        """Serve calls at so many times what can be served; returns the share of all time that was of use."""
        start_s, every_s = self.clock.now, PAGES * PAGE_S / factor
        spent: dict[int, float] = {}
        next_s = start_s
        while self.clock.now < start_s + SECONDS:
            while next_s <= self.clock.now:
                self._arrive(next_s + DEADLINE_S)
                next_s += every_s
            self._begin()
            if not self.parsed:
                self.clock.now = next_s
                continue
            call = self.parsed.popleft()
            if call.deadline_s < self.clock.now:
                self._end(call, in_time=False)
                spent.pop(id(call), None)
                continue
            took_s = PAGE_S * slowness(self.clock.now - start_s, self.rng)
            self.clock.now += took_s
            spent[id(call)] = spent.get(id(call), 0.0) + took_s
            call.left -= 1
            if call.left:
                self.parsed.append(call)
                continue
            in_time = call.deadline_s >= self.clock.now
            self.useful_s += spent.pop(id(call)) if in_time else 0.0
            self._end(call, in_time=in_time)
        return self.useful_s / (self.clock.now - start_s)

    def _arrive(self, deadline_s: float) -> None:
        size = PAGES * PAGE_BYTES
        try:
            self.work.check(FLOW, size, deadline_s - self.clock.now)
        except Overloaded:
            self.refused += 1
            return
        call = Call(deadline_s, self.work.counted(FLOW, size))
        call.counted.__enter__()
        self.waiting.append(call)

    def _begin(self) -> None:
        while self.waiting and len(self.parsed) < _CALLS_PARSED:
            call = self.waiting.popleft()
            remaining_s = call.deadline_s - self.clock.now
            try:
                self.work.check_turn(FLOW, PAGES * PAGE_BYTES, remaining_s, among=len(self.parsed) + 1)
            except Overloaded as refusal:
                self.refused += 1
                call.counted.__exit__(type(refusal), refusal, None)
            else:
                self.parsed.append(call)

    def _end(self, call: Call, *, in_time: bool) -> None:
        self.late += not in_time
        gone = None if in_time else TimeoutError()
        with suppress(TimeoutError):
            call.counted.__exit__(type(gone) if gone else None, gone, None)


@pytest.mark.parametrize("factor", [2, 4, 8])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_nine_tenths_of_the_time_go_into_answers_that_come_in_time(pattern: str, factor: float) -> None:
    server = Server(random.Random(3))
    assert server.run(factor, PATTERNS[pattern]) >= 0.9, (server.refused, server.late)
    assert server.refused > server.late
