"""Fetch first what people will visit most (Liu 2011), and the base shared with `behavior_discovery`."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linkscore_scoring.browse_logs.behavior import (
    CUTS,
    FETCH,
    TRANSIT,
    UNKNOWN_PAGE,
    BehaviorModel,
    BehaviorSettings,
    Place,
    worth_by,
)
from linkscore_scoring.browse_logs.patterns import regex_of, text_of
from linkscore_scoring.columns import squash
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.base import Explanation, Scored, Scores, Term, one_of, outside
from linkscore_scoring.policies.with_fallback import FallbackParams, WithFallback
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch, UrlRule

_STEPS = 2
"""Steps of an octave: worths within half an octave share a place, and so a queue. Chosen, not measured."""

_MOST_STEPS = 60
"""A bound: steps away from the mean of the pattern, 30 octaves, so that places have at most two digits."""

_LEAST = 1e-9
"""A bound: visits a day that count as none, so that logarithms exist."""

_RULE_PAGES = 10
"""Pages of a pattern that is handed out as an expression: as many as a pattern needs to be split further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviorParams(FallbackParams):
    """Parameters of a policy that orders by behaviour; subclasses say which rankings there are."""

    ranking: str = "graph"
    cut: str = TRANSIT  # how far the tree of URL patterns is cut when logs are mined; see `BehaviorSettings`
    threshold: float = 0.9
    by_drop: bool = False  # split the tree as the paper does
    rankings: ClassVar[tuple[str, ...]]

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        yield from FallbackParams.problems(self)
        yield from one_of("ranking", self.ranking, self.rankings)
        yield from one_of("cut", self.cut, CUTS)
        yield from outside("threshold", self.threshold, 0.0, 1.0)

    def settings(self) -> BehaviorSettings:
        """Return how browse logs are mined."""
        return BehaviorSettings(cut=self.cut, threshold=self.threshold, by_drop=self.by_drop)


