"""The events of the logs of a crawl, written to those of its new groups."""

from __future__ import annotations

from collections.abc import Sequence

from linkscore_server.regroup.events import Regrouping
from linkscore_server.storage.base import CrawlLog

_EVENTS_AT_ONCE = 256
"""A bound: events that share a sync, as the server bounds those it writes."""
_WAITING_BYTES = 32 << 20
"""A bound: bytes of the events that wait for that, of all groups. Chosen."""


def write_divided(sources: Sequence[CrawlLog], logs: Sequence[CrawlLog]) -> None:
    """Append the events of a crawl to logs without events, one for each group; errors as of `Regrouping`."""
    waiting: list[list[bytes]] = [[] for _ in logs]
    size = 0
    for group, raw in Regrouping(len(logs)).divide(sources):
        waiting[group].append(raw)
        size += len(raw)
        if size >= _WAITING_BYTES or len(waiting[group]) >= _EVENTS_AT_ONCE:
            _flush(logs, waiting)
            size = 0
    _flush(logs, waiting)


def _flush(logs: Sequence[CrawlLog], waiting: Sequence[list[bytes]]) -> None:
    for log, events in zip(logs, waiting, strict=True):
        if events:
            log.append(events)
            events.clear()
