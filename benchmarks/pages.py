"""Input of the benchmarks: pages of stored sites in the order a breadth-first crawler meets them.

Stored sites are ``NAME.warc.gz`` in a folder; where there is none, the demonstration site is rendered.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from linkscore.v1 import common_pb2
from linkscore_lab.datasets.demo_site import DemoSite
from linkscore_lab.replay.prepare import SiteSource, StoredSite, prepare_generated, prepare_site
from linkscore_scoring.hashing import hash64

SITES = ("forum_phpbb", "qa_q2a", "wiki_x3", "blog_wordpress")


class Page(NamedTuple):
    """A page as fetched."""

    url: str
    content_type: str
    body: bytes


class Corpus:
    """The first pages of each site of a folder, read once.

    Parameters
    ----------
    folder
        Where the archives are.
    """

    def __init__(self, folder: Path) -> None:
        found = [name for name in SITES if (folder / f"{name}.warc.gz").exists()]
        self.folder = folder
        self.names = found or ["demo_site"]
        self._crawls: dict[str, Iterator[Page]] = {}
        self._pages: dict[str, list[Page]] = {name: [] for name in self.names}

    def pages(self, name: str, n: int) -> list[Page]:
        """Return the first `n` pages of a site in crawl order, fewer if it is smaller."""
        crawl = self._crawls.get(name)
        if crawl is None:
            crawl = self._crawls[name] = _crawl(self._site(name))
        known = self._pages[name]
        known.extend(islice(crawl, max(0, n - len(known))))
        return known[:n]

    def _site(self, name: str) -> StoredSite:
        if name == "demo_site":
            return prepare_generated(DemoSite())
        return prepare_site([SiteSource([self.folder / f"{name}.warc.gz"])])


def message(page: Page) -> common_pb2.Page:
    """Return a page as a client sends it, with an event id."""
    return common_pb2.Page(
        event_id=f"{hash64(page.url):016x}",
        url=page.url,
        status_code=200,
        content_type=page.content_type,
        body=page.body,
    )


def _crawl(site: StoredSite) -> Iterator[Page]:
    for number in site.reachable():
        record = site.records[number]
        if record.status == 200 and "html" in record.content_type:
            yield Page(record.url, record.content_type, site.body(number))
