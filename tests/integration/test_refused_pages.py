"""What a refused page or call brought is given back at once, not when the garbage collector comes by.

An error holds the frames it came through, these hold the request, and a frame that holds the error closes the
ring. 84 refused pages of 20 MB took a server to `memory_mb`, where it refused everybody for good.
"""

from __future__ import annotations

import gc
import gzip
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from linkscore.v1 import common_pb2, crawl_service_pb2, crawl_service_pb2_grpc
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc as pb_grpc
from linkscore_server.app import Application
from linkscore_server.settings import Settings

CRAWL, MOST = "crawls/refused", 100_000
HTML, LONG = "text/html", b"<p>word</p>" * MOST
PAGES = {
    "too long": common_pb2.Page(url="http://a.test/", body=LONG, content_type=HTML),
    "packed too long": common_pb2.Page(
        url="http://a.test/", body=gzip.compress(LONG), content_encoding="gzip", content_type=HTML
    ),
    "no URL": common_pb2.Page(url="a", body=b"<p>x</p>" * 9, content_type=HTML),
}


async def ingested(stub: Any, page: common_pb2.Page) -> common_pb2.ItemStatus:
    return (await stub.IngestPages(pb.IngestPagesRequest(crawl=CRAWL, pages=[page]))).results[0].status


async def errors_left_by(work: Callable[[], Awaitable[Any]]) -> list[str]:
    """Return the errors that only the garbage collector found after some work."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        await work()
        gc.collect()
        return [repr(found) for found in gc.garbage if isinstance(found, Exception)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
async def test_a_refused_page_leaves_no_error_that_holds_it(tmp_path: Path, page: Any) -> None:
    settings = Settings(data_dir=str(tmp_path), listen="127.0.0.1:0", metrics_listen="", max_body_bytes=MOST)
    app = Application(settings)
    await app.start()
    try:
        async with grpc.aio.insecure_channel(app.address) as channel:
            crawl = crawl_service_pb2.Crawl(name=CRAWL)
            crawls = crawl_service_pb2_grpc.CrawlServiceStub(channel)
            await crawls.CreateCrawl(crawl_service_pb2.CreateCrawlRequest(crawl=crawl))
            stub = pb_grpc.LinkScoringServiceStub(channel)
            assert (await ingested(stub, page)).code == common_pb2.ITEM_CODE_INVALID
            assert await errors_left_by(lambda: ingested(stub, page)) == []
    finally:
        await app.stop()
