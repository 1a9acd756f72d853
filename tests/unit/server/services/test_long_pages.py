"""Large pages are read in a process of their own, within a budget of CPU time."""

from __future__ import annotations

import asyncio
import gzip
import multiprocessing
import sys
import tracemalloc
from collections.abc import AsyncIterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager

import brotli
import pytest

from linkscore.v1 import common_pb2
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.types import Limits
from linkscore_server import tasks
from linkscore_server.services.pages import (
    LARGE_BYTES,
    LARGE_TAGS,
    LargePages,
    PageBody,
    PageParser,
    ParseOptions,
    is_large,
)

URL = "http://a.test/b"
ENDLESS = Limits(body_bytes=60_000_000, elements=100_000_000, links=10_000_000, path_nodes=10_000_000)


def page(body: bytes, *, encoding: str = "", kind: str = "text/html", layout: bool = True) -> PageBody:
    said = {"url": URL, "content_type": kind, "content_encoding": encoding, "layout": layout}
    return said | {"body": body}


@asynccontextmanager
async def reader(limits: Limits, **options: float) -> AsyncIterator[LargePages]:
    pages = LargePages(limits, **options)
    try:
        yield pages
    finally:
        pages.close()


@pytest.mark.parametrize(
    ("given", "large"),
    [
        (page(b"<p>" * LARGE_TAGS), False),
        (page(b"<p>" * (LARGE_TAGS + 1)), True),
        (page(b"<p>" + b"x" * (LARGE_BYTES - 3)), False),
        (page(b"<p>" + b"x" * LARGE_BYTES), True),
        (page(b"%PDF-" + b"x" * LARGE_BYTES, kind=""), False),
        (page(gzip.compress(b"<p>x" * 10_000)[:-9], encoding="gzip"), False),
        (page(gzip.compress(b"<p>x" * 100_000), encoding="gzip"), True),
        (page(gzip.compress(bytes(9_000_000))), True),
        (page(brotli.compress(bytes(9_000_000)), encoding="br"), True),
        (page(gzip.compress(b"<p>x"), encoding="gzip"), False),
        (page(b"no gzip" * 100_000, encoding="zip"), True),
    ],
)
def test_a_page_is_large_by_its_decoded_bytes_and_tags(given: PageBody, large: bool) -> None:
    assert is_large(given["body"], given["content_type"], given["content_encoding"]) is large


async def used_up(pool: ProcessPoolExecutor) -> None:
    """Ask the worker of a pool until it is known to be gone."""
    while True:
        await asyncio.wrap_future(pool.submit(int))


async def test_a_worker_that_was_killed_while_it_had_nothing_to_do_costs_no_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, really = list[ProcessPoolExecutor](), tasks.child_processes
    monkeypatch.setattr(tasks, "child_processes", lambda *given: made.append(really(*given)) or made[-1])
    before = {*multiprocessing.active_children()}
    async with reader(ENDLESS) as pages:
        assert (await pages.read(lambda: page(b"<p>x"))).text_chars == 1
        [worker] = {*multiprocessing.active_children()} - before
        worker.kill()
        with pytest.raises(BrokenProcessPool):
            await used_up(made[0])
        assert (await pages.read(lambda: page(b"<p>xy"))).text_chars == 2
    assert len(made) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="CPU time of a process is bounded by POSIX")
def test_a_page_over_its_cpu_time_is_refused_and_the_next_is_read() -> None:
    async def read() -> None:
        async with reader(ENDLESS, budget_s=0.2) as pages:
            distinct = b"".join(b"<p class=a%d>x" % n for n in range(800_000))  # each tag is read anew
            endless = asyncio.create_task(pages.read(lambda: page(distinct)))
            after = asyncio.create_task(pages.read(lambda: page(b"<p>x")))
            with pytest.raises(InvalidPage, match="CPU time") as caught:
                await endless
            assert caught.value.reason == "LIMIT_EXCEEDED"
            assert (await after).text_chars == 1

    asyncio.run(read())


async def test_pages_that_wait_for_the_reader_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    async def waiting(pages: LargePages, body: object) -> None:
        await asyncio.sleep(60.0)

    monkeypatch.setattr(LargePages, "read", waiting)
    sent = [common_pb2.Page(url=URL, status_code=200, body=b"<p>x" * 1_000_000) for _ in range(4)]
    parser, options = PageParser(Limits(), lambda: 0.0), ParseOptions.of(CrawlConfig("c"))
    tracemalloc.start()
    calls = [asyncio.create_task(parser.read_ahead([page], options, None)) for page in sent]
    await asyncio.sleep(0)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert all(call.cancel() for call in calls)  # none had ended
    assert held < len(sent[0].body)
