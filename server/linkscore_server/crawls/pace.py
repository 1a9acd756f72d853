"""How much a shard takes in a second, of late."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

_FADES_S = 60.0
"""Seconds in which what came fades to a third: long enough to see a crawl beside its bursts. Chosen."""


class Pace:
    """Means over about the last minute; what came earlier counts less, the earlier the less.

    `events_per_s`, `bytes_per_s`: events that became durable, and their bytes, in a second; in the first
    minute as if it had been one. `delay_s`: what a call waited until its events were durable; 0 before the
    first.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at = clock()
        self._events = self._bytes = self._calls = self._waited_s = 0.0

    def add(self, *, events: int, size: int, calls: int, waited_s: float) -> None:
        """Count events of some calls, which waited so long together."""
        self._fade()
        self._events += events
        self._bytes += size
        self._calls += calls
        self._waited_s += waited_s

    @property
    def events_per_s(self) -> float:
        """See the class."""
        self._fade()
        return self._events / _FADES_S

    @property
    def bytes_per_s(self) -> float:
        """See the class."""
        self._fade()
        return self._bytes / _FADES_S

    @property
    def delay_s(self) -> float:
        """See the class."""
        return self._waited_s / self._calls if self._calls else 0.0

    def _fade(self) -> None:
        now = self._clock()
        left = math.exp((self._at - now) / _FADES_S)
        self._at = now
        self._events *= left
        self._bytes *= left
        self._calls *= left
        self._waited_s *= left
