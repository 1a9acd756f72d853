"""Revisits as a setting of a crawl: what each of its sites learns from every fetch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from linkscore_scoring.hashing import hash_of
from linkscore_scoring.revisits.changes import (
    STRUCTURED,
    TITLE,
    VALIDATORS,
    Validators,
    read_validators,
    structured_mark,
    title_mark,
    unpacked,
)
from linkscore_scoring.revisits.listings import FACT as DATES
from linkscore_scoring.revisits.pages import KINDS
from linkscore_scoring.revisits.site import SiteRevisits
from linkscore_scoring.revisits.values import Fetched, Revisited, RevisitSettings
from linkscore_scoring.site.learning import SiteBounds
from linkscore_scoring.site.model import Fetch, SiteModel
from linkscore_scoring.types import FeedbackObservation, PageObservation, Revisit, SentPage

GONE_STATUSES = (404, 410)
"""HTTP statuses of pages that are no more (RFC 9110, sections 15.5.5 and 15.5.11)."""
_KIND = "kind"
"""Name of the fact of a page, see `SiteRevisitor.read`."""
_LEAST_IMPORTANCE = 0.1
"""What a fresh copy of a page is worth that feedback says is worth nothing: it may be again. Chosen."""


class SiteRevisitor(SiteRevisits):
    """Learns from every fetch of a crawl how often pages of a site change."""

    def __init__(self, value: Mapping[str, Any], bounds: SiteBounds) -> None:
        super().__init__(RevisitSettings(**value), max_pages=bounds.links)

    @staticmethod
    def read(page: SentPage) -> dict[str, Any]:
        """Return the validators of an answer, marks of its page, and its kind if that is not PAGE."""
        said = read_validators(page.headers)
        found: dict[str, Any] = {VALIDATORS: list(said)} if any(said) else {}
        if page.kind in KINDS:
            found[_KIND] = page.kind
            return found
        body = unpacked(page.body, page.content_encoding)
        marks = {TITLE: title_mark(body), STRUCTURED: structured_mark(body)}
        return found | {name: mark for name, mark in marks.items() if mark}

    def observe(self, fetch: Fetch, page: PageObservation, site: SiteModel) -> None:
        """Take in a fetch: a page, one that moved, one that is gone, or a failure."""
        self.lost(page.lost)
        features = fetch.features
        if features is None:
            requested = site.aliases.get(fetch.requested, fetch.requested)
            is_moved = 300 <= fetch.status_code < 400
            take = (
                self.gone if fetch.status_code in GONE_STATUSES else self.moved if is_moved else self.failed
            )
            page.revisit = answer_of(take(requested, fetch.now_s))
            return
        if fetch.requested != fetch.key:
            self.moved(fetch.requested, fetch.now_s)  # a page of its own once; a redirect by now
        said = Fetched(
            key=fetch.key,
            url=fetch.url,
            now_s=fetch.now_s,
            own=site.texts.owned_chars(fetch.key, features.block_hashes, features.block_chars),
            unseen=page.unseen_chars,
            taken=page.own_chars - page.novel_chars,
            fresh_links=sum(page.fresh) + self._dates_of(fetch),
            title=features.facts.get(TITLE, 0),
            structured=features.facts.get(STRUCTURED, 0),
            validators=Validators(*features.facts.get(VALIDATORS, ())),
            kind=features.facts.get(_KIND, "page"),
        )
        page.revisit = answer_of(self.fetched(said))

    def _dates_of(self, fetch: Fetch) -> float:
        """Take in the dates of a sitemap or feed; return what they were worth, in fresh links."""
        dates = fetch.features.facts.get(DATES, ()) if fetch.features is not None else ()
        if not dates or len(dates) != len(fetch.link_keys):  # logs have dates of links the crawler replaced
            return 0.0
        return self.listed(zip(fetch.link_keys, dates, strict=True), fetch.now_s)

    def feedback(self, event: FeedbackObservation) -> None:
        """Let what extraction found say how important a fresh copy is."""
        if math.isfinite(event.reward):
            self.important(event.key, max(_LEAST_IMPORTANCE, event.reward))


def key_of(url: str, site: SiteModel) -> int:
    """Return the key of the page that a URL leads to, by its identity."""
    key = hash_of(site.sessions.strip(url))
    return site.aliases.get(key, key)


def answer_of(said: Revisited | None) -> Revisit | None:
    """Return what a fetch says of its page, as a caller hears it."""
    if said is None:
        return None
    return Revisit(said.change.share if said.is_again else None, said.rate.mean, said.next_s)
