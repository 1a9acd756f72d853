"""Visit first what leads people to most pages, by the browse logs of the site (Liu 2011)."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from itertools import compress
from typing import Any

from linkscore_scoring.browse_logs.behavior import (
    DISCOVERY,
    BehaviorModel,
    Place,
)
from linkscore_scoring.browse_logs.patterns import text_of
from linkscore_scoring.columns import left_sum
from linkscore_scoring.policies.browse_log.behavior_fetch import BehaviorOrder, BehaviorParams, model_of
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import PageObservation, SeedWanted

_PRIOR_PAGES = 1.0
"""Pages that keep their promise, added to those of a pattern: one page must not move it far. Chosen, not
measured."""


class Discovered(Stateful):
    """How much pages of each pattern showed, beside what the browse log promised."""

    _sums: Stored[dict[str, tuple[float, float, int]]]

    def __init__(self) -> None:
        self._sums = {}

    def add(self, pattern: str, *, expected: float, found: float) -> None:
        """Take in one page: the demand its pattern promised, and that of the pages it showed first."""
        before = self._sums.get(pattern, (0.0, 0.0, 0))
        self._sums[pattern] = before[0] + expected, before[1] + found, before[2] + 1

    def factor(self, pattern: str) -> float:
        """Return found over expected, one page that keeps its promise added to both; 1 without a page."""
        expected, found, pages = self._sums.get(pattern, (0.0, 0.0, 0))
        prior = _PRIOR_PAGES * expected / max(pages, 1)
        return (found + prior) / (expected + prior) if expected > 0.0 else 1.0

    def keep(self, patterns: Container[str]) -> None:
        """Forget all other patterns."""
        self._sums = {name: sums for name, sums in self._sums.items() if name in patterns}


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviorDiscoveryParams(BehaviorParams):
    """Parameters of `behavior_discovery`.

    `cut`, `threshold`, `by_drop`: how logs are mined: see `BehaviorParams`. The policy served decides before
    others of the crawl.
    """

    # ``gain`` orders by the visits that each URL leads to and others do not show. Patterns alone are ordered
    # by ``hub``, as in the paper, or by its simple strategies ``referrals`` and ``average_referrals``
    ranking: str = "gain"
    rankings = DISCOVERY


class BehaviorDiscovery(BehaviorOrder):
    """Order links by what visiting their pages discovers, in visits a day, as the browse log tells.

    Choose it to find new pages early with few visits, on sites with browse logs: it goes to the lists from
    which people reach pages that nothing else shows. While it crawls it learns how much pages of each pattern
    show that was not found before, and moves the pattern's worth. Without a log of the site the fallback
    scores.

    Shapes: n links in, (n,) float64 out. Cost: O(keys of the URL) a link and a new link of a page fetched.
    References: Liu, Cai, Zhang and Zhang 2011, User browsing behavior-driven web crawling, CIKM, section 4.
    Differences from the paper: with the default ranking patterns are taken greedily by what they show that
    better ones do not, pages of the log have evidence of their own, and the order moves with what is found;
    ranking ``hub`` is the paper's.

    Examples
    --------
    Visits of a day: 5 to the front page, 9 to the list of what is new, 8 from there to a thread, 1 to a
    profile. The list is where people find most:

    >>> import numpy as np
    >>> from linkscore_scoring.browse_logs import OUTSIDE, BrowseCounts, mine_site
    >>> from linkscore_scoring.hashing import hash64
    >>> from linkscore_scoring.site.learning import LearningConfig, SiteBounds
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
    >>> BehaviorDiscovery(BehaviorDiscoveryParams()).score(links, site).scores.round(2).tolist()
    [0.69, 0.81, 0.69, 0.69]
    """

    name = "behavior_discovery"
    Params = BehaviorDiscoveryParams
    measure = "gain"

    discovered: Stored[Discovered]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.discovered = Discovered()

    def worth(self, place: Place, model: BehaviorModel) -> float:
        """Return the visits a day that visiting a URL discovers."""
        return model.gain(place)

    def meaning(self, place: Place, model: BehaviorModel) -> str:
        """Say what the gain is."""
        return "visits a day of pages that people reach from it and better ones do not show"

    def moved(self, pattern: str) -> float:
        """Return how much more, or less, pages of a pattern showed than was expected."""
        return self.discovered.factor(pattern)

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Compare what a page showed with what was expected."""
        super().observe(page, site)
        model = model_of(site)
        if model is None or page.failed or page.refetch:
            return
        place = model.place(page.url, page.key)
        links = (compress(column, page.fresh) for column in (page.links.urls, page.links.keys))
        fresh = dict(zip(*reversed(list(links)), strict=True))
        found = left_sum(model.demand_once_born(model.place(url, key)) for key, url in fresh.items())
        name = self._index.of(model, self._ranked_by()).names[place.node]
        self.discovered.add(name, expected=self.worth(place, model), found=found)

    def logs_mined(self, site: SiteModel) -> None:
        """Forget what patterns showed that are no more."""
        super().logs_mined(site)
        model = model_of(site)
        if model is not None:
            self.discovered.keep(self._index.of(model, self._ranked_by()).nodes)

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        """Return the most visited page of each of the `n` patterns whose pages discover most."""
        model = model_of(site)
        if model is None:
            return []
        best = sorted(model.leaves(), key=lambda node: (-model.stats.gain[node], node))[:n]
        index = self._index.of(model, self._ranked_by())
        return [
            SeedWanted(
                model.examples[node],
                f"people go on from {text_of(model.pattern(node))}",
                self._value(f"{index.names[node]}+0", index),
            )
            for node in best
        ]
