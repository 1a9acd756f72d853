"""Large pages are read in a process of their own, within a budget of CPU time."""

from __future__ import annotations

import asyncio
import gzip
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import brotli
import pytest

from linkscore.v1 import common_pb2 as common
from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.types import Limits
from linkscore_server.services.long_pages import (
    LARGE_BYTES,
    LARGE_TAGS,
    LargePages,
    PageBody,
    is_large,
)
from linkscore_server.services.pages import PageParser, ParseOptions
from support.grpc_calls import Context

URL = "http://a.test/b"
LARGE = b"<title>t</title>" + b"<p>some text that is long enough<a href='/x'>x</a></p>" * 6_000
ENDLESS = Limits(body_bytes=60_000_000, elements=100_000_000, links=10_000_000, path_nodes=10_000_000)


def page(body: bytes, *, encoding: str = "", kind: str = "text/html", layout: bool = True) -> PageBody:
    return PageBody(body, URL, kind, encoding, layout)


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
    assert is_large(given) is large


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


async def both_ways(sent: common.Page) -> bool:
    """Return whether a page is read ahead; its event is the same either way."""
    parser, plain = PageParser(Limits(), lambda: 1e9), ParseOptions()
    try:
        [ahead] = await parser.read_ahead([sent], plain, Context())
        if isinstance(ahead, Exception):
            raise ahead
        event = parser.event(sent, lambda _: "a.test", plain, ahead)
        assert event == parser.event(sent, lambda _: "a.test", plain)
        assert ahead is None or event.features is ahead
        return ahead is not None
    finally:
        parser.close()


SITEMAP = b"<urlset>" + b"<url><loc>http://a.test/1</loc></url>" * 3_000 + b"</urlset>"


@pytest.mark.parametrize(
    ("fields", "is_ahead"),
    [
        ({"body": b"<p>x"}, False),
        ({"body": LARGE, "status_code": 404}, False),
        ({"body": LARGE, "fetch_error": "reset"}, False),
        ({"extracted": common.ExtractedPage()}, False),
        ({"body": LARGE, "final_url": "http://a.test/c"}, True),
        ({"body": SITEMAP, "kind": common.PAGE_KIND_SITEMAP}, True),
        ({"body": gzip.compress(SITEMAP), "kind": common.PAGE_KIND_SITEMAP}, True),
        ({"body": b"<rss/>", "kind": common.PAGE_KIND_FEED}, False),
    ],
)
def test_pages_that_take_long_are_read_before_their_turn_where_that_spares_others(
    fields: dict[str, Any], is_ahead: bool
) -> None:
    sent = common.Page(url=URL, content_type="text/html", **fields)
    assert asyncio.run(both_ways(sent)) is is_ahead


def test_what_is_wrong_with_a_large_page_is_said_before_it_is_read() -> None:
    with pytest.raises(InvalidPage, match="event_id"):
        asyncio.run(both_ways(common.Page(url=URL, body=LARGE, event_id="x" * 1_000)))
