"""Revisits behind a crawl that sees what a site answered: pages, 304 and 404, not the truth."""

from __future__ import annotations

from typing import cast

from linkscore_research.revisits.git_site import GitSite
from linkscore_research.revisits.replay import START_S, Schedule
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.features.html import extract
from linkscore_scoring.revisits.revisitor import SiteRevisitor
from linkscore_scoring.revisits.values import DAY_S
from linkscore_scoring.types import SentPage
from linkscore_scoring.urls.identity import host_of, identity

_LONGEST_S = 1e11
"""Some 3,000 years, more than any history: no page is fetched only because it waited long."""


class Crawled(Schedule):
    """Ranks the pages of a site by what a crawl learned of them.

    Requests are conditional: a file that is as it was fetched last is answered by 304.
    """

    def __init__(self, site: GitSite, objective: str = "both") -> None:
        revisit = {"objective": objective, "least_s": 1.0, "longest_s": _LONGEST_S}
        self._model = CrawlModel(CrawlConfig("history", revisit=revisit), ticket_key=bytes(32))
        self._site, self._copies, self._seq = site, dict[int, str](), 0
        self._host = host_of(site.pages[0].url)

    def first(self, row: int, group: int, day: float) -> None:
        self._fetch(row, day)

    def again(self, row: int, day: float, *, changed: bool, links: int, gone: bool) -> None:
        """See `Schedule`; what is so is found out by the fetch."""
        self._fetch(row, day)

    def best(self, day: float, n: int) -> list[int]:
        revisits = cast("SiteRevisitor", self._model.shard(self._host).revisitor)
        rows = (self._site.row_of(due.url) for due in revisits.rank(START_S + day * DAY_S, n))
        return [row for row in rows if row >= 0]

    def _fetch(self, row: int, day: float) -> None:
        url, name = self._site.pages[row].url, self._site.pages[row].version(day)
        status, features = 404, None
        if name and name == self._copies.get(row):
            status = 304
        elif name:
            body = self._site.body(name)
            status, features = 200, extract(body, url=url)
            features.facts |= SiteRevisitor.read(SentPage(len(body), url, body=body))
        self._copies[row] = name
        self._seq += 1
        now_s, event_id = START_S + day * DAY_S, str(self._seq)
        self._model.apply(
            self._seq,
            PageFetched(event_id, self._host, url, identity(url), status, "", b"", now_s, features),
        )
