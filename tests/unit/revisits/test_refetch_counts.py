"""What becomes of fetches of known pages is counted where they are applied: once, and not at a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc

from linkscore.v1 import common_pb2
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import crawl_service_pb2_grpc as crawl_grpc
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc as pb_grpc
from linkscore_server.app import Application
from linkscore_server.settings import Settings

OUTCOMES = ("changed", "unchanged", "not_modified", "gone", "failed")


def fetched(day: int, body: str = "", **said: Any) -> common_pb2.Page:
    page = common_pb2.Page(event_id=f"e{day}", url="http://a.example/1", content_type="text/html", **said)
    if body:
        page.body = f"<p>{body}</p>".encode()
    page.fetch_time.FromSeconds(1_700_000_000 + 86_400 * day)
    return page


def lived() -> list[common_pb2.Page]:
    first, second = "What the page said at first, in a few words.", "What it says now is another matter."
    return [
        fetched(0, first),
        fetched(1, first),
        fetched(2, second),
        fetched(3, second),
        fetched(4, status_code=304, not_modified=True),
        fetched(5, status_code=503),
        fetched(6, fetch_error="timeout"),
        fetched(7, status_code=410),
    ]


def counted(app: Application) -> dict[str, float]:
    sample = app.metrics.registry.get_sample_value
    return {outcome: sample("linkscore_refetches_total", {"outcome": outcome}) or 0.0 for outcome in OUTCOMES}


async def served(folder: Path, *, revisits: bool, create: bool = True) -> tuple[dict[str, float], ...]:
    """Return the counts after the pages were sent, and after all of them were sent again."""
    app = Application(Settings(listen="127.0.0.1:0", metrics_listen="", data_dir=str(folder)))
    await app.start()
    async with grpc.aio.insecure_channel(app.address) as channel:
        if create:
            crawl = crawl_pb.Crawl(
                name="crawls/a", revisit=crawl_pb.Revisit(fetches_per_day=1.0) if revisits else None
            )
            await crawl_grpc.CrawlServiceStub(channel).CreateCrawl(  # type: ignore[no-untyped-call]
                crawl_pb.CreateCrawlRequest(crawl=crawl)
            )
        links = pb_grpc.LinkScoringServiceStub(channel)  # type: ignore[no-untyped-call]
        found = []
        for _ in range(2):
            await links.IngestPages(pb.IngestPagesRequest(crawl="crawls/a", pages=lived()))
            found.append(counted(app))
    await app.stop()
    return tuple(found)


async def test_each_refetch_is_counted_once_by_what_it_found(tmp_path: Path) -> None:
    once, again = await served(tmp_path, revisits=True)
    assert once == {"changed": 1.0, "unchanged": 2.0, "not_modified": 1.0, "gone": 1.0, "failed": 2.0}
    assert again == once
    restarted = await served(tmp_path, revisits=True, create=False)
    assert not any(count for counts in restarted for count in counts.values())
