"""Tokens are held to what they may bring a second: their calls wait before they are read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from linkscore_server.grpc.errors import Leaving
from linkscore_server.grpc.overload import LONGEST_RETRY_S, QuotaExceeded
from linkscore_server.tokens import NO_QUOTA, Caller

_BURST_S = 1.0
"""Seconds of its rate that a token may bring at once after it was idle. Chosen, not measured."""

_MARGIN = 0.5
"""Share of its deadline that a call may be held; the rest is for the work. Chosen, not measured."""

_LONGEST_DEBT_S = 3_600.0
"""Longest time for which what a token brought is held against it: without a bound a large message would lock
a token of a small rate for days. Chosen, not measured."""

_LOOK_S = 5.0
"""Seconds after which a stream that is held looks at its token again, which may be allowed more by then, or
nothing. Chosen, not measured."""

_BRING_PAGES = frozenset(
    f"LinkScoringService/{name}" for name in ("IngestPages", "StreamPages", "ClassifyPages")
)
"""Calls that wait for the pages of others of their token; all wait for its bytes."""


class Quotas:
    """Holds the calls of each token to its rates, in the order they came.

    What a message brings is known when it is read. So a unary call takes the turn of one page, waits for it,
    and pays for the rest when it was read; who comes next waits as much longer. A token whose line of the
    token file changes owes nothing.

    Parameters
    ----------
    held
        Is told the name of a token and the seconds for which a call of it is held.
    clock
        Seconds, of any origin, that never go back.
    sleep
        Waits so many of them; if not given, until `close` at the longest.

    References
    ----------
    ITU-T Recommendation I.371, Traffic control and congestion control in B-ISDN, 2004, annex A: the generic
    cell rate algorithm as virtual scheduling. Of each rate it knows one number: when what came is paid for.
    """

    def __init__(
        self,
        held: Callable[[str, float], None] = lambda token, wait_s: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        self._held, self._clock, self._sleep = held, clock, sleep or self._until_closed
        self._paid_at: dict[tuple[Caller, str], float] = {}
        self._closed = asyncio.Event()

    def close(self) -> None:
        """Hold nobody any more: the server ends."""
        self._closed.set()

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
        Leaving
            If the server ends meanwhile.
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
        try:
            await self._hold(who, wait_s)
        except BaseException:  # nobody waits for it any more: its turn is for others
            self.take(who, pages=-counted)
            raise
        return counted

    async def turn(self, who: Caller, method: str) -> bool:
        """Hold a stream before its next message, `_LOOK_S` at the longest; say whether it may be read then.

        Raises
        ------
        Leaving
            If the server ends meanwhile.
        """
        if who.quota is NO_QUOTA:
            return True
        wait_s = self._wait_s(who, method)
        await self._hold(who, min(wait_s, _LOOK_S))
        return wait_s <= _LOOK_S

    def take(self, who: Caller, *, pages: int = 0, size: int = 0, in_s: float = 0.0) -> None:
        """Count pages, and bytes of messages, that a caller brings now or in some seconds."""
        if (quota := who.quota) is NO_QUOTA:
            return
        at = self._clock() + in_s
        for rate, cost_s in (("pages", pages / quota.pages_per_s), ("bytes", size / quota.bytes_per_s)):
            if cost_s:
                paid_at = max(self._paid_at.get((who, rate), at), at) + cost_s
                self._paid_at[who, rate] = min(paid_at, at + _LONGEST_DEBT_S)

    def _wait_s(self, who: Caller, method: str) -> float:
        """Return the seconds until a caller has paid for what it brought, but for a burst."""
        now = self._clock()
        rates = ("pages", "bytes") if method in _BRING_PAGES else ("bytes",)
        paid_at = max(self._paid_at.get((who, rate), now) for rate in rates)
        return max(paid_at - _BURST_S - now, 0.0)

    async def _hold(self, who: Caller, wait_s: float) -> None:
        if wait_s:
            self._held(who.name, wait_s)
            await self._sleep(wait_s)
            if self._closed.is_set():
                raise Leaving

    async def _until_closed(self, longest_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(longest_s):
                await self._closed.wait()
