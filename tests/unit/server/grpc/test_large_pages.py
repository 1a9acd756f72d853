"""Large pages are read in a process of their own, within a budget of CPU time."""

from __future__ import annotations

import asyncio
import gzip
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import brotli
import pytest

from linkscore.v1 import common_pb2 as common
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import Limits
from linkscore_server.grpc.convert.large_pages import LARGE_BYTES, LARGE_TAGS, LargePages, PageBody
from linkscore_server.grpc.convert.pages import PageParser

URL = "http://a.test/b"
LARGE = b"<title>t</title>" + b"<p>some text that is long enough<a href='/x'>x</a></p>" * 6_000
ENDLESS = Limits(body_bytes=60_000_000, elements=100_000_000, links=10_000_000, path_nodes=10_000_000)


def page(body: bytes, *, encoding: str = "", kind: str = "text/html") -> PageBody:
    return PageBody(body, URL, kind, encoding, layout=True)


@asynccontextmanager
async def reader(limits: Limits, **options: float) -> AsyncIterator[LargePages]:
    pages = LargePages(limits, **options)
    try:
        yield pages
    finally:
        pages.close()


@pytest.mark.parametrize(
    ("given", "is_large"),
    [
        (page(b"<p>x" * LARGE_TAGS), False),
        (page(b"<p>x" * (LARGE_TAGS + 1)), True),
        (page(b"<p>" + b"x" * LARGE_BYTES), True),
        (page(b"%PDF-" + b"x" * LARGE_BYTES, kind=""), False),
        (page(gzip.compress(b"<p>x" * 100_000), encoding="gzip"), True),
        (page(gzip.compress(bytes(9_000_000))), True),
        (page(brotli.compress(bytes(9_000_000)), encoding="br"), True),
        (page(gzip.compress(b"<p>x"), encoding="gzip"), False),
        (page(b"no gzip" * 100_000, encoding="zip"), False),
    ],
)
def test_a_page_is_large_by_its_decoded_bytes_and_its_tags(given: PageBody, is_large: bool) -> None:
    assert LargePages(Limits()).takes(given) is is_large


def test_a_large_page_has_the_features_it_would_have_anywhere() -> None:
    async def read() -> None:
        async with reader(Limits()) as pages:
            assert await pages.read(page(LARGE)) == extract(LARGE, url=URL, layout=True)

    asyncio.run(read())


def test_what_is_wrong_with_a_large_page_is_said_as_of_others() -> None:
    async def read() -> None:
        async with reader(Limits(body_bytes=1_000)) as pages:
            with pytest.raises(InvalidPage) as caught:
                await pages.read(page(LARGE))
            assert [(p.field, p.reason) for p in caught.value.problems] == [("body", "BODY_TOO_LARGE")]

    asyncio.run(read())


@pytest.mark.skipif(sys.platform == "win32", reason="CPU time of a process is bounded by POSIX")
def test_a_page_over_its_cpu_time_is_refused_and_the_next_is_read() -> None:
    async def read() -> None:
        async with reader(ENDLESS, budget_s=0.2) as pages:
            distinct = b"".join(b"<p class=a%d>x" % n for n in range(800_000))  # each tag is read anew
            endless = asyncio.create_task(pages.read(page(distinct)))
            after = asyncio.create_task(pages.read(page(b"<p>x")))
            with pytest.raises(InvalidPage, match="CPU time") as caught:
                await endless
            assert caught.value.reason == "LIMIT_EXCEEDED"
            assert (await after).text_chars == 1

    asyncio.run(read())


def test_only_large_pages_that_came_are_read_before_their_turn() -> None:
    parser = PageParser(Limits(), lambda: 1e9)

    async def read() -> None:
        try:
            for small in (
                common.Page(url=URL, body=b"<p>x"),
                common.Page(url=URL, body=LARGE, status_code=404),
                common.Page(url=URL, body=LARGE, fetch_error="reset"),
                common.Page(url=URL, extracted=common.ExtractedPage()),
            ):
                assert await parser.read_large(small) is None
            with pytest.raises(InvalidPage, match="event_id"):
                await parser.read_large(common.Page(url=URL, body=LARGE, event_id="x" * 1_000))
            large = common.Page(url="http://a.test/", final_url=URL, body=LARGE)
            own = await parser.read_large(large)
            assert own is not None
            event = parser.event(large, lambda _: "a.test", own=own)
            assert event.features is own
            assert event == parser.event(large, lambda _: "a.test")
        finally:
            parser.close()

    asyncio.run(read())
