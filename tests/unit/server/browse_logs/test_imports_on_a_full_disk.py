"""A server whose disk is full takes in no browse records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore_server.app import Application
from linkscore_server.settings import Settings
from linkscore_server.store import Store
from linkscore_server.store.sqlite import SqliteEngine
from support.server_process import Refusal, Stubs

CRAWL = "crawls/full"


class Filling(Store):
    """A folder on a disk that is as full as one says."""

    free = 1 << 40

    def space(self) -> tuple[int, int]:
        return self.free, 1 << 41


async def test_an_import_is_refused_by_name(tmp_path: Path) -> None:
    settings = replace(Settings(), listen="127.0.0.1:0", metrics_listen="", learning_processes=0)
    app = Application(settings, store=(store := Filling(SqliteEngine(tmp_path / "linkscore.db"))))
    await app.start()
    async with grpc.aio.insecure_channel(app.address) as channel:
        server = Stubs(channel)
        await server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl_pb.Crawl(name=CRAWL)))
        store.free = 1 << 20
        app.registry.space.look()
        record = pb.ImportBrowseRecordsRequest(crawl=CRAWL, batch_id="b")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await server.browse.ImportBrowseRecords(record)
    await app.stop()
    told = Refusal(caught.value)
    assert (told.code, told.reason, told.retry_s) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "DISK_FULL", 5.0)
