"""Count the functions of linkscore that one call runs through, and the files these stand in.

``python tools/count_calls.py`` prints a line for a page that comes alone and one for a question about
buckets, of a server in this process that knows some pages: what a reader has to follow. Functions are those
that have a name of their own; what libraries do is left out.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import grpc

import linkscore_scoring
import linkscore_server
from linkscore.v1 import common_pb2, crawl_service_pb2, crawl_service_pb2_grpc
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore.v1 import link_scoring_service_pb2_grpc as pb_grpc
from linkscore_server.app import Application
from linkscore_server.settings import Settings

OURS = tuple(str(Path(package.__file__ or "").parent) for package in (linkscore_scoring, linkscore_server))
CRAWL, ROOT = "crawls/count", "http://forum.test"
KNOWN_PAGES = 64  # taken in before: the site is neither looked at (`SiteWatch`) nor written just then; chosen


def page(n: int) -> common_pb2.Page:
    """Return a page: a menu, a list of twelve links, and text of its own."""
    kind = ("board", "thread", "member")[n % 3]
    links = "".join(f'<li><a class="t" href="{ROOT}/thread/{7 * n + i}">go {i}</a></li>' for i in range(12))
    body = f'<nav><a href="{ROOT}/">home</a></nav><ul class="{kind}">{links}</ul><p>{f"text {n} " * 30}</p>'
    return common_pb2.Page(
        event_id=f"page-{n}",
        url=f"{ROOT}/{kind}/{n}",
        status_code=200,
        content_type="text/html; charset=utf-8",
        body=f"<html><body>{body}</body></html>".encode(),
    )


class Calls:
    """What was called, while it is watched."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()

    def __str__(self) -> str:
        named = [code for code in self.codes if not code.co_name.startswith("<")]
        return f"{len(named)} / {len({code.co_filename for code in named})}"

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Take in every function of ours that is called in this thread, and in those started meanwhile."""
        sys.setprofile(self._called)
        threading.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    def _called(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            self.codes.add(frame.f_code)


async def counted(call: Callable[[], Awaitable[Any]]) -> Calls:
    """Return what one call ran through, once nothing is written beside it."""
    calls = Calls()
    await asyncio.sleep(0.5)
    with calls.watched():
        await call()
    return calls


async def measured(folder: Path) -> dict[str, Calls]:
    """Return what each kind of call runs through."""
    settings = replace(Settings(), data_dir=str(folder), listen="127.0.0.1:0", metrics_listen="")
    app = Application(replace(settings, learning_processes=0))
    await app.start()
    try:
        async with grpc.aio.insecure_channel(app.address) as channel:
            links = pb_grpc.LinkScoringServiceStub(channel)
            crawls = crawl_service_pb2_grpc.CrawlServiceStub(channel)
            await crawls.CreateCrawl(crawl_service_pb2.CreateCrawlRequest(crawl={"name": CRAWL}))
            for n in range(KNOWN_PAGES):
                answer = await links.IngestPages(pb.IngestPagesRequest(crawl=CRAWL, pages=[page(n)]))
            asked = pb.RankBucketsRequest(crawl=CRAWL, buckets=answer.results[0].links.bucket_names)
            await links.RankBuckets(asked)
            alone = pb.IngestPagesRequest(crawl=CRAWL, pages=[page(KNOWN_PAGES)])
            return {
                "IngestPages": await counted(lambda: links.IngestPages(alone)),
                "RankBuckets": await counted(lambda: links.RankBuckets(asked)),
            }
    finally:
        await app.stop()


def main() -> int:
    """Print a line for each call: functions / files; ``--list`` adds them by file."""
    with TemporaryDirectory() as folder:
        for name, calls in asyncio.run(measured(Path(folder))).items():
            print(f"{name}: {calls}")
            if "--list" in sys.argv:
                for code in sorted(calls.codes, key=lambda code: (code.co_filename, code.co_firstlineno)):
                    print(f"  {code.co_filename}:{code.co_firstlineno} {code.co_name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
