"""Real Scrapy crawls with a budget (docs/guides/budgets.md): they end at the very fetch, and lose nothing."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from linkscore import Client
from support.server_process import ServerProcess, serving

CRAWL = """
import json, sys
from scrapy import Spider
from scrapy.crawler import CrawlerProcess

base, settings = sys.argv[1], json.loads(sys.argv[2])
if "PATIENCE_S" in settings:
    from linkscore import connection

    connection.PATIENCE_S = settings.pop("PATIENCE_S")

class Site(Spider):
    name = "site"
    start_urls = [base + path for path in settings.pop("starts", ["/"])]

    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)

process = CrawlerProcess({
    "SPIDER_MIDDLEWARES": {"linkscore.scrapy.LinkscoreMiddleware": 40},
    "SCHEDULER_PRIORITY_QUEUE": "linkscore.scrapy.BucketQueue",
    "LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False, "ROBOTSTXT_OBEY": False,
    "CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 16, "LINKSCORE_TIMEOUT": 5, **settings,
})
crawler = process.create_crawler(Site)
process.crawl(crawler)
process.start()
stats = crawler.stats.get_stats()
print(json.dumps({k: v for k, v in stats.items() if isinstance(v, (int, float, str))}))
"""
at: dict[int, Callable[[], object]] = {}
"""What happens before the fetch of a number is answered."""


class Shop(BaseHTTPRequestHandler):
    """Sixty items on six lists, and a calendar without end."""

    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(self.path)
        at.pop(len(self.seen), int)()
        kind, _, number = self.path.strip("/").partition("/")
        n = int(number or 0)
        body = {
            "": "".join(f'<li><a href="/list/{i}">l</a></li>' for i in range(6)) + '<a href="/week/1">w</a>',
            "list": "".join(f'<h3><a href="/item/{i}">i</a></h3>' for i in range(10 * n, 10 * n + 10)),
            "item": f"<p>{f'what item {n} is, ' * 30}</p>",
            "week": f'<table><tr><td><a href="/week/{n + 1}">next</a></table>',
        }.get(kind, "").encode()
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def shop() -> Iterator[tuple[str, list[str]]]:
    seen: list[str] = []
    at.clear()
    handler = type("Seen", (Shop,), {"seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{site.server_port}", seen
        site.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(tmp_path_factory.mktemp("budget")) as running:
        yield running


def crawl(base: str, target: str, **settings: Any) -> dict[str, Any]:
    given = json.dumps({"LINKSCORE_TARGET": target, **settings})
    done = subprocess.run(
        [sys.executable, "-c", CRAWL, base, given], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    stats: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return stats


def test_a_crawl_ends_at_its_last_fetch_with_many_in_flight(
    shop: tuple[str, list[str]], server: ServerProcess
) -> None:
    base, seen = shop
    stats = crawl(base, server.target, LINKSCORE_CRAWL="last", LINKSCORE_BUDGET={"max_fetches": 30})
    assert (len(seen), stats["finish_reason"]) == (30, "linkscore_budget")
    with Client(server.target) as client:
        assert client.get_crawl(crawl="last").page_count == 30


def test_what_waited_goes_on_with_more_budget(
    shop: tuple[str, list[str]], server: ServerProcess, tmp_path: Path
) -> None:
    base, seen = shop
    job = {"LINKSCORE_CRAWL": "more", "JOBDIR": str(tmp_path / "job")}
    crawl(base, server.target, LINKSCORE_BUDGET={"max_site_fetches": 20}, **job)
    first = len(seen)
    assert first < 20 + 16
    crawl(base, server.target, LINKSCORE_BUDGET={"max_fetches": 60}, **job)
    assert len(seen) == 60
    assert sorted(path for path in set(seen) if seen.count(path) > 1) == ["/"]  # the start, as Scrapy does
    with Client(server.target) as client:
        assert client.get_crawl(crawl="more").page_count == 60


@pytest.mark.parametrize("path", ["/item/", "/no-such-thing/"])
def test_more_starts_than_the_budget_allows_are_not_all_begun(
    shop: tuple[str, list[str]], server: ServerProcess, path: str
) -> None:
    base, seen = shop
    starts = [f"{path}{n}" for n in range(40)]
    stats = crawl(
        base,
        server.target,
        LINKSCORE_CRAWL=f"starts-{path[1]}",
        LINKSCORE_BUDGET={"max_fetches": 5},
        starts=starts,
    )
    assert (len(seen), stats["finish_reason"]) == (5, "linkscore_budget")


def test_a_crawl_whose_server_never_comes_back_ends_at_its_last_fetch(
    shop: tuple[str, list[str]], tmp_path: Path
) -> None:
    base, seen = shop
    with serving(tmp_path) as running:
        at[40] = running.kill
        stats = crawl(
            base, running.target, LINKSCORE_CRAWL="c", LINKSCORE_BUDGET={"max_fetches": 60}, PATIENCE_S=0
        )
    assert (len(seen), stats["finish_reason"]) == (60, "linkscore_budget")


@pytest.mark.slow
def test_a_server_that_comes_back_gets_every_page_of_a_crawl_that_waits_for_it(
    shop: tuple[str, list[str]], tmp_path: Path
) -> None:
    base, seen = shop
    with contextlib.ExitStack() as stack:
        running = stack.enter_context(serving(tmp_path))
        at[40] = running.kill
        at[60] = lambda: stack.enter_context(serving(tmp_path, "--listen", running.target))
        stats = crawl(base, running.target, LINKSCORE_CRAWL="c", LINKSCORE_BUDGET={"max_fetches": 60})
        assert (len(seen), stats["finish_reason"]) == (60, "linkscore_budget")
        with Client(running.target) as client:
            assert client.get_crawl(crawl="c").page_count == 60
