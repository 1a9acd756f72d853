"""Whose turn it is: few calls of a crawl beside each other, and one page in each round of the event loop."""

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


class Queue:
    """Calls and pages of one crawl that wait for their turns; who had its turn releases `calls`."""

    __slots__ = ("__weakref__", "calls", "pages")

    def __init__(self) -> None:
        self.calls = asyncio.Semaphore(_CALLS)
        self.pages: deque[asyncio.Future[None]] = deque()


class Turns:
    """Gives calls and their pages their turns: crawls are served one after the other, a page each.

    A call waits for `longest_s` at most.
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

    async def of_call(self, crawl: str) -> Queue:
        """Wait until a call may begin beside few others of its crawl; raises `Overloaded`."""
        queue = self._crawls.get(crawl)
        if queue is None:
            queue = self._crawls[crawl] = Queue()
        if not queue.calls.locked():
            await queue.calls.acquire()
            return queue
        waits = object()
        self._since_s[waits] = time.monotonic()
        try:
            async with asyncio.timeout(self._longest_s):
                await queue.calls.acquire()
        except TimeoutError:
            rule = f"calls of this crawl wait for more than {self._longest_s:g} s"
            raise overloaded(rule, self._longest_s) from None
        finally:
            del self._since_s[waits]
        return queue

    async def of_page(self, queue: Queue, context: Any) -> None:
        """Wait for the turn of a page, in a round of the event loop of its own; `end_page` ends it."""
        if self._is_taken:
            turn = asyncio.get_running_loop().create_future()
            queue.pages.append(turn)
            self._waiting[queue] = None
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # its turn had come
                    self._pass_on()
                raise
        self._is_taken = True
        try:
            require_caller(context)
        except BaseException:
            self._pass_on()
            raise

    def end_page(self) -> None:
        """Pass the turn on, in the next round: what came meanwhile, health and refusals, is heard before."""
        asyncio.get_running_loop().call_soon(self._pass_on)

    def _pass_on(self) -> None:
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


def require_caller(context: Any) -> None:
    """Stop work that nobody waits for any more, before it is durable."""
    remaining_s = context.time_remaining()
    if context.cancelled() or (remaining_s is not None and remaining_s <= 0):
        raise CallerGone("the caller is gone or its deadline has passed")