class BehaviorOrder(WithFallback):
    """Score links by visits a day, expected of the URL itself or of its pattern, or by rank of the
    pattern."""

    reads_logs = True
    measure: ClassVar[str]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self._index = _Index()

    @abstractmethod
    def worth(self, place: Place, model: BehaviorModel) -> float:
        """Return the visits a day that a URL is worth."""

    @abstractmethod
    def meaning(self, place: Place, model: BehaviorModel) -> str:
        """Say in words what the worth of a URL comes from."""

    def moved(self, pattern: str) -> float:
        """Return the factor by which what was seen on the site moves the worth of a pattern."""
        return 1.0

    def mining_settings(self) -> dict[str, Any]:
        """Return how behaviour is mined."""
        return {"behavior": self.params.settings()}

    def is_ready(self, site: SiteModel) -> bool:
        """Say whether a browse log of the site was mined."""
        return model_of(site) is not None

    def score_own(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by the value of each link's place."""
        places = self.own_buckets(links, site)
        return Scored(self.value_own(places, site), places)

    def own_buckets(self, links: LinkBatch, site: SiteModel) -> list[str]:
        """Return pattern and step of each link; empty without a log."""
        model = model_of(site)
        if model is None:
            return [""] * len(links)
        index = self._index.of(model, self._ranked_by())
        return [self._name(place, model, index) for place in model.places(links.urls, links.keys)]

    def value_own(self, places: Sequence[str], site: SiteModel) -> Scores:
        """Return the value of places, (n_places,)."""
        model = model_of(site)
        assert model is not None
        index = self._index.of(model, self._ranked_by())
        values = {place: self._value(place, index) for place in dict.fromkeys(places)}
        return np.array([values[place] for place in places], dtype=np.float64)

    def explain_own(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the pattern of each link and what it is worth."""
        model = model_of(site)
        assert model is not None
        return [self._explained(place, model) for place in model.places(links.urls, links.keys)]

    def rules(self, site: SiteModel) -> list[UrlRule]:
        """Return the patterns with at least ten pages as expressions, the most worth first."""
        model = model_of(site)
        if model is None:
            return []
        index = self._index.of(model, self._ranked_by())
        total = int(model.stats.sizes[0])
        rules = [
            UrlRule(
                "behavior",
                regex_of(model.pattern(node)),
                self._value(f"{index.names[node]}+0", index),
                int(model.stats.sizes[node]),
                total,
                model.examples[node],
            )
            for node in model.leaves()
            if model.stats.sizes[node] >= _RULE_PAGES
        ]
        return sorted(rules, key=lambda rule: (-rule.confidence, rule.pattern))

    def describe(self, site: SiteModel) -> str:
        """Say how many patterns it goes by, or that there is no log."""
        model = model_of(site)
        if model is None:
            return "no browse log of this site was mined"
        patterns, pages = len(model.leaves()), int(model.stats.sizes[0])
        return f"{patterns} URL patterns of {pages:,} pages, by {model.n_days} days of browse log"

    def _ranked_by(self) -> str:
        """Return the ranking, empty for the worth of each URL."""
        return "" if self.params.ranking == self.measure else str(self.params.ranking)

    def _name(self, place: Place, model: BehaviorModel, index: _Index) -> str:
        if index.ranking:
            return f"{index.names[place.node]}+0"
        mean = max(index.means(self.measure)[place.node], _LEAST)
        step = round(_STEPS * math.log2(max(self.worth(place, model), _LEAST) / mean))
        return f"{index.names[place.node]}{max(-_MOST_STEPS, min(_MOST_STEPS, step)):+d}"

    def _value(self, place: str, index: _Index) -> float:
        name, step = place[:16], place[16:]
        known = name in index.nodes and step[1:].isascii() and step[1:].isdecimal() and len(step) <= 3
        node = index.nodes[name] if known else 0
        if index.ranking:
            return float(index.ranks[node])
        mean = max(index.means(self.measure)[node], _LEAST)
        return squash(
            mean * 2.0 ** ((int(step) if known else 0) / _STEPS) * (self.moved(name) if known else 1.0)
        )

    def _explained(self, place: Place, model: BehaviorModel) -> Explanation:
        stats, text = model.stats, text_of(model.pattern(place.node))
        terms = [
            Term("worth", self.worth(place, model), self.meaning(place, model)),
            Term("pages", float(stats.sizes[place.node]), f"pages like {text} in the log"),
            Term("visits", float(stats.visits[place.node]), "visits of these (F_in)"),
            Term("referrals", float(stats.referrals[place.node]), "visits that came from these (F_out)"),
            Term("auth", float(stats.auth[place.node]), "authority in the behaviour graph"),
            Term("hub", float(stats.hub[place.node]), "hub in the behaviour graph"),
        ]
        if (moved := self.moved(self._index.of(model, self._ranked_by()).names[place.node])) != 1.0:
            terms.append(Term("moved", moved, "factor by what the crawl found behind such links"))
        fits = "like" if place.covered else "fits no pattern, nearest to"
        return Explanation(f"{fits} {text}: {terms[0].value:.2g} {terms[0].description}", terms)


class _Index:
    """Names of the patterns of a model, and their ranks; made anew when the model is another one."""

    def __init__(self) -> None:
        self.model: BehaviorModel | None = None
        self.ranking = ""
        self.names: list[str] = []
        self.nodes: dict[str, int] = {}
        self.ranks: Scores = np.zeros(0)

    def of(self, model: BehaviorModel, ranking: str) -> _Index:
        """Return the index of a model."""
        if self.model is model:
            return self
        self.model, self.ranking = model, ranking
        self.names = [
            f"{hash64(repr(sorted(model.pattern(n).items()))):016x}" for n in range(len(model.tree))
        ]
        self.nodes = {name: node for node, name in enumerate(self.names)}
        if ranking:
            worth = worth_by(ranking, model.stats)
            leaves = np.sort(worth[model.leaves()])
            self.ranks = np.searchsorted(leaves, worth, side="right") / len(leaves)
        return self

    def means(self, measure: str) -> Scores:
        """Return what pages of each node are worth on average."""
        assert self.model is not None
        return worth_by(measure, self.model.stats)


def model_of(site: SiteModel) -> BehaviorModel | None:
    return mined.behavior if (mined := site.browse) is not None else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviorFetchParams(BehaviorParams):
    """Parameters of `behavior_fetch`.

    `cut`, `threshold`, `by_drop`: how logs are mined: see `BehaviorParams`. The policy served decides before
    others of the crawl.
    """

    # ``demand`` orders by the visits expected of each URL. Patterns alone are ordered by ``graph``, as in the
    # paper, or by its simple strategies ``volume``, ``visits`` and ``average_visits``
    ranking: str = "demand"
    rankings = FETCH


class BehaviorFetch(BehaviorOrder):
    """Order links by the visits a day that their pages will have, as the browse log of the site tells.

    Choose it to fetch what people look at with as few fetches as possible, on sites with browse logs. A page
    of the log is worth its recent visits; another one what newcomers of its URL pattern had, or, if its URL
    has a number beyond all of the log (thread 1204 after 1203), what pages had that were born within the log.
    Without a log of the site the fallback scores.

    Shapes: n links in, (n,) float64 out. Cost: O(keys of the URL) a link, some 40 us. References: Liu, Cai,
    Zhang and Zhang 2011, User browsing behavior-driven web crawling, CIKM, sections 3 and 4. Differences from
    the paper: with the default ranking URLs have evidence of their own beside that of their pattern, recent
    visits count more, and growing numbers tell new pages; ranking ``graph`` is the paper's order of patterns.

    Examples
    --------
    Visits of a day: 5 to the front page, 9 to the list of what is new, 8 from there to a thread, 1 to a
    profile:

    >>> import numpy as np
    >>> from linkscore_scoring.browse_logs import OUTSIDE, BrowseCounts, mine_site
    >>> from linkscore_scoring.hashing import hash64
    >>> from linkscore_scoring.site.learning import LearningConfig, SiteBounds
    >>> from linkscore_scoring.site.model import SiteModel
    >>> from linkscore_scoring.types import links_of_page
    >>> urls = ["http://a.org/", "http://a.org/new", "http://a.org/thread/7", "http://a.org/user/3"]
    >>> site = SiteModel("a.org", LearningConfig(), SiteBounds())
    >>> site.browse = mine_site(
    ...     BrowseCounts(
    ...         n_days=1,
    ...         urls=urls,
    ...         click_urls=np.arange(4),
    ...         click_days=np.zeros(4, dtype=int),
    ...         clicks=np.array([5, 9, 8, 1]),
    ...         from_urls=np.array([OUTSIDE, OUTSIDE, 1, 2]),
    ...         to_urls=np.arange(4),
    ...         transits=np.array([5, 9, 8, 1]),
    ...     )
    ... )
    >>> links = links_of_page(urls, list(map(hash64, urls)), [1] * 4, [0] * 4, [""] * 4, source=0, depth=1)
    >>> BehaviorFetch(BehaviorFetchParams()).score(links, site).scores.round(2).tolist()
    [0.81, 0.86, 0.86, 0.5]
    """

    name = "behavior_fetch"
    Params = BehaviorFetchParams
    measure = "demand"

    def worth(self, place: Place, model: BehaviorModel) -> float:
        """Return the visits a day expected of a URL."""
        return model.demand(place)

    def meaning(self, place: Place, model: BehaviorModel) -> str:
        """Say where the expectation comes from."""
        if place.page != UNKNOWN_PAGE and model.pages.demand[place.page] > 0.0:
            return "visits a day of the page itself, recent days first"
        if place.ahead is not None:
            return f"visits a day expected of a new page, {place.ahead:.0f} days beyond the log by its number"
        return "visits a day expected of a page that the log does not have"
