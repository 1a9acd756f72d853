"""A crawler that goes in the midst of a stream leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

from linkscore_frontier import urlfrontier_pb2 as pb
from linkscore_frontier.crawls import Advisor, Crawls, FrontierMetrics
from linkscore_frontier.service import FrontierService


async def discovered() -> AsyncIterator[pb.URLItem]:
    n = 0
    while True:
        n += 1
        url = f"http://a.org/{n}"
        yield pb.URLItem(ID=url, discovered=pb.DiscoveredURLItem(info=pb.URLInfo(url=url)))


async def test_nothing_reads_a_stream_that_was_cut(tmp_path: Path) -> None:
    others = asyncio.all_tasks()
    with closing(Crawls(tmp_path)) as crawls:
        metrics = FrontierMetrics(crawls)
        advisor = Advisor(crawls, metrics, target="127.0.0.1:1")
        acknowledged = FrontierService(crawls, advisor, metrics).PutURLs(discovered(), None)
        assert (await anext(acknowledged)).ID == "http://a.org/1"
        await acknowledged.aclose()  # type: ignore[attr-defined]
        await advisor.close()
        for _ in range(10):
            await asyncio.sleep(0)
        assert asyncio.all_tasks() <= others
