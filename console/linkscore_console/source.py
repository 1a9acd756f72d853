"""What the console asks of the server: each question once for all who look, never more than it can bear."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar, cast

from linkscore import AsyncClient
from linkscore.errors import DeadlineExceeded, InternalError, LinkscoreError, ResourceExhausted, Unavailable

_T = TypeVar("_T")

LOAD = 0.02
"""Share of the server's time that the console takes at most: a question is asked again only after the cost of
all that are being asked / LOAD. Chosen, so that an open console slows a crawl by less than 3 %."""
_LEAST_AGE_S, _MOST_AGE_S = 1.0, 60.0
"""How long an answer is shown again: bounds, chosen."""
_MAX_ANSWERS = 64
"""A bound: answers kept for others who look at the same."""

AWAY = (Unavailable, DeadlineExceeded, InternalError, ResourceExhausted)
"""Errors that say something of the server, not of the question."""


@dataclass(slots=True)
class _Answer:
    value: Any
    at: float
    cost_s: float


@dataclass(slots=True)
class Health:
    """Whether the server answers."""

    away_since: datetime | None = None  # when it was found not to; None while it answers
    failures: int = 0  # questions it failed since
    reason: str = ""  # why, in its own words or those of the connection


class Source:
    """Asks a server, and remembers answers for as long as they may be shown."""

    def __init__(
        self, client: AsyncClient, target: str, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.client = client
        self.target = target
        self.health = Health()
        self._clock = clock
        self._answers: OrderedDict[tuple[Any, ...], _Answer] = OrderedDict()
        self._locks: dict[tuple[Any, ...], asyncio.Lock] = {}

    async def ask(self, question: Callable[..., Awaitable[_T]], **fields: Any) -> _T:
        """Return the answer to a question about the crawl, at most a minute old."""
        key = (question.__name__, *sorted(fields.items()))
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with lock:  # who asks the same meanwhile waits for the one answer
                known = self._answers.get(key)
                if known is not None and self._clock() - known.at < self._keep_s():
                    return cast("_T", known.value)
                return await self._asked(key, question, fields)
        finally:
            if not lock.locked():
                self._locks.pop(key, None)

    async def tell(self, order: Callable[..., Awaitable[_T]], **fields: Any) -> _T:
        """Change something; what was answered before is forgotten."""
        self._answers.clear()
        try:
            return await self._watched(order(**fields))
        finally:
            self._answers.clear()

    async def _asked(
        self, key: tuple[Any, ...], question: Callable[..., Awaitable[_T]], fields: dict[str, Any]
    ) -> _T:
        started = self._clock()
        value = await self._watched(question(**fields))
        now = self._clock()
        self._answers[key] = _Answer(value, now, now - started)
        self._answers.move_to_end(key)
        if len(self._answers) > _MAX_ANSWERS:
            self._answers.popitem(last=False)
        return value

    def _keep_s(self) -> float:
        """Return how long answers are shown again, by what all those of the last minute cost."""
        since = self._clock() - _MOST_AGE_S
        cost_s = sum(answer.cost_s for answer in self._answers.values() if answer.at >= since)
        return min(_MOST_AGE_S, max(_LEAST_AGE_S, cost_s / LOAD))

    async def _watched(self, call: Awaitable[_T]) -> _T:
        try:
            answer = await call
        except AWAY as error:
            self.health.away_since = self.health.away_since or datetime.now().astimezone()
            self.health.failures += 1
            self.health.reason = f"{error.code.name}: {error}"
            raise
        except LinkscoreError:
            self.health = Health()  # it refused, so it answers
            raise
        self.health = Health()
        return answer
