"""A policy that has everything to say about `small_site`, for tests of what carries it out."""

from __future__ import annotations

import re

from linkscore_scoring.policies.answers import PageNote
from linkscore_scoring.policies.base import Scored
from linkscore_scoring.policies.baselines import BreadthFirst
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import (
    INDEX,
    INDEX_PAGE,
    OTHER,
    OTHER_PAGE,
    THREAD,
    THREAD_PAGE,
    LinkBatch,
    PageObservation,
    SeedWanted,
    UrlRule,
)
from support.small_site import ROOT

RULES = [
    UrlRule("index", r"^https?://forum\.test/board/\d+$", 0.9, 30, 31, f"{ROOT}/board/0"),
    UrlRule("thread", r"^https?://forum\.test/thread/\d+$", 0.6, 200, 210, f"{ROOT}/thread/1"),
]
_URL_TYPES = {"board": INDEX, "thread": THREAD}
_PAGE_TYPES = {"board": INDEX_PAGE, "thread": THREAD_PAGE}


class Ruled(BreadthFirst):
    """Boards are indexes, threads are threads, every thread has one page."""

    name = "toy_ruled"

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        scored = super().score(links, site)
        scored.url_types = [_URL_TYPES.get(_kind(url), OTHER) for url in links.urls]
        return scored

    def rules(self, site: SiteModel) -> list[UrlRule]:
        return RULES

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        return [SeedWanted(f"{ROOT}/board/0", "most threads are one link away", 0.8)][:n]

    def page_note(self, page: PageObservation, site: SiteModel) -> PageNote:
        kind = _kind(page.url)
        return PageNote(
            page.url.partition("?")[0] if kind == "thread" else "", _PAGE_TYPES.get(kind, OTHER_PAGE)
        )

    def describe(self, site: SiteModel) -> str:
        return f"goes by {len(RULES)} expressions"


def _kind(url: str) -> str:
    found = re.match(rf"{re.escape(ROOT)}/(\w+)", url)
    return found[1] if found else ""
