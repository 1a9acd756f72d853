"""FoCUS: follow the way from the entry of a forum over its indexes to its threads (Jiang 2013)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_scoring.errors import FieldProblem, NotFound, reading_state
from linkscore_scoring.policies.answers import FOLLOW, NO_VERDICT, SKIP, Explanation, Scored, Scores, Term
from linkscore_scoring.policies.composite import FallbackParams, WithFallback
from linkscore_scoring.policies.focus.certainty import certainty
from linkscore_scoring.policies.focus.forum_model import EitModel, SeenPage
from linkscore_scoring.policies.focus.links import known_identity
from linkscore_scoring.policies.focus.page_types import PageType, load_page_types
from linkscore_scoring.policies.focus.requests import seeds, wanted
from linkscore_scoring.policies.focus.votes import ANY, UNDECIDED, Shares
from linkscore_scoring.policies.params import outside
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import (
    INDEX,
    OTHER,
    PAGE_FLIP,
    THREAD,
    LinkBatch,
    PageObservation,
    SeedWanted,
    Suggestion,
    UrlRule,
)

_VALUES = {THREAD: 0.9, PAGE_FLIP: 0.8, INDEX: 0.6, UNDECIDED: 0.4, OTHER: 0.02}
_VERDICTS = {UNDECIDED: NO_VERDICT, OTHER: SKIP}
_WORDS = {
    THREAD: "leads to threads",
    PAGE_FLIP: "turns pages of an index or a thread",
    INDEX: "leads to indexes",
    UNDECIDED: "nobody knows yet where it leads; it stands on an index page and is tried",
    OTHER: "is not on the way from the entry over indexes to threads",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FocusParams(FallbackParams):
    """Parameters of `focus`.

    Attributes
    ----------
    page_types
        Site whose pages the page-type classifier must not have been trained on; empty: trained on all.
    dry_pages
        Index pages of one URL pattern in a row without a thread nobody knew, after which the rest of the
        pattern is skipped (page flips never are); [0, 1e6], 0: never, as in the paper.
    """

    page_types: str = ""
    dry_pages: int = 0

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field that names nothing there is."""
        yield from super(FocusParams, self).problems()
        yield from outside("dry_pages", self.dry_pages, 0, 1_000_000)
        try:
            load_page_types(self.page_types)
        except NotFound as exc:
            yield FieldProblem("page_types", str(exc))


