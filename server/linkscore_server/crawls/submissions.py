"""What waits in a crawl: events of calls that are made durable together, and threads that want its sites."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Sequence, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass

from linkscore_scoring.engine.crawl import CrawlModel, repeat_id
from linkscore_scoring.engine.events import Event, FeedbackGiven, LogsMined, PageFetched
from linkscore_scoring.engine.results import Outcome
from linkscore_scoring.site.learning import LearnedSite
from linkscore_server.store import NewEvent

Outcomes = list[Outcome | Exception]
"""What came of the events of one call, an exception in place of one that could not be applied."""


@dataclass(slots=True)
class Submission:
    """Events that are made durable together, the sites they are about, and who waits for their outcomes.

    `repeats` are the places of those that were applied before: they only ask again.
    """

    events: Sequence[Event]
    raw: list[bytes]
    sites: frozenset[str]
    done: asyncio.Future[Outcomes]
    learned: LearnedSite | None = None
    repeats: frozenset[int] = frozenset()

    def fail(self, error: Exception) -> None:
        """Tell who waits, if anybody does, that nothing comes of it."""
        if not self.done.done():
            self.done.set_exception(error)


def new_events(group: Sequence[Submission], model: CrawlModel) -> list[NewEvent]:
    """Return what goes into the store; events that were applied before, or come twice, only ask again."""
    ids, made, new = set[str](), set[str](), list[NewEvent]()
    for item in group:
        repeats = set()
        for at, event in enumerate(item.events):
            event_id = repeat_id(event)
            if event_id and (event_id in ids or model.is_repeat(event)):
                repeats.add(at)
                continue
            ids.add(event_id)
            site = getattr(event, "site", "")
            if isinstance(event, PageFetched | FeedbackGiven | LogsMined):
                made.add(site)
            # Of a site that the crawl does not have there shall be no row.
            about = site if site in made or site in model.sites else ""
            new.append(NewEvent(about, event_id, item.raw[at]))
        item.repeats = frozenset(repeats)
    return new


class SiteHolds:
    """The sites that a thread reads or writes, or the writer has events for; never both."""

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
