"""FoCUS: follow the way from the entry of a forum over its indexes to its threads (Jiang 2013)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from math import exp
from typing import Any

import msgspec
import numpy as np

from linkscore_scoring.columns import left_sum
from linkscore_scoring.errors import FieldProblem, NotFound
from linkscore_scoring.policies.answers import PageNote
from linkscore_scoring.policies.base import (
    FOLLOW,
    NO_VERDICT,
    SKIP,
    Explanation,
    Scored,
    Scores,
    Term,
    within,
)
from linkscore_scoring.policies.focus.forum_model import EntryCandidate, ForumModel, certainty
from linkscore_scoring.policies.focus.paths import ANY, UNDECIDED, Shares
from linkscore_scoring.policies.with_fallback import FallbackParams, WithFallback
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import (
    ENTRY_PAGE,
    INDEX,
    INDEX_PAGE,
    OTHER,
    OTHER_PAGE,
    PAGE_FLIP,
    THREAD,
    THREAD_PAGE,
    LinkBatch,
    PageObservation,
    SeedWanted,
    UrlRule,
)
from linkscore_scoring.urls.identity import known_identity

MAX_DEVIATIONS = 4.0
"""Standard deviations that signals are clipped at, in training and use; chosen, not measured."""

_MAX_LOG_ODDS = 30.0  # beyond it probabilities are 0 or 1 to the last digit


class LinearSide(msgspec.Struct, frozen=True):
    """One classifier of the pair: weights of the standardised signals, bias, and Platt's slope and offset."""

    weights: list[float]
    bias: float
    slope: float
    offset: float

    def probability(self, margin: float) -> float:
        """Return the calibrated probability that a page of this margin is of the kind, (0, 1)."""
        return 1 / (1 + exp(-max(-_MAX_LOG_ODDS, min(_MAX_LOG_ODDS, self.slope * margin + self.offset))))


class PageTypeModel(msgspec.Struct, frozen=True):
    """Tells index pages and thread pages from their layout; both positive: the larger margin, none: other.

    Jiang, Song, Yu and Lin 2013 (FoCUS), section 4.3.1: two linear SVMs over the same features.
    """

    mean: list[float]
    scale: list[float]
    index: LinearSide
    thread: LinearSide

    def classify(self, signals: Sequence[float]) -> tuple[int, tuple[float, float]]:
        """Return the kind of page of `features.layout.SIGNALS`, and the margins for index and for thread."""
        if len(signals) != len(self.mean):
            return OTHER_PAGE, (0.0, 0.0)
        row = np.clip((np.asarray(signals) - self.mean) / self.scale, -MAX_DEVIATIONS, MAX_DEVIATIONS)
        index, thread = (float(row @ side.weights) + side.bias for side in (self.index, self.thread))
        kind = INDEX_PAGE if index >= thread else THREAD_PAGE
        return kind if max(index, thread) > 0 else OTHER_PAGE, (index, thread)


class _Models(msgspec.Struct):
    all: PageTypeModel
    without: dict[str, PageTypeModel]


_MODELS = msgspec.json.Decoder(_Models)


def load_page_types(without: str = "") -> PageTypeModel:
    """Return the model of the package: trained on all annotated sites, or on all but the one named."""
    found = _models().without.get(without) if without else _models().all
    if found is None:
        known = ", ".join(variants())
        raise NotFound(f"page_types: must be empty or one of {known}, got {without!r:.100}")
    return found


def variants() -> list[str]:
    """Return the sites that a model was trained without, sorted."""
    return sorted(_models().without)


@lru_cache(maxsize=1)
def _models() -> _Models:
    data = resources.files(__package__).joinpath("page_types.json").read_bytes()
    return _MODELS.decode(data)


# Scores by type of URL, in [0, 1]: only their order matters to a crawler. Threads before what leads to them,
# page links before indexes as they lead to threads nobody knows; chosen (docs/guides/forums.md).
_VALUES = {THREAD: 0.9, PAGE_FLIP: 0.8, UNDECIDED: 0.4, OTHER: 0.02}
# Indexes lie between what nobody knows and page flips: those that show the most new threads come first.
_INDEX_LEAST, _INDEX_SPAN = 0.5, 0.25
_VERDICTS = {UNDECIDED: NO_VERDICT, OTHER: SKIP}
_WORDS = {
    THREAD: "leads to threads",
    PAGE_FLIP: "turns pages of an index or a thread",
    INDEX: "leads to indexes",
    UNDECIDED: "nobody knows yet where it leads; it is on an index page and is tried",
    OTHER: "is not on the way from the entry over indexes to threads",
}


