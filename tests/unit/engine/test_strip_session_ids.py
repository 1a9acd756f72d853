"""A site that gives every link a new session id has as many pages as without."""

from __future__ import annotations

import hashlib

from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.features.types import PageFeatures
from linkscore_scoring.testing.crawl import page_of
from linkscore_scoring.urls.identity import identity
from support.recorded_crawls import fetched, model

ROOT, THREADS = "http://h", 12


def with_session(path: str, fetch: int) -> str:
    session = hashlib.md5(str(fetch).encode()).hexdigest()
    return f"{ROOT}{path}?sid={session}" if "?" not in path else f"{ROOT}{path}&sid={session}"


def forum_page(path: str, fetch: int, *, sessions: bool = True) -> PageFeatures:
    """Return a page of a board: links to each thread, to the next one and to the start."""
    paths = ["/", "/board?f=1", *(f"/thread?t={n}" for n in range(THREADS))]
    urls = [with_session(p, fetch) if sessions else f"{ROOT}{p}" for p in paths]
    own = with_session(path, fetch - 1) if sessions and fetch > 1 else f"{ROOT}{path}"
    return page_of(own, ["html/body/p/text()"], links=[(url, "html/body/a") for url in urls])


def crawled(paths: list[str], *, sessions: bool = True) -> CrawlModel:
    crawl = model()
    for n, path in enumerate(paths, start=1):
        page = forum_page(path, n, sessions=sessions)
        crawl.apply(n, fetched(page.url, page, requested=identity(page.url)))
    return crawl


PATHS = ["/", "/board?f=1", *(f"/thread?t={n}" for n in range(6)), "/thread?t=0", "/thread?t=1"]


def test_pages_with_session_ids_are_known_again():
    site = crawled(PATHS).sites["h"].model
    plain = crawled(PATHS, sessions=False).sites["h"].model
    assert site.sessions.names() == ["sid"]
    assert plain.sessions.names() == []
    assert len(plain.memory) == THREADS + 2
    assert len(site.memory) == THREADS + 2 + 2 * (THREADS + 2)  # what came before the name was known stays


def test_every_link_is_answered_and_policies_see_it_without_session():
    crawl = crawled(PATHS)
    page = forum_page("/thread?t=3", 40)
    outcome = crawl.apply(40, fetched(page.url, page, requested=identity(page.url)))
    assert len(outcome.links.scores) == len(page.links.urls)
    assert all("sid=" in url for url in page.links.urls)
    assert not [url for url in outcome.observation.links.urls if "sid=" in url]
    urls = [with_session("/thread?t=4", n) for n in (50, 51)]
    found = CrawlQueries(crawl).score_links(urls, [identity(url) for url in urls], [b"", b""], ["", ""])
    assert found.scores[0] == found.scores[1]
