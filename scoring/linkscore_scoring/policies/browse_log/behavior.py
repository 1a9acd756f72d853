"""What people visit (Liu 2011): `behavior_fetch` orders by the visits to expect of a page,
`behavior_discovery` by those that a page passes on to others."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from linkscore_scoring.browse_logs.behavior import UNKNOWN_PAGE, BehaviorModel, Place
from linkscore_scoring.browse_logs.patterns import text_of
from linkscore_scoring.columns import squash
from linkscore_scoring.hashing import hash64
from linkscore_scoring.policies.base import Explanation, Scored, Scores, Term
from linkscore_scoring.policies.with_fallback import FallbackParams, WithFallback
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import LinkBatch

_STEPS = 2
"""Steps of an octave: worths within half an octave share a place, and so a queue. Chosen, not measured."""

_MOST_STEPS = 60
"""A bound: steps away from the mean of the pattern, 30 octaves, so that places have at most two digits."""

_LEAST = 1e-9
"""A bound: visits a day that count as none, so that logarithms exist."""


class BehaviorOrder(WithFallback):
    """Score links by visits a day, expected of the URL itself or of its pattern.

    Own bucket: 16 digits that name the pattern, and steps away from the mean of its pages.
    """

    Params = FallbackParams
    reads_logs = True
    measure: ClassVar[str]  # field of `PatternStats` that is the mean

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self._named: tuple[BehaviorModel, list[str], dict[str, int]] | None = None

    @abstractmethod
    def worth(self, place: Place, model: BehaviorModel) -> float:
        """Return the visits a day that a URL is worth."""

    @abstractmethod
    def meaning(self, place: Place, model: BehaviorModel) -> str:
        """Say in words what the worth of a URL comes from."""

    def is_ready(self, site: SiteModel) -> bool:
        """Say whether a browse log of the site was mined."""
        return _model_of(site) is not None

    def score_own(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by the value of each link's place."""
        places = self.own_buckets(links, site)
        return Scored(self.value_own(places, site), places)

    def own_buckets(self, links: LinkBatch, site: SiteModel) -> list[str]:
        """Return pattern and step of each link; empty without a log."""
        model = _model_of(site)
        if model is None:
            return [""] * len(links)
        names, means = self.names(model), getattr(model.stats, self.measure)
        buckets = []
        for place in model.places(links.urls, links.keys):
            share = max(self.worth(place, model), _LEAST) / max(means[place.node], _LEAST)
            step = max(-_MOST_STEPS, min(_MOST_STEPS, round(_STEPS * math.log2(share))))
            buckets.append(f"{names[place.node]}{step:+d}")
        return buckets

    def value_own(self, places: Sequence[str], site: SiteModel) -> Scores:
        """Return the value of places, (n_places,)."""
        model = _model_of(site)
        assert model is not None
        values = {place: self._value(place, model) for place in dict.fromkeys(places)}
        return np.array([values[place] for place in places], dtype=np.float64)

    def explain_own(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the pattern of each link and what it is worth."""
        model = _model_of(site)
        assert model is not None
        return [self._explained(place, model) for place in model.places(links.urls, links.keys)]

    def describe(self, site: SiteModel) -> str:
        """Say how many patterns it goes by, or that there is no log."""
        model = _model_of(site)
        if model is None:
            return "no browse log of this site was mined"
        patterns, pages = len(model.leaves()), int(model.stats.sizes[0])
        return f"{patterns} URL patterns of {pages:,} pages, by {model.n_days} days of browse log"

    def names(self, model: BehaviorModel) -> list[str]:
        """Return the names of the nodes of a model, which a pattern keeps from log to log."""
        return self._index(model)[1]

    def _index(self, model: BehaviorModel) -> tuple[BehaviorModel, list[str], dict[str, int]]:
        if self._named is None or self._named[0] is not model:
            patterns = [repr(sorted(model.pattern(node).items())) for node in range(len(model.tree))]
            names = [f"{hash64(pattern):016x}" for pattern in patterns]
            self._named = model, names, {name: node for node, name in enumerate(names)}
        return self._named

    def _value(self, place: str, model: BehaviorModel) -> float:
        nodes, name, step = self._index(model)[2], place[:16], place[16:]
        known = name in nodes and step[1:].isascii() and step[1:].isdecimal() and len(step) <= 3
        mean = max(getattr(model.stats, self.measure)[nodes[name] if known else 0], _LEAST)
        return squash(mean * 2.0 ** (int(step) / _STEPS) if known else mean)

    def _explained(self, place: Place, model: BehaviorModel) -> Explanation:
        stats, text = model.stats, text_of(model.pattern(place.node))
        terms = [
            Term("worth", self.worth(place, model), self.meaning(place, model)),
            Term("pages", float(stats.sizes[place.node]), f"pages like {text} in the log"),
            Term("visits", float(stats.visits[place.node]), "visits of these"),
        ]
        fits = "like" if place.covered else "fits no pattern, nearest to"
        return Explanation(f"{fits} {text}: {terms[0].value:.2g} {terms[0].description}", terms)


class BehaviorFetch(BehaviorOrder):
    """Order links by the visits a day that their pages will have, as the browse log of the site tells.

    Choose it to fetch what people look at with as few fetches as possible, on sites with browse logs. A page
    of the log is worth its recent visits; another one what newcomers of its URL pattern had, or, if its URL
    has a number beyond all of the log (thread 1204 after 1203), what pages had that were born within the log.
    Without a log of the site the fallback scores.

    Shapes: n links in, (n,) float64 out. Cost: O(keys of the URL) a link, some 40 us. References: Liu, Cai,
    Zhang and Zhang 2011, User browsing behavior-driven web crawling, CIKM, sections 3 and 4. Differences from
    the paper, whose order of patterns is measured in research: URLs have evidence of their own beside that of
    their pattern, recent visits count more, and growing numbers tell new pages.

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
    >>> BehaviorFetch(FallbackParams()).score(links, site).scores.round(2).tolist()
    [0.81, 0.86, 0.86, 0.5]

    `behavior_discovery` goes to the list first, where people find most:

    >>> BehaviorDiscovery(FallbackParams()).score(links, site).scores.round(2).tolist()
    [0.69, 0.81, 0.69, 0.69]
    """

    name = "behavior_fetch"
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


class BehaviorDiscovery(BehaviorOrder):
    """Order links by what visiting their pages discovers, in visits a day, as the browse log tells.

    Choose it to find new pages early with few visits, on sites with browse logs: it goes to the lists from
    which people reach pages that nothing else shows. Without a log of the site the fallback scores.

    Shapes: n links in, (n,) float64 out. Cost: O(keys of the URL) a link.
    References: Liu, Cai, Zhang and Zhang 2011, User browsing behavior-driven web crawling, CIKM, section 4.
    Differences from the paper, whose order of patterns is measured in research: patterns are taken greedily
    by what they show that better ones do not, and pages of the log have evidence of their own.
    """

    name = "behavior_discovery"
    measure = "gain"

    def worth(self, place: Place, model: BehaviorModel) -> float:
        """Return the visits a day that visiting a URL discovers."""
        return model.gain(place)

    def meaning(self, place: Place, model: BehaviorModel) -> str:
        """Say what the gain is."""
        return "visits a day of pages that people reach from it and better ones do not show"


def _model_of(site: SiteModel) -> BehaviorModel | None:
    return mined.behavior if (mined := site.browse) is not None else None