class Focus(WithFallback):
    """Follow index, thread and page-flip URLs of a forum, Q&A site or blog; skip the rest.

    Every page gets a type from its layout; what pages turned out to be is voted to the links that led there,
    pooled by URL pattern and Apath (`learners.eit.votes`); from the entry over indexes, the patterns of
    threads are reached (`eit.paths`), and regular expressions learned of them (`eit.expressions`). Score:
    threads 0.9, page flips 0.8, indexes 0.6, what stands on an index and was never tried 0.4, off the way
    0.02; verdict FOLLOW for the first three, SKIP for the last. Bucket = ``<pattern>.<Apath>.<type by
    expression>~<bucket of the fallback>``. Until the way is certain, and on sites without one, the fallback
    scores. Choose it for forums, Q&A sites and blogs when only their threads are wanted.

    Shapes: n links in, (n,) float64 out. Cost: O(links) a page; a review of the votes every page at first,
    then after 5 % more pages. References: Jiang, Song, Yu and Lin, FoCUS: learning to crawl web forums, TKDE
    25(6), 2013. Differences from the paper: nothing is fetched for learning, pages come in any order and
    every one votes; votes are pooled over pages and never freeze; several groups of a page lead on; page
    flips are told from one page; a pattern whose pages stop to be what they were is learned anew.
    """

    name = "focus"
    Params = FocusParams
    reads_templates = False
    reads_layout = True

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.types = load_page_types(params.page_types)
        self.model = EitModel()

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Let the page vote, and the fallback learn."""
        super().observe(page, site)
        self.model.take_bounds(site.bounds)
        if page.failed:
            self.model.fail(page, site)
        else:
            self.model.observe(page, SeenPage(self.shares(page), page.page_links), site)

    def shares(self, page: PageObservation) -> Shares:
        """Return how probable it is that a page is an index, a thread, or neither; zeros without layout."""
        if page.layout is None or not page.layout.signals:
            return 0.0, 0.0, 0.0
        _, margins = self.types.classify(page.layout.signals)
        index, thread = (
            side.probability(margin)
            for side, margin in zip((self.types.index, self.types.thread), margins, strict=True)
        )
        shares = index * (1 - thread), thread * (1 - index), (1 - index) * (1 - thread)
        whole = sum(shares)
        return shares[0] / whole, shares[1] / whole, shares[2] / whole

    def is_ready(self, site: SiteModel) -> bool:
        """Say whether the way to threads is certain."""
        return certainty(self.model).ready

    def describe(self, site: SiteModel) -> str:
        """Say what was found of the way, and what is missing."""
        return certainty(self.model).text

    def score_own(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by type of URL."""
        places = self.own_buckets(links, site)
        known = {place: (self._type(place), self._is_dry(place)) for place in dict.fromkeys(places)}
        rows = [known[place] for place in places]
        scores = np.array([_value(*row) for row in rows], dtype=np.float64)
        verdicts = [SKIP if dry else _VERDICTS.get(kind, FOLLOW) for kind, dry in rows]
        return Scored(scores, places, verdicts, [kind for kind, _ in rows])

    def own_buckets(self, links: LinkBatch, site: SiteModel) -> list[str]:
        """Return URL pattern, folded Apath and type by expression of each link."""
        match = self.model.expressions.match
        fits = {url: match(known_identity(url)) for url in dict.fromkeys(links.urls)}
        return [f"{p}.{apath:x}.{fits[url]}" for p, apath, _, url in self.model.link_rows(links, site)]

    def value_own(self, places: Sequence[str], site: SiteModel) -> Scores:
        """Return what the types of places are worth by today's votes."""
        values = {place: _value(self._type(place), self._is_dry(place)) for place in dict.fromkeys(places)}
        return np.array([values[place] for place in places], dtype=np.float64)

    def explain_own(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the type of the URL, its pattern, and the votes behind it."""
        rows = zip(self.own_buckets(links, site), self.model.link_rows(links, site), strict=True)
        return [self._explanation(self._type(place), row[0], row[1]) for place, row in rows]

    @property
    def relearned(self) -> int:
        """URL patterns that were learned anew because their pages stopped to be what they were."""
        return self.model.relearned

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return the learned expressions, once the way is certain."""
        return self.model.expressions.rules() if self.is_ready(site) else []

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        """Return the entry, then what else may be it."""
        return seeds(self.model, n)

    def suggest_fetches(self, n: int, site: SiteModel) -> list[Suggestion]:
        """Ask for what may be the entry, and for links of index pages that nobody tried."""
        return wanted(self.model, n, site)

    def thread_of(self, page: PageObservation, site: SiteModel) -> str:
        """Return the identity of the first page of a thread page's thread."""
        return self.model.thread_of(page)

    def page_type_of(self, page: PageObservation, site: SiteModel) -> int:
        """Return the type by the votes for the page's URL pattern, else by its own layout."""
        if page.failed:
            return 0
        if self.model.is_entry(page):
            return int(PageType.ENTRY)
        judged = self.model.votes.judge(self.model.pattern_of(page.requested_url or page.url), ANY)
        if judged.kind != UNDECIDED and judged.prob >= 0.5:
            return int({INDEX: PageType.INDEX, THREAD: PageType.THREAD}.get(judged.kind, PageType.OTHER))
        if page.layout is None or not page.layout.signals:
            return 0
        return int(self.types.classify(page.layout.signals)[0])

    def _type(self, place: str) -> int:
        pattern, apath, fits = _parts(place)
        return self.model.type_of(pattern, apath, fits)

    def _is_dry(self, place: str) -> bool:
        """Say whether a place leads to indexes that show nothing new any more."""
        pattern, apath, fits = _parts(place)
        dry = self.model.is_exhausted(pattern, self.params.dry_pages)
        return dry and self.model.type_of(pattern, apath, fits) == INDEX

    def _explanation(self, kind: int, pattern: int, apath: int) -> Explanation:
        judged = self.model.votes.judge(pattern, apath)
        name = self.model.patterns.text(pattern) or "any URL"
        return Explanation(
            f"{name} {_WORDS[kind]}",
            [
                Term("probability", judged.prob, "of the likeliest kind of page behind such links"),
                Term("votes", judged.support, "pages behind such links and beside them that voted"),
            ],
        )

    def to_state(self) -> dict[str, Any]:
        """Return the votes and all that follows, and what the fallback knows."""
        return {**super().to_state(), "model": self.model.to_state()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the state of `to_state`."""
        with reading_state(self.name):
            self.model.load_state(state["model"])
        super().load_state(state)


def _value(kind: int, dry: bool) -> float:
    return _VALUES[OTHER if dry else kind]


def _parts(place: str) -> tuple[int, int, int]:
    """Return URL pattern, Apath and type by expression of a place; those of no link for a strange one."""
    pieces = place.split(".")
    try:
        pattern, apath, fits = int(pieces[0][:10]), int(pieces[1][:17], 16), int(pieces[2][:2])
    except (ValueError, IndexError):
        return 0, ANY, 0
    return pattern, apath, fits if fits in (INDEX, THREAD, PAGE_FLIP) else 0
