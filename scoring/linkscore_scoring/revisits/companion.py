"""Revisits as a setting of a crawl: what each of its sites learns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from linkscore_scoring.engine.limits import SentPage
from linkscore_scoring.engine.link_batches import hash_of
from linkscore_scoring.revisits.listings import FACT as DATES
from linkscore_scoring.revisits.pages import KINDS
from linkscore_scoring.revisits.site import SiteRevisits
from linkscore_scoring.revisits.structured import FACT as STRUCTURED
from linkscore_scoring.revisits.structured import structured_mark
from linkscore_scoring.revisits.titles import FACT as TITLE
from linkscore_scoring.revisits.titles import title_mark, unpacked
from linkscore_scoring.revisits.validators import FACT, Validators, read_validators
from linkscore_scoring.revisits.values import Fetched, Revisited, RevisitSettings
from linkscore_scoring.site.fetch import Fetch
from linkscore_scoring.site.learning import SiteBounds
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import State
from linkscore_scoring.types import UNKNOWN_LINK_PATH, FeedbackObservation, PageObservation, Revisit

GONE_STATUSES = (404, 410)
"""HTTP statuses of pages that are no more (RFC 9110, sections 15.5.5 and 15.5.11)."""
_KIND = "kind"
"""Name of the fact of a page, see `SiteRevisitor.read`."""
_LEAST_IMPORTANCE = 0.1
"""What a fresh copy of a page is worth that feedback says is worth nothing: it may be again. Chosen."""


class SiteRevisitor:
    """Learns from every fetch how often pages of a site change; see `SiteRevisits`."""

    def __init__(self, value: Mapping[str, Any], bounds: SiteBounds) -> None:
        self.revisits = SiteRevisits(RevisitSettings(**value), max_pages=bounds.links)

    @staticmethod
    def read(page: SentPage) -> dict[str, Any]:
        """Return the validators of an answer, marks of its page, and its kind if that is not PAGE."""
        said = read_validators(page.headers)
        found: dict[str, Any] = {FACT: list(said)} if any(said) else {}
        if page.kind in KINDS:
            found[_KIND] = page.kind
            return found
        body = unpacked(page.body, page.content_encoding)
        marks = {TITLE: title_mark(body), STRUCTURED: structured_mark(body)}
        return found | {name: mark for name, mark in marks.items() if mark}

    def configure(self, value: Mapping[str, Any]) -> None:
        """Take over another value of the setting."""
        self.revisits.configure(RevisitSettings(**value))

    def observe(self, fetch: Fetch, page: PageObservation, site: SiteModel) -> None:
        """Take in a fetch: a page, one that moved, one that is gone, or a failure."""
        self.revisits.lost(page.lost)
        features, said = fetch.features, None
        if features is None:
            requested = site.aliases.get(fetch.requested, fetch.requested)
            if fetch.status_code in GONE_STATUSES:
                said = self.revisits.gone(requested, fetch.now_s)
            else:
                said = self.revisits.failed(requested, fetch.now_s)
        else:
            if fetch.requested != fetch.key:
                self.revisits.moved(fetch.requested, fetch.now_s)  # a page of its own once; a redirect by now
            said = self.revisits.fetched(
                Fetched(
                    key=fetch.key,
                    url=fetch.url,
                    now_s=fetch.now_s,
                    link_path=_link_path(page, fetch, site),
                    pattern=page.pattern,
                    own=site.texts.owned_chars(fetch.key, features.block_hashes, features.block_chars),
                    unseen=page.unseen_chars,
                    taken=page.own_chars - page.novel_chars,
                    fresh_links=sum(page.fresh) + self._listed(fetch),
                    title=features.facts.get(TITLE, 0),
                    structured=features.facts.get(STRUCTURED, 0),
                    validators=Validators(*features.facts.get(FACT, ())),
                    kind=features.facts.get(_KIND, "page"),
                )
            )
        page.revisit = _answer(said)

    def _listed(self, fetch: Fetch) -> float:
        """Take in the dates of a sitemap or feed; return what they were worth, in fresh links."""
        dates = fetch.features.facts.get(DATES, ()) if fetch.features is not None else ()
        if not dates or len(dates) != len(fetch.link_keys):  # logs have dates of links the crawler replaced
            return 0.0
        return self.revisits.listed(zip(fetch.link_keys, dates, strict=True), fetch.now_s)

    def unchanged(self, fetch: Fetch, page: int) -> Revisit | None:
        """Take in that a page, by identity hash, is as it was."""
        return _answer(self.revisits.unchanged(page, fetch.now_s))

    def feedback(self, event: FeedbackObservation) -> None:
        """Let what extraction found say how important a fresh copy is."""
        if math.isfinite(event.reward):
            self.revisits.important(event.key, max(_LEAST_IMPORTANCE, event.reward))

    def told(self, urls: Iterable[str], time: float, site: SiteModel) -> list[int]:
        """Take in a notice: the identities of pages, and when they changed; returns `news` of each."""
        return [self.revisits.notified(_key_of(url, site), time) for url in urls]

    def news(self, urls: Iterable[str], change_s: float, site: SiteModel) -> list[int]:
        """Return what would become of a notice, by the identity of each page; changes nothing."""
        return [self.revisits.news(_key_of(url, site), change_s) for url in urls]

    def memory_bytes(self) -> int:
        """Estimate what it takes in memory."""
        return self.revisits.memory_bytes()

    def to_state(self) -> State:
        """Return what was learned."""
        return self.revisits.to_state()

    def load_state(self, state: State) -> None:
        """Take over what `to_state` returned."""
        self.revisits.load_state(state)


def _key_of(url: str, site: SiteModel) -> int:
    """Return the key of the page that a URL leads to, by its identity."""
    key = hash_of(site.sessions.strip(url))
    return site.aliases.get(key, key)


def _link_path(page: PageObservation, fetch: Fetch, site: SiteModel) -> int:
    """Return the link path that a page is counted under."""
    path = fetch.link_path
    if path == UNKNOWN_LINK_PATH and page.contexts:
        path = page.contexts[0][1]
    return path if path == UNKNOWN_LINK_PATH else site.link_paths.get(path).folded


def _answer(said: Revisited | None) -> Revisit | None:
    if said is None:
        return None
    return Revisit(said.change.share if said.is_again else None, said.rate.mean, said.next_s)
