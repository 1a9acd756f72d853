"""Collects what the item pipelines said, to report it in batches."""

from __future__ import annotations

from linkscore.scrapy.visits import Visit
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2

MAX_PENDING = 20_000
BATCH = 2_000


class FeedbackBatch:
    """Pages whose worth is known but not reported.

    Notes
    -----
    A page is reported once as wanted, with the number of its items, or once as not wanted; a page whose first
    item was dropped and whose second passed is reported twice. The oldest are forgotten beyond `MAX_PENDING`,
    so that a server that stays away costs no memory.
    """

    def __init__(self) -> None:
        self._pending: dict[str, Visit] = {}
        #: Whether any item passed yet: until then a page without one says nothing.
        self.any_item = False

    def __len__(self) -> int:
        return len(self._pending)

    def scraped(self, visit: Visit) -> None:
        """Note an item that passed the pipelines."""
        visit.scraped += 1
        self.any_item = True
        if visit.reported is not True:
            self._add(visit)

    def dropped(self, visit: Visit) -> None:
        """Note an item a pipeline dropped."""
        visit.dropped += 1
        if visit.reported is None:
            self._add(visit)

    def empty(self, visit: Visit) -> None:
        """Note a page the spider found no item on."""
        if self.any_item:
            self._add(visit)

    def _add(self, visit: Visit) -> None:
        self._pending[visit.event_id] = visit
        if len(self._pending) > MAX_PENDING:
            del self._pending[next(iter(self._pending))]

    def take(self) -> tuple[list[Visit], list[scoring_pb2.Feedback]]:
        """Take the next pages and the events that report them."""
        keys = list(self._pending)[:BATCH]
        visits = [self._pending.pop(key) for key in keys]
        for visit in visits:
            visit.reported = visit.scraped > 0
        return visits, [_event(visit) for visit in visits]

    def put_back(self, visits: list[Visit]) -> None:
        """Keep what could not be reported for the next time."""
        for visit in visits:
            visit.reported = None
            self._add(visit)


def _event(visit: Visit) -> scoring_pb2.Feedback:
    kind = "items" if visit.scraped else "none"
    return scoring_pb2.Feedback(
        event_id=f"{visit.event_id}:{kind}", url=visit.url, ticket=visit.ticket, item_count=visit.scraped
    )
