"""Feedback on its way from a message to the writer of its crawl."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.features.types import Limits
from linkscore_scoring.urls.identity import validate_url
from linkscore_server import tasks
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.grpc.convert import results
from linkscore_server.grpc.convert.pages import MAX_EVENT_ID_BYTES, MAX_TICKET_BYTES, seconds_of
from linkscore_server.numbers import wrong_numbers
from linkscore_server.observability.metrics import Metrics

_GROUP = 256  # events checked and submitted before other calls are served; chosen, not measured
_Statuses = list[common_pb2.ItemStatus]


class FeedbackInbox:
    """Checks feedback and submits it in groups, in input order; other calls are served between groups.

    Parameters
    ----------
    limits
        Longest URL.
    metrics
        Where events and rewards are counted.
    clock
        Seconds since the epoch, for events without a time.
    """

    def __init__(self, limits: Limits, metrics: Metrics, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._metrics = metrics
        self._clock = clock

    async def take(self, actor: CrawlActor, items: Sequence[pb.Feedback]) -> _Statuses:
        """Return one status an item, once all that are valid are durable and applied.

        Raises
        ------
        OSError
            If a group could not be made durable; a repeat of the call with the same event ids is safe.
        CrawlClosed
            If the crawl takes nothing more.
        """
        groups = []
        for at in range(0, len(items), _GROUP):
            groups.append(tasks.awaited(self._take_group(actor, items[at : at + _GROUP])))
            await asyncio.sleep(0)
        return [status for statuses in await asyncio.gather(*groups) for status in statuses]

    async def _take_group(self, actor: CrawlActor, items: Sequence[pb.Feedback]) -> _Statuses:
        statuses, events = self._checked(actor, items)
        outcomes = await actor.submit_all(list(events.values())) if events else []
        rewards = []
        for (row, event), is_new in zip(events.items(), outcomes, strict=True):
            if isinstance(is_new, Exception):
                raise is_new
            if is_new:
                rewards.append(event.reward)
            else:
                statuses[row] = results.status("duplicate")
        self._metrics.count_feedback(
            actor.model.config.policy.name,
            rewards,
            duplicates=len(events) - len(rewards),
            invalid=len(items) - len(events),
        )
        return statuses

    def _checked(
        self, actor: CrawlActor, items: Sequence[pb.Feedback]
    ) -> tuple[_Statuses, dict[int, FeedbackGiven]]:
        """Return a status an item, and the event of each valid one by its row."""
        statuses: _Statuses = []
        events: dict[int, FeedbackGiven] = {}
        now_s = self._clock()
        for row, item in enumerate(items):
            try:
                events[row] = self._event(actor, item, now_s)
            except InvalidInput as exc:
                statuses.append(results.invalid(exc))
            else:
                statuses.append(results.status("ok"))
        return statuses, events

    def _event(self, actor: CrawlActor, item: pb.Feedback, now_s: float) -> FeedbackGiven:
        event_id, ticket, url = item.event_id, item.ticket, item.url
        if wrong := list(wrong_numbers(item)):
            raise InvalidInput(wrong)
        _check_bytes("event_id", len(event_id.encode()), MAX_EVENT_ID_BYTES)
        _check_bytes("ticket", len(ticket), MAX_TICKET_BYTES)
        site = actor.model.site_of_ticket(ticket) if ticket else ""
        if not url and not site:
            rule = "is required unless a ticket of this crawl names the link"
            raise InvalidInput(rule, field="url", reason="REQUIRED")
        key = validate_url(url, "url", max_chars=self._limits.url_chars, error=InvalidInput) if url else ""
        if item.HasField("extraction_time"):
            now_s = seconds_of(item.extraction_time, self._clock)
        return FeedbackGiven(event_id, site or actor.model.site_of(url), key, ticket, _reward(item), now_s)


def _reward(item: pb.Feedback) -> float:
    match item.WhichOneof("outcome"):
        case "reward":
            if not 0.0 <= item.reward <= 1.0:
                raise InvalidInput(f"must be in [0, 1], got {item.reward}", field="reward")
            return item.reward
        case "item_count":
            return float(item.item_count > 0)
        case "relevant":
            return float(item.relevant)
    raise InvalidInput(
        "one of reward, item_count and relevant is required", field="outcome", reason="REQUIRED"
    )


def _check_bytes(field: str, size: int, most: int) -> None:
    if size > most:
        raise InvalidInput(f"must be at most {most} bytes, got {size}", field=field)
