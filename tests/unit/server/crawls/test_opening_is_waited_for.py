"""A call about a crawl that is being opened waits for it, as long as its caller does."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import grpc
import pytest

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore.v1.crawl_service_pb2_grpc import CrawlServiceStub
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_server.app import Application
from linkscore_server.crawls import CrawlRegistry, registry
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.store import open_store
from support.server_process import Refusal


async def test_a_call_waits_within_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    may_open, real = threading.Event(), registry.load_libraries
    monkeypatch.setattr(registry, "load_libraries", lambda config: may_open.wait() and real(config))
    app = Application(Settings(data_dir="memory", listen="127.0.0.1:0", metrics_listen=""))
    await app.start()
    async with grpc.aio.insecure_channel(app.address) as channel:
        crawls = CrawlServiceStub(channel)
        made = pb.CreateCrawlRequest(crawl=pb.Crawl(name="crawls/slow"))
        patient = asyncio.ensure_future(crawls.CreateCrawl(made))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await crawls.GetCrawl(pb.GetCrawlRequest(name="crawls/slow"), timeout=5.0)
        assert Refusal(caught.value).reason in ("NOT_SERVING", "CRAWL_NOT_FOUND")
        assert not patient.done()
        may_open.set()
        assert (await patient).crawl.name == "crawls/slow"
    await app.stop()


async def test_opening_in_advance_leaves_a_crawl_that_a_call_has_opened(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    crawls = CrawlRegistry(store, Settings(learning_processes=0), Metrics())
    await crawls.create(CrawlConfig("c"), lambda others: None)
    actor = await crawls.open("c")
    crawls.open_soon(["c"])
    for _ in range(3):  # until it is about to open
        await asyncio.sleep(0)
    async with crawls.at_rest("c"):
        assert await crawls.open("c") is actor
    await crawls.close()
    store.close()
