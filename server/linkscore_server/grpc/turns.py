"""Whose turn it is: few calls are worked on beside each other, and one page in each round of the event loop.

The contexts are classes: made of asynchronous generators, as `contextlib` has them, each would cost the event
loop its hooks, at every call and page.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from google.protobuf.message import Message

from linkscore_server.grpc.admission import WorkAhead, require_caller

_CALLS_PARSED = 4
"""Calls whose pages are parsed in turn; others wait in the order they came, so that those admitted first end
first, and a short call does not wait for one long one. Chosen, not measured."""


class Turns:
    """Gives calls and their pages their turns. One instance per server, on its event loop.

    Parameters
    ----------
    work
        Predicts what calls take.
    """

    def __init__(self, work: WorkAhead) -> None:
        self.calls = asyncio.Semaphore(_CALLS_PARSED)
        self.page = asyncio.Lock()
        self.work = work
        self.begun = 0

    def of_call(self, request: Message, context: Any) -> _TurnOfCall:
        """Work on the pages of one call, beside few others, when all calls before it have begun.

        Raises
        ------
        Overloaded
            If it would end after its deadline.
        """
        return _TurnOfCall(self, request, context)

    def of_page(self, context: Any, *, is_last: bool = False) -> _TurnOfPage:
        """Work on one page, for a caller that still waits; one at a time for each round of the event loop.

        The next round is waited for, health and refusals come first; but by the `is_last` page of a call,
        which goes on to the disk.

        Raises
        ------
        CallerGone
            If nobody waits for the answer any more.
        """
        return _TurnOfPage(self.page, context, is_last)


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
    __slots__ = ("_context", "_request", "_turns")

    def __init__(self, turns: Turns, request: Message, context: Any) -> None:
        self._turns, self._request, self._context = turns, request, context

    async def __aenter__(self) -> None:
        turns = self._turns
        await turns.calls.acquire()
        turns.begun += 1
        try:
            remaining_s = self._context.time_remaining()
            turns.work.check_turn(turns.work.size_of(self._request), remaining_s, among=turns.begun)
        except BaseException:
            self._end()
            raise

    async def __aexit__(self, *error: object) -> None:
        self._end()

    def _end(self) -> None:
        self._turns.begun -= 1
        self._turns.calls.release()


class _TurnOfPage:
    __slots__ = ("_context", "_is_last", "_page")

    def __init__(self, page: asyncio.Lock, context: Any, is_last: bool) -> None:
        self._page, self._context, self._is_last = page, context, is_last

    async def __aenter__(self) -> None:
        await self._page.acquire()
        try:
            require_caller(self._context)
        except BaseException:
            self._end()
            raise

    async def __aexit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None and not self._is_last:
                await asyncio.sleep(0)
        finally:
            self._end()

    def _end(self) -> None:
        if self._is_last:
            asyncio.get_running_loop().call_soon(self._page.release)
        else:
            self._page.release()
