"""Who has which sites of a crawl: while a thread writes or reads some, only their own events wait.

A large site takes a thread hundreds of milliseconds. Its events are kept out of the log until it is free: so
the log has events in the order in which they are applied.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext


class SiteTurns:
    """Sites are the writer's while it commits and applies their events, or that of work beside it.

    Of the event loop; threads do not ask.

    Parameters
    ----------
    turn
        Held while events are applied.
    share
        Whether sites share what they know: then no event at all is applied while some are worked on.

    Attributes
    ----------
    freed
        Called with sites that nobody works on any more; None: with all.
    """

    def __init__(self, turn: asyncio.Lock, share: Callable[[], bool]) -> None:
        self._turn, self._share = turn, share
        self._writers: frozenset[str] = frozenset()
        self._beside: set[str] = set()
        self._alone = 0  # who works alone, or waits for that
        self._waiting: list[asyncio.Future[None]] = []
        self.freed: Callable[[Collection[str] | None], None] = lambda sites: None

    def is_free(self, site: str) -> bool:
        """Say whether nobody has a site."""
        return not (self._alone or site in self._writers or site in self._beside)

    def take(self, sites: Collection[str]) -> None:
        """Note that work on sites begins, which are free."""
        self._beside.update(sites)

    def give_back(self, sites: Collection[str]) -> None:
        """Note that work on sites is over."""
        self._beside.difference_update(sites)
        self.freed(sites)
        self._tell()

    def quiet(self) -> AbstractAsyncContextManager[object]:
        """Have no event applied meanwhile where sites share what they know."""
        return self._turn if self._share() else nullcontext()

    @asynccontextmanager
    async def beside(self, sites: Collection[str]) -> AsyncIterator[None]:
        """Work beside the writer on sites, as soon as all of them are free."""
        while not all(map(self.is_free, sites)):
            await self.changed()
        self.take(sites)
        try:
            async with self.quiet():
                yield
        finally:
            self.give_back(sites)

    @asynccontextmanager
    async def of_writer(self, sites: Iterable[str]) -> AsyncIterator[None]:
        """Let the writer have sites, as soon as nobody works on any of them."""
        wanted = frozenset(sites)
        while not self._beside.isdisjoint(wanted):
            await self.changed()
        self._writers = wanted
        try:
            yield
        finally:
            self._writers = frozenset()
            self._tell()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Let nobody work beside the writer, as soon as nobody does; to be asked for before the turn."""
        self._alone += 1
        try:
            while self._beside:
                await self.changed()
            yield
        finally:
            self._alone -= 1
            self.freed(None)
            self._tell()

    async def changed(self) -> None:
        """Wait until something is given back."""
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(told)
        await told

    def _tell(self) -> None:
        waiting, self._waiting = self._waiting, []
        for told in waiting:
            if not told.done():
                told.set_result(None)
