"""Sends feedback in batches: by size, by time, and at the end of the crawl."""

from __future__ import annotations

import asyncio

from linkscore.scrapy.feedback import FeedbackBatch
from linkscore.scrapy.session import Session
from linkscore.scrapy.visits import Visit
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

FLUSH_AT = 100
FLUSH_AFTER_S = 2.0


class Reporter:
    """Reports what extraction found on fetched pages."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._batch = FeedbackBatch()
        self._timer: asyncio.TimerHandle | None = None

    def scraped(self, visit: Visit) -> None:
        """Note an item that passed."""
        self._batch.scraped(visit)
        self._schedule()

    def dropped(self, visit: Visit) -> None:
        """Note an item that was dropped."""
        self._batch.dropped(visit)
        self._schedule()

    def empty(self, visit: Visit) -> None:
        """Note a page without items."""
        if self._session.config.report_empty:
            self._batch.empty(visit)
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
            visits, events = self._batch.take()
            if not await self._send(events):
                self._batch.put_back(visits)
                return
            self._session.count("feedback", len(events))

    async def _send(self, events: list[scoring_pb2.Feedback]) -> bool:
        crawl = self._session.config.crawl
        answer = await self._session.call(lambda client: client.report_feedback(crawl=crawl, feedback=events))
        return answer is not None
