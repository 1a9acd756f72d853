"""A real CrawlSpider loads the exported module and obeys it, without linkscore."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscore_scoring.exporters import SiteRules, TagPathRule, scrapy
from linkscore_scoring.types import UrlRule
from support.crawlers.page_server import serving_pages
from support.forked import Script

SPIDER = """
import json, sys
sys.path.insert(0, sys.argv[1])
import linkscore_rules
from scrapy.crawler import CrawlerProcess
from scrapy.spiders import CrawlSpider

class Frozen(CrawlSpider):
    name = "frozen"
    start_urls = linkscore_rules.START_URLS
    allowed_domains = linkscore_rules.ALLOWED_DOMAINS
    rules = linkscore_rules.RULES
    threads = []

    def parse_thread(self, response):
        self.threads.append(response.url)

    parse_page = parse_thread

process = CrawlerProcess({"LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False, "DOWNLOAD_DELAY": 0})
process.crawl(Frozen)
process.start()
print(json.dumps(Frozen.threads))
"""


def body_of(path: str) -> str:
    """Return a page of a forum of 3 boards with 2 pages and 4 threads each."""
    nav = '<nav><a href="/login?back=%2F">in</a><a href="/member/1">me</a><a href="/">home</a></nav>'
    kind, _, number = path.strip("/").partition("?")[0].partition("/")
    if kind == "":
        links = [("topic", f"/board/{n}") for n in range(3)]
    elif kind == "board":
        page = 4 * ("page=2" in path)
        links = [("topic", f"/thread/{int(number) * 10 + page + n}?sid=x{number}") for n in range(4)]
        links += [("flip", f"/board/{number}?page=2")]
    else:
        links = [("quote", f"/post/{number}1"), ("flip", f"/{kind}/{number}?print=1")]
    items = "".join(f'<li><a class="{name}" href="{url}">x</a></li>' for name, url in links)
    return f"<html><body>{nav}<ul>{items}</ul></body></html>"


@pytest.fixture
def site() -> Iterator[tuple[str, list[str]]]:
    """Address of the site, and the paths it was asked for."""
    with serving_pages(body_of) as served:
        yield served


def crawl(folder: Path, rules: SiteRules) -> list[str]:
    """Export, crawl, and return the pages the callback saw."""
    file = scrapy(rules)
    (folder / file.name).write_text(file.text)
    code, out, log = Script(SPIDER, str(folder)).finish()
    assert (code, "ERROR" in log) == (0, False), log
    seen: list[str] = json.loads(out.splitlines()[-1])
    return seen


def test_what_the_url_rules_allow_is_fetched_and_nothing_else(
    tmp_path: Path, site: tuple[str, list[str]]
) -> None:
    host, asked = site
    escaped = host.replace(".", r"\.")
    rules = SiteRules(
        crawl="c",
        host=host,
        policy="p",
        seeds=(f"http://{host}/",),
        rules=(
            UrlRule("index", rf"^https?://{escaped}/board/\d+$"),
            UrlRule("index_flip", rf"^https?://{escaped}/board/\d+\?page=\d+$"),
            UrlRule("thread", rf"^https?://{escaped}/thread/\d+(?:\?sid=\w+)?$"),
        ),
    )
    threads = crawl(tmp_path, rules)
    expected_threads = {f"/thread/{b * 10 + n}?sid=x{b}" for b in range(3) for n in range(8)}
    boards = {f"/board/{b}" for b in range(3)} | {f"/board/{b}?page=2" for b in range(3)}
    assert sorted(asked) == sorted({"/"} | boards | expected_threads), "each once"
    assert {url.removeprefix(f"http://{host}") for url in threads} == expected_threads


def test_without_url_rules_it_goes_by_tag_paths(tmp_path: Path, site: tuple[str, list[str]]) -> None:
    host, asked = site
    topics = TagPathRule("html/body/ul/li/a[topic]", "c1", "c2", 0.9, 0.8, 30)
    rules = SiteRules(crawl="c", host=host, policy="p", seeds=(f"http://{host}/",), tag_paths=(topics,))
    crawl(tmp_path, rules)
    boards = {f"/board/{b}" for b in range(3)}
    threads = {f"/thread/{b * 10 + n}?sid=x{b}" for b in range(3) for n in range(4)}
    assert sorted(asked) == sorted({"/"} | boards | threads)
