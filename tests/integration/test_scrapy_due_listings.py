"""A sitemap that is due goes to the server and not to the spider, also after a kill."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from linkscore import Client, page
from linkscore.v1.common_pb2 import PAGE_KIND_SITEMAP
from support.crawlers.page_server import serving_pages
from support.forked import Script
from support.server_process import ServerProcess

pytestmark = pytest.mark.long

SPIDER = """
import json, sys
from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess

settings = json.loads(sys.argv[2])

class Site(Spider):
    name = "site"
    start_urls = [sys.argv[1] + "/"]

    def parse(self, response):
        print("parsed", response.url.replace(sys.argv[1], ""), flush=True)

if settings.pop("wants_listed"):
    Site.listed_request = lambda self, url: None if url.endswith("/3") else Request(url, cb_kwargs={})

process = CrawlerProcess(settings)
process.crawl(Site)
process.start()
"""
MONTH_AGO = datetime.now(UTC) - timedelta(days=30)
FILES = {
    "/": "<p>front page</p>",
    "/index.xml": "<sitemapindex><sitemap><loc>{0}/map.xml</loc></sitemap></sitemapindex>",
    "/map.xml": "<urlset>" + "".join(f"<url><loc>{{0}}/page/{n}</loc></url>" for n in range(5)) + "</urlset>",
    **{f"/page/{n}": f"<p>page {n}</p>" for n in range(5)},
}


@pytest.fixture
def site() -> Iterator[tuple[str, list[str], threading.Event]]:
    """Serves `FILES`; the front page is held back while the event is not set."""
    may_answer = threading.Event()
    may_answer.set()

    def body_of(path: str) -> str:
        if path == "/":
            may_answer.wait(500.0)
        return FILES[path].format(base)

    with serving_pages(body_of) as (host, asked):
        base = f"http://{host}"
        yield base, asked, may_answer
        may_answer.set()


def started(server: ServerProcess, base: str, crawl: str, job: Path, **more: Any) -> Script:
    settings = {
        "SPIDER_MIDDLEWARES": {"linkscore.scrapy.LinkscoreMiddleware": 40},
        "SCHEDULER_PRIORITY_QUEUE": "linkscore.scrapy.BucketQueue",
        "LINKSCORE_TARGET": server.target,
        "LINKSCORE_CRAWL": crawl,
        "LINKSCORE_REVISIT": {"objective": "REVISIT_OBJECTIVE_BOTH"},
        "JOBDIR": str(job),
        "CONCURRENT_REQUESTS": 1,
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
        "wants_listed": False,
        **more,
    }
    return Script(SPIDER, base, json.dumps(settings))


def parsed(process: Script) -> list[str]:
    code, out, log = process.finish()
    assert (code, "Traceback" in log) == (0, False), log
    return sorted(line.partition(" ")[2] for line in out.splitlines())


def know(server: ServerProcess, base: str, crawl: str, *paths: str) -> None:
    """Let the server know sitemaps since a month, and no page."""
    pages = [
        page(
            url=base + path,
            body=FILES[path].format(base).encode(),
            kind=PAGE_KIND_SITEMAP,
            fetch_time=MONTH_AGO,
        )
        for path in paths
    ]
    with Client(server.target) as client:
        client.create_crawl(crawl=crawl, revisit={"objective": "REVISIT_OBJECTIVE_BOTH"})
        client.ingest_pages(crawl=crawl, pages=pages)


def fetched(server: ServerProcess, crawl: str) -> set[str]:
    """Return the paths of pages that were fetched since."""
    with Client(server.target) as client:
        in_a_day = datetime.now(UTC) + timedelta(days=1)
        due = client.rank_revisits(crawl=crawl, now=in_a_day).pages
    return {
        "/" + each.url.split("/", 3)[3] for each in due if each.last_fetch_time.ToDatetime(UTC) > MONTH_AGO
    }


def test_what_a_sitemap_names_is_followed_only_if_the_spider_wants_it(
    server: ServerProcess, site: tuple[str, list[str], threading.Event], tmp_path: Path
) -> None:
    base, asked, _ = site
    know(server, base, "wanted", "/index.xml")
    assert parsed(started(server, base, "wanted", tmp_path / "a")) == ["/"]
    assert sorted(asked) == ["/", "/index.xml", "/map.xml"]
    assert fetched(server, "wanted") == {"/", "/index.xml", "/map.xml"}
    know(server, base, "more", "/map.xml")
    pages = [f"/page/{n}" for n in (0, 1, 2, 4)]
    assert parsed(started(server, base, "more", tmp_path / "b", wants_listed=True)) == ["/", *pages]
    assert fetched(server, "more") == {"/", "/map.xml", *pages}


def test_what_is_due_and_named_is_fetched_once_and_a_page_in_place_of_a_sitemap_is_not_parsed(
    server: ServerProcess,
    site: tuple[str, list[str], threading.Event],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    base, asked, _ = site
    know(server, base, "both", "/index.xml", "/map.xml")
    monkeypatch.setitem(FILES, "/map.xml", "<p>It moved.</p><a href='/page/1'>one</a>")
    assert parsed(started(server, base, "both", tmp_path, wants_listed=True)) == ["/"]
    assert sorted(asked) == ["/", "/index.xml", "/map.xml"]
    assert fetched(server, "both") == {"/", "/index.xml", "/map.xml"}


def waits_on_disk(job: Path, path: str) -> bool:
    """Say whether a request waits in a job directory."""
    return any(path.encode() in file.read_bytes() for file in job.rglob("*") if file.is_file())


@pytest.mark.parametrize(
    ("how", "due"),
    [
        pytest.param(signal.SIGTERM, 0, id="it_waits_in_the_job_directory"),
        pytest.param(signal.SIGKILL, 100, id="it_is_asked_for_again"),
    ],
)
def test_after_a_kill_a_sitemap_goes_to_the_server(
    server: ServerProcess,
    site: tuple[str, list[str], threading.Event],
    tmp_path: Path,
    how: signal.Signals,
    due: int,
) -> None:
    base, asked, may_answer = site
    know(server, base, how.name.lower(), "/index.xml")
    may_answer.clear()
    process = started(server, base, how.name.lower(), tmp_path, LOG_LEVEL="INFO")
    until = time.monotonic() + 500.0
    while asked != ["/"] or not waits_on_disk(tmp_path, "/index.xml"):
        assert time.monotonic() < until, asked
        time.sleep(0.05)
    process.send_signal(how)
    while process.runs and "Received SIGTERM" not in process.log.read_text():  # until it knows, or is gone
        time.sleep(0.05)
    may_answer.set()
    process.finish()
    assert asked == ["/"]
    again = started(server, base, how.name.lower(), tmp_path, LINKSCORE_REVISIT_PAGES=due)
    assert set(parsed(again)) <= {"/"}
    assert {"/index.xml", "/map.xml"} <= set(asked)
    assert {"/index.xml", "/map.xml"} <= fetched(server, how.name.lower())
