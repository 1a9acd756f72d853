"""Real Scrapy crawls of a site that reserves uses (docs/guides/respect.md)."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from linkscore import Client
from support.server_process import ServerProcess, serving

CRAWL = """
import json, sys
from scrapy import Spider
from scrapy.crawler import CrawlerProcess

base, settings = sys.argv[1], json.loads(sys.argv[2])

class Site(Spider):
    name = "site"
    start_urls = [base + "/"]

    def parse(self, response):
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)

process = CrawlerProcess({
    "SPIDER_MIDDLEWARES": {"linkscore.scrapy.LinkscoreMiddleware": 40},
    "SCHEDULER_PRIORITY_QUEUE": "linkscore.scrapy.BucketQueue",
    "LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False, "LINKSCORE_TIMEOUT": 5, **settings,
})
crawler = process.create_crawler(Site)
process.crawl(crawler)
process.start()
stats = crawler.stats.get_stats()
print(json.dumps({k: v for k, v in stats.items() if isinstance(v, (int, float, str))}))
"""
FILES = {
    "/robots.txt": "User-agent: *\nContent-Signal: /closed/ ai-train=no\nAllow: /\n",
    "/.well-known/tdmrep.json": '[{"location": "/mine/", "tdm-reservation": 1}]',
}
TOPICS = ("open", "closed", "mine", "quiet")
EVERYTHING = sorted(["/", "/quiet/leaf", *(f"/{topic}/{n}" for topic in TOPICS for n in range(5))])


class Library(BaseHTTPRequestHandler):
    """Four topics of five pages; one by `robots.txt`, one by `tdmrep.json`, one by headers reserved."""

    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(self.path)
        links = [path for path in EVERYTHING[1:] if path != "/quiet/leaf"] if self.path == "/" else []
        links += ["/quiet/leaf"] if self.path.startswith("/quiet/") else []
        body = FILES.get(self.path) or "".join(f'<p><a href="{path}">{path}</a></p>' for path in links)
        body = body or f"<p>{f'what {self.path} is about, ' * 30}</p>"
        self.send_response(200)
        self.send_header("Content-Type", "text/plain" if self.path in FILES else "text/html")
        self.send_header("Content-Length", str(len(body)))
        if self.path.startswith("/quiet/"):
            self.send_header("X-Robots-Tag", "noai")
            self.send_header("X-Robots-Tag", "nofollow")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def library() -> Iterator[tuple[str, list[str]]]:
    seen: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Seen", (Library,), {"seen": seen})) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{site.server_port}", seen
        site.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving(tmp_path_factory.mktemp("respect")) as running:
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


@pytest.mark.parametrize("obey", [False, True])
def test_what_a_site_reserves_is_not_fetched(
    library: tuple[str, list[str]], server: ServerProcess, obey: bool
) -> None:
    base, seen = library
    name = f"respect-{obey}".lower()
    settings = {"LINKSCORE_CRAWL": name, "LINKSCORE_RESPECT": ["ai-train"], "ROBOTSTXT_OBEY": obey}
    stats = crawl(base, server.target, **settings)
    allowed = ["/", *FILES, *(f"/{topic}/{n}" for topic in ("open", "quiet") for n in range(5))]
    assert sorted(seen) == sorted(allowed)  # each once
    assert (stats["linkscore/skipped"], stats["linkscore/reserved"]) == (10 + 5, 5)
    with Client(server.target) as client:
        assert client.get_crawl(crawl=name).page_count == len(allowed) - len(FILES)


def test_a_crawl_that_respects_nothing_asks_for_no_file_and_fetches_everything(
    library: tuple[str, list[str]], server: ServerProcess
) -> None:
    base, seen = library
    stats = crawl(base, server.target, LINKSCORE_CRAWL="none", ROBOTSTXT_OBEY=False)
    assert sorted(seen) == EVERYTHING
    assert not {"linkscore/skipped", "linkscore/reserved"} & stats.keys()
