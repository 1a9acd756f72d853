"""Builds the requests of the browse log calls, once for both clients."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping

from linkscore.messages import crawl_name, site_name
from linkscore.v1 import browse_log_service_pb2 as pb

Batch = tuple[str, Iterable[pb.BrowseRecord]] | pb.ImportBrowseRecordsRequest
"""Id and records, or the message."""


def batches(crawl: str, given: Iterable[Batch]) -> Iterator[pb.ImportBrowseRecordsRequest]:
    return (_batch(crawl, batch) for batch in given)


async def async_batches(
    crawl: str, given: AsyncIterable[Batch] | Iterable[Batch]
) -> AsyncIterator[pb.ImportBrowseRecordsRequest]:
    if isinstance(given, AsyncIterable):
        async for batch in given:
            yield _batch(crawl, batch)
    else:
        for batch in given:
            yield _batch(crawl, batch)


def mine_site(
    *, crawl: str, site: str, window_days: int, news_labels: Mapping[str, bool], news_threshold: float
) -> pb.MineSiteRequest:
    labels = [pb.NewsLabel(url=url, is_news=is_news) for url, is_news in news_labels.items()]
    return pb.MineSiteRequest(
        name=site_name(crawl, site),
        window_days=window_days,
        news_labels=labels,
        news_threshold=news_threshold,
    )


def stats(*, crawl: str, batch_ids: Iterable[str]) -> pb.GetBrowseStatsRequest:
    return pb.GetBrowseStatsRequest(crawl=crawl_name(crawl), batch_ids=batch_ids)


def _batch(crawl: str, batch: Batch) -> pb.ImportBrowseRecordsRequest:
    if isinstance(batch, pb.ImportBrowseRecordsRequest):
        batch.crawl = crawl_name(crawl)
        return batch
    batch_id, records = batch
    return pb.ImportBrowseRecordsRequest(crawl=crawl_name(crawl), batch_id=batch_id, records=records)
