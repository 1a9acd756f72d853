"""Batches of browse log records."""

from __future__ import annotations

from collections.abc import Iterable

from linkscore.v1 import browse_log_service_pb2 as pb


def batch_of(
    batch_id: str, visits: Iterable[tuple[int, str, str, str]], crawl: str = ""
) -> pb.ImportBrowseRecordsRequest:
    """Return a batch of visits: seconds since the epoch, client, URL, referrer."""
    made = pb.ImportBrowseRecordsRequest(crawl=crawl, batch_id=batch_id)
    for second, client, url, referrer in visits:
        made.records.add(client_id=client, url=url, referrer=referrer).time.FromSeconds(second)
    return made
