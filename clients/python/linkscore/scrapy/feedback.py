"""Reports what item pipelines said of pages in batches: by size, by time, at the end of the crawl."""

from __future__ import annotations

import asyncio

from linkscore.scrapy.pages import FetchedPage
from linkscore.scrapy.session import Session
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

# A bound, chosen: pages remembered while the server stays away.
MAX_PENDING = 20_000
# Well below what one call may carry (setting `max_feedback_per_call`, 5,000).
BATCH = 2_000
# Chosen, not measured: a report follows its items within seconds, and a busy crawl makes few calls.
FLUSH_AT = 100
FLUSH_AFTER_S = 2.0  # chosen like `FLUSH_AT`


class FeedbackBatch:
    """Pages whose worth is known but not reported.

    Notes
    -----
    A page is reported once as wanted, with the number of its items, or once as not wanted; a page whose first
    item was dropped and whose second passed is reported twice. The oldest are forgotten beyond `MAX_PENDING`,
    so that a server that stays away costs no memory.
    """

    def __init__(self) -> None:
        self._pending: dict[str, FetchedPage] = {}
        #: Whether any item passed yet: until then a page without one says nothing.
        self.any_item = False

    def __len__(self) -> int:
        return len(self._pending)

    def scraped(self, fetched: FetchedPage) -> None:
        """Note an item that passed the pipelines."""
        fetched.scraped += 1
        self.any_item = True
        if fetched.reported is not True:
            self._add(fetched)

    def dropped(self, fetched: FetchedPage) -> None:
        """Note an item a pipeline dropped."""
        fetched.dropped += 1
        if fetched.reported is None:
            self._add(fetched)

    def empty(self, fetched: FetchedPage) -> None:
        """Note a page the spider found no item on."""
        if self.any_item:
            self._add(fetched)

    def _add(self, fetched: FetchedPage) -> None:
        self._pending[fetched.event_id] = fetched
        if len(self._pending) > MAX_PENDING:
            del self._pending[next(iter(self._pending))]

    def take(self) -> tuple[list[FetchedPage], list[scoring_pb2.Feedback]]:
        """Take the next pages and the events that report them."""
        keys = list(self._pending)[:BATCH]
        pages = [self._pending.pop(key) for key in keys]
        for fetched in pages:
            fetched.reported = fetched.scraped > 0
        return pages, [_event(fetched) for fetched in pages]

    def put_back(self, pages: list[FetchedPage]) -> None:
        """Keep what could not be reported for the next time."""
        for fetched in pages:
            fetched.reported = None
            self._add(fetched)


def _event(fetched: FetchedPage) -> scoring_pb2.Feedback:
    kind = "items" if fetched.scraped else "none"
    return scoring_pb2.Feedback(
        event_id=f"{fetched.event_id}:{kind}",
        url=fetched.url,
        ticket=fetched.ticket,
        item_count=fetched.scraped,
    )


class Reporter:
    """Reports what extraction found on fetched pages."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._batch = FeedbackBatch()
        self._timer: asyncio.TimerHandle | None = None

    def scraped(self, fetched: FetchedPage) -> None:
        """Note an item that passed."""
        self._batch.scraped(fetched)
        self._schedule()

    def dropped(self, fetched: FetchedPage) -> None:
        """Note an item that was dropped."""
        self._batch.dropped(fetched)
        self._schedule()

    def empty(self, fetched: FetchedPage) -> None:
        """Note a page without items."""
        if self._session.config.report_empty:
            self._batch.empty(fetched)
            self._schedule()

    def _schedule(self) -> None:
        if not self._batch:
            return
        if len(self._batch) == FLUSH_AT:
            self._session.start(self.flush())
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_AFTER_S, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._session.start(self.flush())

    async def flush(self) -> None:
        """Send all there is; what the server does not take waits for the next time."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._batch:
            pages, events = self._batch.take()
            if not await self._session.connection.report(events):
                self._batch.put_back(pages)
                return
            self._session.count("feedback", len(events))
