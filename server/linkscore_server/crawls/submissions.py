"""What calls bring a crawl: events that are made durable together, and who waits for what comes of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel, Watch, repeat_id
from linkscore_scoring.engine.events import ConfigChanged, Event, FeedbackGiven, LogsMined, PageFetched
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
    watch: Watch
    learned: LearnedSite | None = None
    came: float = field(default_factory=time.perf_counter)
    repeats: frozenset[int] = frozenset()

    @property
    def config(self) -> CrawlConfig | None:
        """The configuration that it gives all sites, None of events of single sites."""
        found = next((event for event in self.events if isinstance(event, ConfigChanged)), None)
        return CrawlConfig.from_state(found.config) if found else None

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
