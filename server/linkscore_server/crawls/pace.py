"""How much a shard takes in a second, of late."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

_FADES_S = 60.0
"""Seconds in which what came fades to a third: long enough to see a crawl beside its bursts. Chosen."""


class Pace:
    """Means over about the last minute; what came earlier counts less, the earlier the less."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._at = clock, clock()
        self._events = self._bytes = self._calls = self._waited_s = 0.0

    def add(self, *, events: int = 0, size: int = 0, calls: int = 0, waited_s: float = 0.0) -> None:
        """Count events of some calls, which waited so long together."""
        now = self._clock()
        left = math.exp((self._at - now) / _FADES_S)
        self._at = now
        self._events, self._bytes = self._events * left + events, self._bytes * left + size
        self._calls, self._waited_s = self._calls * left + calls, self._waited_s * left + waited_s

    @property
    def events_per_s(self) -> float:
        """Events that became durable in a second; in the first minute as if it had been one."""
        self.add()
        return self._events / _FADES_S

    @property
    def bytes_per_s(self) -> float:
        """Their bytes, likewise."""
        self.add()
        return self._bytes / _FADES_S

    @property
    def delay_s(self) -> float:
        """What a call waited until its events were durable; 0 before the first."""
        return self._waited_s / self._calls if self._calls else 0.0
