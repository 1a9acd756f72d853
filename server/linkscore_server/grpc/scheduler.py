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

from google.protobuf.message import Message

from linkscore_server.grpc.access import crawl_of
from linkscore_server.grpc.admission import DelayEstimator, Flow, require_caller

_CALLS_PARSED = 4
"""Calls of a crawl whose pages are parsed in turn; others of it wait in the order they came, so that those
admitted first end first, and a short call does not wait for one long one. Chosen, not measured."""


class _Share:
    """What a caller, or a caller's crawl, had of the event loop: seconds, and where newcomers begin."""

    __slots__ = ("__weakref__", "begin_s", "had_s")

    def __init__(self) -> None:
        self.had_s = self.begin_s = 0.0


class Queue(_Share):
    """Calls and pages of one flow that wait for their turns; one of few calls while the context lasts."""

    __slots__ = ("caller", "calls", "flow", "in_flight", "pages")

    def __init__(self, flow: Flow, caller: _Share) -> None:
        super().__init__()
        self.flow, self.caller = flow, caller
        self.calls = asyncio.Semaphore(_CALLS_PARSED)
        self.in_flight = 0
        self.pages: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> Queue:
        await self.calls.acquire()
        self.in_flight += 1
        return self

    async def __aexit__(self, *error: object) -> None:
        self.in_flight -= 1
        self.calls.release()


class FairScheduler:
    """Gives calls and their pages their turns. One instance per server, on its event loop.

    The next page is of the caller that had the event loop for the shortest time, and of that one's crawls it
    is of the one that had least. Who comes anew begins with as much as whoever was served last, so that
    nobody saves up turns.

    Parameters
    ----------
    work
        Predicts what calls take.

    References
    ----------
    P. Goyal, H. Vin, H. Cheng, Start-time Fair Queueing, SIGCOMM 1996, in two levels as its section 3 has it.
    Differs in that time is measured when a page is done: what it costs is not known before.
    """

    def __init__(self, work: DelayEstimator) -> None:
        self.work = work
        self._callers: WeakValueDictionary[str, _Share] = WeakValueDictionary()
        self._queues: WeakValueDictionary[Flow, Queue] = WeakValueDictionary()
        self._waiting: dict[Queue, None] = {}
        self._is_taken = False
        self._begin_s = 0.0

    def of_call(self, request: Message, context: Any) -> _TurnOfCall:
        """Work on the pages of one call, beside few others, when all calls of its crawl before it have begun.

        Raises
        ------
        Overloaded
            If it would end after its deadline.
        """
        return _TurnOfCall(self, request, context)

    def of_page(self, queue: Queue, context: Any, *, is_last: bool = False) -> _TurnOfPage:
        """Work on one page, for a caller that still waits; one at a time for each round of the event loop.

        The `queue` is what the turn of the call, or `queue`, gave.

        The next round is waited for, health and refusals come first; but by the `is_last` page of a call,
        which goes on to the disk.

        Raises
        ------
        CallerGone
            If nobody waits for the answer any more.
        """
        return _TurnOfPage(self, queue, context, is_last)

    def queue(self, crawl: str) -> Queue:
        """Work on one message of a stream, beside few others of its crawl; the `crawl` counts where the call
        of the running task is not counted."""
        flow = self.work.flow(crawl)
        queue = self._queues.get(flow)
        if queue is None:
            caller = self._callers.get(flow.caller)
            if caller is None:
                caller = self._callers[flow.caller] = _Share()
            queue = self._queues[flow] = Queue(flow, caller)
        return queue

    async def take(self, queue: Queue) -> None:
        """Wait for the turn of a page."""
        queue.caller.had_s = max(queue.caller.had_s, self._begin_s)
        queue.had_s = max(queue.had_s, queue.caller.begin_s)
        if not self._is_taken:
            self._begin(queue)
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
        """Give the turn to the next page."""
        self._is_taken = False
        while self._waiting and not self._is_taken:
            queue = min(self._waiting, key=lambda one: (one.caller.had_s, one.had_s))
            turn = queue.pages.popleft()
            if not queue.pages:
                del self._waiting[queue]
            if not turn.done():  # else its caller is gone
                self._begin(queue)
                turn.set_result(None)

    def _begin(self, queue: Queue) -> None:
        self._is_taken = True
        self._begin_s, queue.caller.begin_s = queue.caller.had_s, queue.had_s


class LargeTurns:
    """Has what takes long for its bytes done one at a time, and leaves others as much of the event loop.

    To copy 60 MB, as reading a message does, takes some 50 ms; who needs the event loop a few times for a
    short call would else wait for all large messages there are, each time.
    """

    __slots__ = ("_began_s", "_turn")

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._began_s = 0.0

    async def __aenter__(self) -> None:
        await self._turn.acquire()
        self._began_s = time.perf_counter()

    async def __aexit__(self, *error: object) -> None:
        took_s = time.perf_counter() - self._began_s
        asyncio.get_running_loop().call_later(took_s, self._turn.release)


class _TurnOfCall:
    __slots__ = ("_context", "_queue", "_request", "_turns")

    def __init__(self, turns: FairScheduler, request: Any, context: Any) -> None:
        self._turns, self._request, self._context = turns, request, context
        self._queue = turns.queue(crawl_of(request.crawl))

    async def __aenter__(self) -> Queue:
        queue, work = self._queue, self._turns.work
        await queue.__aenter__()
        try:
            size, remaining_s = work.size_of(self._request), self._context.time_remaining()
            work.check_turn(queue.flow, size, remaining_s, among=queue.in_flight)
        except BaseException:
            await queue.__aexit__()
            raise
        return queue

    async def __aexit__(self, *error: object) -> None:
        await self._queue.__aexit__()


class _TurnOfPage:
    __slots__ = ("_began_s", "_context", "_is_last", "_queue", "_turns")

    def __init__(self, turns: FairScheduler, queue: Queue, context: Any, is_last: bool) -> None:
        self._turns, self._queue, self._context, self._is_last = turns, queue, context, is_last

    async def __aenter__(self) -> None:
        await self._turns.take(self._queue)
        self._began_s = time.perf_counter()
        try:
            require_caller(self._context)
        except BaseException:
            self._turns.pass_on()
            raise

    async def __aexit__(self, kind: type[BaseException] | None, *error: object) -> None:
        took_s = time.perf_counter() - self._began_s
        self._queue.had_s += took_s
        self._queue.caller.had_s += took_s
        if self._is_last:
            asyncio.get_running_loop().call_soon(self._turns.pass_on)
            return
        try:
            if kind is None:
                await asyncio.sleep(0)
        finally:
            self._turns.pass_on()
