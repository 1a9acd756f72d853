"""Who is at a site of a crawl: a thread that reads or writes it, or the writer with events; never both."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Set
from contextlib import asynccontextmanager


class SiteHolds:
    """The sites that somebody is at; `changed` is called when threads are done with some."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self.by_threads: set[str] = set()
        self.by_writer: frozenset[str] = frozenset()
        self.writer_wants_all = False  # for a configuration
        self._wanted: Counter[str] = Counter()  # by threads, as soon as the writer is done
        self._waiting: list[asyncio.Future[None]] = []

    def is_free(self, site: str) -> bool:
        """Say whether a thread may have a site."""
        return not (self.writer_wants_all or site in self.by_threads or site in self.by_writer)

    def may_be_written(self, sites: Set[str]) -> bool:
        """Say whether the writer may have sites: none is held or waited for."""
        return self.by_threads.isdisjoint(sites) and self._wanted.keys().isdisjoint(sites)

    @asynccontextmanager
    async def holding(self, names: Collection[str], check: Callable[[], None]) -> AsyncIterator[None]:
        """Keep events from sites, as soon as nobody has any of them; `check` may refuse that then."""
        self._wanted.update(names)
        try:
            while not all(map(self.is_free, names)):
                told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiting.append(told)
                await told
            check()
        finally:
            self._wanted = +(self._wanted - Counter(names))
        self.by_threads.update(names)
        try:
            yield
        finally:
            self.give_back(names)

    def give_back(self, names: Collection[str]) -> None:
        """Be done with sites."""
        self.by_threads.difference_update(names)
        self.tell()
        self._changed()

    def tell(self) -> None:
        """Let threads that wait look again."""
        waiting, self._waiting = self._waiting, []
        for told in waiting:
            if not told.done():
                told.set_result(None)
