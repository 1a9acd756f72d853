"""What the asyncio client does with browse logs."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping

import grpc

from linkscore import _browse_requests as requests
from linkscore._asyncio import AsyncBase
from linkscore.errors import from_rpc_error
from linkscore.v1 import browse_log_service_pb2 as pb


class AsyncBrowse(AsyncBase):
    """Browse logs; see `AsyncClient`."""

    async def import_browse_records(
        self,
        *,
        crawl: str,
        batches: AsyncIterable[requests.Batch] | Iterable[requests.Batch],
        timeout_s: float | None = None,
    ) -> pb.ImportBrowseRecordsResponse:
        """Send browse log records, (batch id, records) by (batch id, records); no deadline unless given.

        A batch is taken in as a whole and once, so after an error send the same batches under the same ids.
        """
        messages = requests.async_batches(crawl, batches)
        try:
            got: pb.ImportBrowseRecordsResponse = await self._stubs.browse.ImportBrowseRecords(
                messages, timeout=timeout_s, metadata=self._metadata
            )
        except grpc.RpcError as e:
            raise from_rpc_error(e) from e
        return got

    async def mine_site(
        self,
        *,
        crawl: str,
        site: str,
        window_days: int = 0,
        news_labels: Mapping[str, bool] | None = None,
        news_threshold: float = 0.0,
        timeout_s: float | None = None,
    ) -> pb.MineSiteResponse:
        """Mine the browse log of a site now. Large logs need a longer `timeout_s`.

        `news_labels` says of URLs whether they are news: the threshold is fitted on them.
        """
        request = requests.mine_site(
            crawl=crawl,
            site=site,
            window_days=window_days,
            news_labels=news_labels or {},
            news_threshold=news_threshold,
        )
        got: pb.MineSiteResponse = await self._call(self._stubs.browse.MineSite, request, timeout_s)
        return got

    async def get_browse_stats(
        self, *, crawl: str, batch_ids: Iterable[str] = (), timeout_s: float | None = None
    ) -> pb.GetBrowseStatsResponse:
        """Say what a crawl holds of browse logs, and which of some batches it took in."""
        request = requests.stats(crawl=crawl, batch_ids=batch_ids)
        got: pb.GetBrowseStatsResponse = await self._call(
            self._stubs.browse.GetBrowseStats, request, timeout_s
        )
        return got
