"""Pages that are due are among the start requests of a spider, and ask the site whether they changed."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.http import HtmlResponse, Response, XmlResponse
from scrapy.settings import Settings

from linkscore.scrapy.config import Config
from linkscore.scrapy.middleware import Revisits
from linkscore.scrapy.session import MAX_BODY_BYTES, page_message
from linkscore.v1 import link_scoring_service_pb2 as pb


class Asked:
    """A session whose server has so many pages that are due."""

    def __init__(self, pages: list[pb.DuePage], most: int = 100) -> None:
        self.config = SimpleNamespace(crawl="c", due_pages=most)
        self.pages, self.counted = pages, 0
        self.failures: list[Exception] = []
        self.met = self.failures.append

    def count(self, name: str) -> None:
        self.counted += name == "revisits"

    async def call(self, make: Any) -> Any:
        return await make(self)

    async def rank_revisits(self, crawl: str, max_results: int) -> pb.RankRevisitsResponse:
        return pb.RankRevisitsResponse(pages=self.pages[:max_results])


async def requests(session: Any, *start: Any, spider: Any = None) -> list[Any]:
    async def given() -> AsyncIterator[Any]:
        for each in start:
            yield each

    crawler = SimpleNamespace(spider=spider)
    return [each async for each in Revisits(crawler, session).after(given())]


def due(*paths: str, **said: str) -> list[pb.DuePage]:
    return [pb.DuePage(url=f"http://h/{path}", **said) for path in paths]


async def test_what_is_due_comes_after_the_start_requests_and_asks_for_changes() -> None:
    session = Asked(due("a", "b", etag='"1"', last_modified="Sat, 01 Jan 2022 00:00:00 GMT"))
    first, *others = await requests(session, Request("http://h/"))
    assert (first.url, dict(first.headers)) == ("http://h/", {})
    assert [each.url for each in others] == ["http://h/a", "http://h/b"]
    assert all(each.dont_filter for each in others)
    assert others[0].headers["If-None-Match"] == b'"1"'
    assert others[0].headers["If-Modified-Since"] == b"Sat, 01 Jan 2022 00:00:00 GMT"
    assert session.counted == 2


async def test_a_start_request_that_is_due_is_made_once_and_keeps_what_it_had() -> None:
    session = Asked(due("", "b", etag='"1"'))
    start = Request("http://h/", cb_kwargs={"x": 1}, headers={"If-None-Match": '"mine"'})
    found = await requests(session, start, {"an": "item"})
    assert [getattr(each, "url", each) for each in found] == ["http://h/", {"an": "item"}, "http://h/b"]
    assert found[0].cb_kwargs == {"x": 1}
    assert found[0].headers["If-None-Match"] == b'"mine"'


async def test_a_spider_can_make_the_requests_itself() -> None:
    spider = SimpleNamespace(revisit_request=lambda url: Request(url, meta={"kind": "item"}))
    [found] = await requests(Asked(due("a")), spider=spider)
    assert (found.meta["kind"], found.dont_filter) == ("item", True)


async def test_what_is_no_url_is_passed_over() -> None:
    session = Asked([pb.DuePage(url="http://[bad/"), pb.DuePage(url=""), *due("a")])
    assert [each.url for each in await requests(session)] == ["http://h/a"]
    assert len(session.failures) == 2


async def test_no_more_are_asked_for_than_a_run_may_get() -> None:
    session = Asked(due(*"abcdefgh"), most=5)
    assert len(await requests(session)) == 5


@pytest.mark.parametrize("kind", [Response, HtmlResponse, XmlResponse])
def test_a_page_that_is_not_modified_says_so_without_content(kind: type[Response]) -> None:
    response = kind("http://h/", 304, request=Request("http://h/"))
    page = page_message(response)
    assert page.not_modified
    assert page.WhichOneof("content") is None


@pytest.mark.parametrize(
    ("given", "revisit", "pages"),
    [
        ({"LINKSCORE_REVISIT": {"fetches_per_day": 40}}, {"fetches_per_day": 40}, 40),
        ({"LINKSCORE_REVISIT": {"fetches_per_day": 9e9}}, {"fetches_per_day": 9e9}, 100_000),
        ({"LINKSCORE_REVISIT": {"objective": 1}}, {"objective": 1}, 100),
        (
            {"LINKSCORE_REVISIT": {"fetches_per_day": 40}, "LINKSCORE_REVISIT_PAGES": "7"},
            {"fetches_per_day": 40},
            7,
        ),
        ({}, None, 0),
    ],
)
def test_settings_are_read(given: dict[str, Any], revisit: dict[str, Any] | None, pages: int) -> None:
    config = Config.from_settings(Settings(given), spider_name="s")
    assert (config.revisit, config.due_pages) == (revisit, pages)
    assert ("revisit" in config.crawl_options()) == (revisit is not None)


@pytest.mark.parametrize(("body", "is_whole"), [(b"<urlset>", True), (b"<html>", False)])
def test_a_long_sitemap_is_packed_and_a_long_page_is_cut(body: bytes, is_whole: bool) -> None:
    response = XmlResponse("http://h/s", body=body.ljust(MAX_BODY_BYTES + 1), request=Request("http://h/s"))
    sent = page_message(response, listings=True).body
    assert len(sent) <= MAX_BODY_BYTES
    assert (gzip.decompress(sent) == response.body) if is_whole else (sent == response.body[:-1])
