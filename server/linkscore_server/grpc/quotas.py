"""Tokens are held to what they may bring a second: their calls wait before they are read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from linkscore_server.grpc.overload import LONGEST_RETRY_S, QuotaExceeded
from linkscore_server.tokens import NO_QUOTA, Caller

_BURST_S = 1.0
"""Seconds of its rate that a token may bring at once after it was idle. Chosen, not measured."""

_MARGIN = 0.5
"""Share of its deadline that a call may be held; the rest is for the work. Chosen, not measured."""

_BRING_PAGES = frozenset(
    f"LinkScoringService/{name}" for name in ("IngestPages", "StreamPages", "ClassifyPages")
)
"""Calls that wait for the pages of others of their token; all wait for its bytes."""


class Quotas:
    """Holds the calls of each token to its rates, in the order they came.

    What a message brings is known when it is read. So a unary call takes the turn of one page, waits for it,
    and pays for the rest when it was read; who comes next waits as much longer.

    Parameters
    ----------
    held
        Is told the name of a token and the seconds for which a call of it is held.
    clock
        Seconds, of any origin, that never go back.
    sleep
        Waits so many of them.

    References
    ----------
    ITU-T Recommendation I.371, Traffic control and congestion control in B-ISDN, 2004, annex A: the generic
    cell rate algorithm as virtual scheduling. Of each rate it knows one number: when what came is paid for.
    """

    def __init__(
        self,
        held: Callable[[str, float], None] = lambda token, wait_s: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._held, self._clock, self._sleep = held, clock, sleep
        self._paid_at: dict[tuple[str, str], float] = {}

    async def admit(self, who: Caller, method: str, remaining_s: float | None, longest_s: float) -> int:
        """Hold a unary call until its turn; return how many of its pages are counted.

        Parameters
        ----------
        who
            Makes it.
        method
            Service and method.
        remaining_s
            Seconds until its caller gives up; None for never.
        longest_s
            Longest wait.

        Raises
        ------
        QuotaExceeded
            At once, if it would have to wait longer, or for too much of its time.
        """
        if who.quota is NO_QUOTA:
            return 0
        wait_s = self._wait_s(who, method)
        if remaining_s is not None:
            longest_s = min(longest_s, remaining_s * _MARGIN)
        if wait_s > longest_s:
            rule = f"the quota of {who.name} allows the next call of this kind in {wait_s:.1f} s"
            raise QuotaExceeded(rule, retry_s=min(wait_s - longest_s / 2, LONGEST_RETRY_S))
        counted = int(method in _BRING_PAGES)
        self.take(who, pages=counted, in_s=wait_s)
        await self._hold(who, wait_s)
        return counted

    async def turn(self, who: Caller, method: str) -> None:
        """Hold a stream before its next message, however long."""
        if who.quota is not NO_QUOTA:
            await self._hold(who, self._wait_s(who, method))

    def take(self, who: Caller, *, pages: int = 0, size: int = 0, in_s: float = 0.0) -> None:
        """Count pages, and bytes of messages, that a caller brings now or in some seconds."""
        if (quota := who.quota) is NO_QUOTA:
            return
        at = self._clock() + in_s
        for rate, cost_s in (("pages", pages / quota.pages_per_s), ("bytes", size / quota.bytes_per_s)):
            if cost_s:
                self._paid_at[who.name, rate] = max(self._paid_at.get((who.name, rate), at), at) + cost_s

    def _wait_s(self, who: Caller, method: str) -> float:
        """Return the seconds until a caller has paid for what it brought, but for a burst."""
        now = self._clock()
        rates = ("pages", "bytes") if method in _BRING_PAGES else ("bytes",)
        paid_at = max(self._paid_at.get((who.name, rate), now) for rate in rates)
        return max(paid_at - _BURST_S - now, 0.0)

    async def _hold(self, who: Caller, wait_s: float) -> None:
        if wait_s:
            self._held(who.name, wait_s)
            await self._sleep(wait_s)
