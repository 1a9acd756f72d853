"""A call about a crawl that is being opened waits for it, as long as its caller does."""

from __future__ import annotations

import asyncio
import threading

import grpc
import pytest

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore.v1.crawl_service_pb2_grpc import CrawlServiceStub
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_server.app import Application
from linkscore_server.crawls import registry
from linkscore_server.settings import Settings


async def test_a_call_waits_within_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    may_open, real = threading.Event(), registry.load_libraries
    app = Application(Settings(data_dir="memory", listen="127.0.0.1:0", metrics_listen=""))
    await app.start()
    await app.registry.create(CrawlConfig("slow"))
    monkeypatch.setattr(registry, "load_libraries", lambda config: may_open.wait() and real(config))
    async with grpc.aio.insecure_channel(app.address) as channel:
        crawls, asked = CrawlServiceStub(channel), pb.GetCrawlRequest(name="crawls/slow")
        patient = asyncio.ensure_future(crawls.GetCrawl(asked))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await crawls.GetCrawl(asked, timeout=0.5)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert not patient.done()
        may_open.set()
        assert (await patient).crawl.name == "crawls/slow"
    await app.stop()
