"""A spider learns what the server takes a page for, and stores posts under their thread."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from support.crawlers.page_server import serving_pages
from support.fake_linkscore import FakeLinkscore, serve
from support.forked import Script

SPIDER = """
import json, sys
from scrapy import Spider
from scrapy.crawler import CrawlerProcess
from linkscore.scrapy import page_note

class Posts(Spider):
    name = "posts"
    start_urls = [sys.argv[1] + "/home"]
    found = []

    async def parse(self, response):
        note = await page_note(response)
        kept = response.meta.get("linkscore", {})
        self.found.append([response.url, note, kept.get("thread_id", ""), "ticket" in kept])
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)

process = CrawlerProcess({
    "SPIDER_MIDDLEWARES": {"linkscore.scrapy.LinkscoreMiddleware": 40},
    "LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False, "DOWNLOAD_DELAY": 0,
    "LINKSCORE_TARGET": sys.argv[2],
})
process.crawl(Posts)
process.start()
print(json.dumps(Posts.found))
"""


def body_of(path: str) -> str:
    """Return a page of a site of one thread with two pages."""
    links = {"/home": ["/thread/1"], "/thread/1": ["/thread/1?page=2"]}.get(path, [])
    return "".join(f'<a href="{href}">x</a>' for href in links)


@pytest.fixture
def site() -> Iterator[str]:
    with serving_pages(body_of) as (host, _):
        yield f"http://{host}"


@pytest.fixture
def fake() -> Iterator[FakeLinkscore]:
    yield from serve(FakeLinkscore({"thread": 0.9}))


def crawl(site: str, target: str) -> list[list[object]]:
    code, out, log = Script(SPIDER, site, target).finish()
    assert (code, "Traceback" in log) == (0, False), log
    found: list[list[object]] = json.loads(out.splitlines()[-1])
    return found


def test_a_callback_waits_for_type_and_thread_of_its_page(site: str, fake: FakeLinkscore) -> None:
    thread = f"{site}/thread/1"
    told = {"page_type": "thread", "thread_id": thread}
    assert crawl(site, f"127.0.0.1:{fake.port}") == [
        [f"{site}/home", {}, "", False],
        [thread, told, thread, True],
        [f"{thread}?page=2", told, thread, True],
    ]
