"""Whose turn it is: few calls of a crawl beside each other, and one page in each round of the event loop.

The contexts are classes: made of asynchronous generators, as `contextlib` has them, each would cost the event
loop its hooks, at every call and page.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Any
from weakref import WeakValueDictionary

from linkscore_server.services.errors import CallerGone, overloaded

_CALLS = 4
"""Calls of a crawl whose pages are parsed in turn; others of it wait in the order they came, so that those
that came first end first, and a short call does not wait for one long one. Chosen, not measured."""


class Turns:
    """Gives calls and their pages their turns: crawls are served one after the other, a page each.

    Parameters
    ----------
    longest_s
        Longest time for which a call waits; then it is refused.
    """

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._crawls: WeakValueDictionary[str, Queue] = WeakValueDictionary()
        self._waiting: dict[Queue, None] = {}
        self._since_s: dict[object, float] = {}
        self._is_taken = False

    @property
    def delay_s(self) -> float:
        """Seconds that the call has waited which waits for longest."""
        return time.monotonic() - next(iter(self._since_s.values()), time.monotonic())

    def of_call(self, crawl: str, *, is_patient: bool = False) -> _TurnOfCall:
        """Work on one call, beside few others of its crawl, when those before it have begun.

        Raises
        ------
        Overloaded
            If it waits for too long; one that `is_patient` does not mind.
        """
        queue = self._crawls.get(crawl)
        if queue is None:
            queue = self._crawls[crawl] = Queue()
        return _TurnOfCall(self, queue, None if is_patient else self._longest_s)

    def of_page(self, queue: Queue, context: Any) -> _TurnOfPage:
        """Work on one page, in a round of the event loop of its own; `queue` is what the call's turn gave.

        Raises
        ------
        CallerGone
            If nobody waits for the answer any more.
        """
        return _TurnOfPage(self, queue, context)

    async def begin_call(self, queue: Queue, longest_s: float | None) -> None:
        """Wait until a call may begin."""
        if not queue.calls.locked():
            await queue.calls.acquire()
            return
        waits = object()
        self._since_s[waits] = time.monotonic()
        try:
            async with asyncio.timeout(longest_s):
                await queue.calls.acquire()
        except TimeoutError:
            rule = f"calls of this crawl wait for more than {longest_s:g} s"
            raise overloaded(rule, self._longest_s) from None
        finally:
            del self._since_s[waits]

    async def begin_page(self, queue: Queue) -> None:
        """Wait for the turn of a page."""
        if not self._is_taken:
            self._is_taken = True
            return
        turn = asyncio.get_running_loop().create_future()
        queue.pages.append(turn)
        self._waiting[queue] = None
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # its turn had come
                self.pass_on()
            raise

    def pass_on(self) -> None:
        """Give the turn to the next page, of the crawl that was served longest ago."""
        self._is_taken = False
        while self._waiting and not self._is_taken:
            queue = next(iter(self._waiting))
            del self._waiting[queue]
            turn = queue.pages.popleft()
            if queue.pages:
                self._waiting[queue] = None
            if not turn.done():  # else its caller is gone
                self._is_taken = True
                turn.set_result(None)


class Queue:
    """Calls and pages of one crawl that wait for their turns."""

    __slots__ = ("__weakref__", "calls", "pages")

    def __init__(self) -> None:
        self.calls = asyncio.Semaphore(_CALLS)
        self.pages: deque[asyncio.Future[None]] = deque()


class _TurnOfCall:
    __slots__ = ("_longest_s", "_queue", "_turns")

    def __init__(self, turns: Turns, queue: Queue, longest_s: float | None) -> None:
        self._turns, self._queue, self._longest_s = turns, queue, longest_s

    async def __aenter__(self) -> Queue:
        await self._turns.begin_call(self._queue, self._longest_s)
        return self._queue

    async def __aexit__(self, *error: object) -> None:
        self._queue.calls.release()


class _TurnOfPage:
    __slots__ = ("_context", "_queue", "_turns")

    def __init__(self, turns: Turns, queue: Queue, context: Any) -> None:
        self._turns, self._queue, self._context = turns, queue, context

    async def __aenter__(self) -> None:
        await self._turns.begin_page(self._queue)
        try:
            require_caller(self._context)
        except BaseException:
            self._turns.pass_on()
            raise

    async def __aexit__(self, *error: object) -> None:
        # In the next round: what came meanwhile, health and refusals, is heard before.
        asyncio.get_running_loop().call_soon(self._turns.pass_on)


def require_caller(context: Any) -> None:
    """Stop work that nobody waits for any more, before it is durable.

    Raises
    ------
    CallerGone
        If the deadline of the call has passed, or its caller is gone.
    """
    remaining_s = context.time_remaining()
    if context.cancelled() or (remaining_s is not None and remaining_s <= 0):
        raise CallerGone("the caller is gone or its deadline has passed")
