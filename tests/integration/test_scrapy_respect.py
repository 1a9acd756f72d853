"""Real Scrapy crawls of a site that reserves uses (docs/guides/respect.md)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from linkscore import Client
from support.crawlers import scrapy_run
from support.crawlers.page_server import serving_pages
from support.server_process import ServerProcess

FILES = {
    "/robots.txt": "User-agent: *\nContent-Signal: /closed/ ai-train=no\nAllow: /\n",
    "/.well-known/tdmrep.json": '[{"location": "/mine/", "tdm-reservation": 1}]',
}
TOPICS = ("open", "closed", "mine", "quiet")
EVERYTHING = sorted(["/", "/quiet/leaf", *(f"/{topic}/{n}" for topic in TOPICS for n in range(5))])


def body_of(path: str) -> str:
    """Return a page of four topics of five pages; one by `robots.txt`, one by `tdmrep.json` is reserved."""
    links = [each for each in EVERYTHING[1:] if each != "/quiet/leaf"] if path == "/" else []
    links += ["/quiet/leaf"] if path.startswith("/quiet/") else []
    body = FILES.get(path) or "".join(f'<p><a href="{each}">{each}</a></p>' for each in links)
    return body or f"<p>{f'what {path} is about, ' * 30}</p>"


def headers_of(path: str) -> list[tuple[str, str]]:
    """Return the headers of a page: one topic is reserved by them."""
    return [("X-Robots-Tag", name) for name in ("noai", "nofollow") if path.startswith("/quiet/")]


@pytest.fixture
def library() -> Iterator[tuple[str, list[str]]]:
    with serving_pages(body_of, headers_of) as (host, seen):
        yield f"http://{host}", seen


def crawl(base: str, target: str, **settings: Any) -> dict[str, Any]:
    run = scrapy_run.crawl(base, LINKSCORE_TARGET=target, **settings)
    assert "Traceback" not in run.log
    return run.stats


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