_MAJORITY = 0.5  # probability from which the votes for a pattern tell the type of its pages

# Values of seeds, in [0, 1]: only their order matters. Chosen.
_UNSURE_ENTRY, _OTHER_SEED = 0.5, 0.25  # an entry that is not certain; the best candidate beside it


@dataclass(frozen=True, slots=True, kw_only=True)
class FocusParams(FallbackParams):
    """Parameters of `focus`."""

    # site whose pages the page-type classifier must not have been trained on; empty: trained on all
    page_types: str = ""
    # index pages of one URL pattern in a row without a thread nobody knew, after which the rest of the
    # pattern is skipped (page flips never are); [0, 1e6], 0: never, as in the paper. Default 20, chosen
    # before it was measured
    dry_pages: int = within(20, 0, 1_000_000)

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field that names nothing there is."""
        yield from super(FocusParams, self).problems()
        try:
            load_page_types(self.page_types)
        except NotFound as exc:
            yield FieldProblem("page_types", str(exc))


class Focus(WithFallback):
    """Follow index, thread and page-flip URLs of a forum, Q&A site or commented blog; skip the rest.

    Every page gets a type from its layout; what pages turned out to be is voted to the links that led there,
    pooled by URL pattern and link path; from the entry over indexes, the patterns of
    threads are reached (`paths`), and regular expressions learned of them (`Expressions`). Score:
    threads 0.9, page flips 0.8, indexes 0.5 to 0.75 by how many threads nobody knew their pages show, what
    stands on an index and was never tried 0.4, off the way 0.02; verdict FOLLOW for the first three, SKIP for
    the last, and for indexes that show nothing new any more. Bucket = ``<pattern>.<link path>.<type by
    expression>~<bucket of the fallback>``. Until the way is certain, and on sites without one, the fallback
    scores. Choose it for forums, Q&A sites and blogs whose posts have comments, when only their threads are
    wanted.

    Shapes: n links in, (n,) float64 out. Cost: O(links) a page; a review of the votes every page at first,
    then after 5 % more pages. References: Jiang, Song, Yu and Lin, FoCUS: learning to crawl web forums, TKDE
    25(6), 2013. Differences from the paper: nothing is fetched for learning, pages come in any order and
    every one votes; votes are pooled over pages and never freeze; several groups of a page lead on; page
    flips are told from one page; indexes that show the most new threads come first, and those that show
    none end.

    Examples
    --------
    Before any page the policy abstains, and says what is missing:

    >>> from linkscore_scoring.engine.config import PolicyChoice
    >>> from linkscore_scoring.testing.crawl import SimulatedCrawl, crawl_model
    >>> from linkscore_scoring.testing.crawl import GeneratedSite
    >>> crawl = SimulatedCrawl(crawl_model(PolicyChoice("focus")), GeneratedSite(seed=1)).fetch(1)
    >>> shard = crawl.model.sites["site.example"]
    >>> shard.served.is_ready(shard.model)
    False
    >>> shard.served.describe(shard.model).partition(";")[0]
    'abstains, no forum so far: page layouts are known of 0 of 1 pages'
    """

    name = "focus"
    Params = FocusParams
    reads_templates = False
    reads_layout = True

    model: Stored[ForumModel]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.types = load_page_types(params.page_types)
        self.model = ForumModel()

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Let the page vote, and the fallback learn."""
        super().observe(page, site)
        self.model.votes.max_nodes = 3 * site.bounds.arms
        self.model.links.max_patterns, self.model.threads.max_pages = site.bounds.arms, site.bounds.links
        if page.failed:
            self.model.fail(page, site)
        else:
            self.model.observe(page, self.shares(page), page.page_links, site)

    def shares(self, page: PageObservation) -> Shares:
        """Return how probable it is that a page is an index, a thread, or neither; zeros without layout."""
        if not page.layout:
            return 0.0, 0.0, 0.0
        _, margins = self.types.classify(page.layout)
        index, thread = (
            side.probability(margin)
            for side, margin in zip((self.types.index, self.types.thread), margins, strict=True)
        )
        shares = index * (1 - thread), thread * (1 - index), (1 - index) * (1 - thread)
        whole = left_sum(shares)
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
        known = self._valued(places)
        rows = [known[place] for place in places]
        scores = np.array([value for _, value, _ in rows], dtype=np.float64)
        verdicts = [SKIP if dry else _VERDICTS.get(kind, FOLLOW) for kind, _, dry in rows]
        return Scored(scores, places, verdicts, [kind for kind, _, _ in rows])

    def own_buckets(self, links: LinkBatch, site: SiteModel) -> list[str]:
        """Return URL pattern, folded link path and type by expression of each link."""
        match = self.model.expressions.match
        fits = {url: match(known_identity(url)) for url in dict.fromkeys(links.urls)}
        return [
            f"{p}.{link_path:x}.{fits[url]}" for p, link_path, _, url in self.model.link_rows(links, site)
        ]

    def value_own(self, places: Sequence[str], site: SiteModel) -> Scores:
        """Return what the types of places are worth by today's votes."""
        known = self._valued(places)
        return np.array([known[place][1] for place in places], dtype=np.float64)

    def explain_own(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the type of the URL, its pattern, and the votes behind it."""
        rows = zip(self.own_buckets(links, site), self.model.link_rows(links, site), strict=True)
        return [self._explanation(place, row[0], row[1]) for place, row in rows]

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return the learned expressions, once the way is certain."""
        return self.model.expressions.found if self.is_ready(site) else []

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        """Return the entry, then what else may be it."""
        model, found = self.model, []
        if model.entry is not None:
            shown = model.n_index(model.entry.groups)
            value = 1.0 if model.certainty.ready else _UNSURE_ENTRY
            found.append(SeedWanted(model.entry.url, f"entry: links to {shown} index URLs", value))
        others = (c for c in model.entries.candidates() if model.entry is None or c.url != model.entry.url)
        for place, candidate in enumerate(others):
            found.append(SeedWanted(candidate.url, _reason(candidate, model), _OTHER_SEED / (1.0 + place)))
        return found[:n]

    def page_note(self, page: PageObservation, site: SiteModel) -> PageNote:
        """Return the type of a page, and the identity of the first page of its thread."""
        return PageNote(self.model.thread_of(page), self._type_of(page))

    def _type_of(self, page: PageObservation) -> int:
        """Return the type by the votes for the page's URL pattern, else by its own layout."""
        if page.failed:
            return 0
        if self.model.is_entry(page):
            return ENTRY_PAGE
        estimate = self.model.votes.estimate(self.model.pattern_of(page.requested_url or page.url), ANY)
        if estimate.kind != UNDECIDED and estimate.prob >= _MAJORITY:
            return {INDEX: INDEX_PAGE, THREAD: THREAD_PAGE}.get(estimate.kind, OTHER_PAGE)
        return self.types.classify(page.layout)[0] if page.layout else 0

    def _valued(self, places: Sequence[str]) -> dict[str, tuple[int, float, bool]]:
        """Return type, value and whether it shows nothing new any more of each place; O(places + indexes)."""
        distinct = list(dict.fromkeys(places))
        rates = self.model.news_of(_parts(place)[0] for place in distinct)
        found = {}
        for place, rate in zip(distinct, rates, strict=True):
            kind, dry = self._type(place)
            value = _INDEX_LEAST + _INDEX_SPAN * rate / (1.0 + rate) if kind == INDEX else _VALUES[kind]
            found[place] = kind, _VALUES[OTHER] if dry else value, dry
        return found

    def _type(self, place: str) -> tuple[int, bool]:
        """Return the type of a place, and whether it leads to indexes that show nothing new any more."""
        pattern, link_path, fits = _parts(place)
        kind = self.model.type_of(pattern, link_path, fits)
        dry = self.model.dry.get(self.model.patterns.resolve(pattern), 0)
        return kind, kind == INDEX and dry >= self.params.dry_pages > 0

    def _explanation(self, place: str, pattern: int, link_path: int) -> Explanation:
        kind, is_dry = self._type(place)
        dry = ", which show nothing new any more" if is_dry else ""
        estimate = self.model.votes.estimate(pattern, link_path)
        name = self.model.patterns.text(pattern) or "any URL"
        return Explanation(
            f"{name} {_WORDS[kind]}{dry}",
            [
                Term("probability", estimate.prob, "of the likeliest kind of page behind such links"),
                Term("votes", estimate.support, "pages behind such links and beside them that voted"),
            ],
        )


_PLACE = re.compile(r"([0-9]{1,10})\.([0-9a-f]{1,16})\.([0-3])")


def _parts(place: str) -> tuple[int, int, int]:
    """Return URL pattern, link path and type by expression of a place; those of no link for a strange one."""
    found = _PLACE.fullmatch(place)
    return (int(found[1]), int(found[2], 16), int(found[3])) if found else (0, ANY, 0)


def _reason(candidate: EntryCandidate, model: ForumModel) -> str:
    if not candidate.linked:
        return "may be the entry: root, folder or forum part of the first URL"
    return f"may be the entry: {candidate.linked} of {model.entries.pages} pages link to it"
