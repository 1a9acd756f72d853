"""Visit first what leads people to most pages, by the browse logs of the site (Liu 2011)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any

from linkscore_scoring.browse_logs.behavior.discovered import Discovered
from linkscore_scoring.browse_logs.behavior.model import BehaviorModel, Place
from linkscore_scoring.browse_logs.behavior.pattern_text import text_of
from linkscore_scoring.browse_logs.behavior.rankings import DISCOVERY
from linkscore_scoring.errors import FieldProblem, reading_state
from linkscore_scoring.policies.browse_log.behavior_order import BehaviorOrder, BehaviorParams
from linkscore_scoring.policies.params import one_of
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.types import PageObservation, SeedWanted


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviorDiscoveryParams(BehaviorParams):
    """Parameters of `behavior_discovery`.

    Attributes
    ----------
    ranking
        ``gain`` orders by the visits that each URL leads to and others do not show. Patterns alone are
        ordered by ``hub``, as in the paper, or by its simple strategies ``referrals`` and
        ``average_referrals``.
    cut, threshold, by_drop
        How logs are mined: see `BehaviorParams`. The policy served decides before others of the crawl.
    """

    ranking: str = "gain"

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        yield from BehaviorParams.problems(self)
        yield from one_of("ranking", self.ranking, DISCOVERY)


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
    """

    name = "behavior_discovery"
    Params = BehaviorDiscoveryParams
    measure = "gain"

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
        model = site.browse.behavior if site.browse is not None else None
        if model is None or page.failed or page.refetch:
            return
        place = model.place(page.url, page.key)
        links = (compress(column, page.fresh) for column in (page.links.urls, page.links.keys))
        fresh = dict(zip(*reversed(list(links)), strict=True))
        found = sum(model.demand_once_born(model.place(url, key)) for key, url in fresh.items())
        name = self._index.of(model, self._ranked_by()).names[place.node]
        self.discovered.add(name, expected=self.worth(place, model), found=found)

    def logs_mined(self, site: SiteModel) -> None:
        """Forget what patterns showed that are no more."""
        super().logs_mined(site)
        model = site.browse.behavior if site.browse is not None else None
        if model is not None:
            self.discovered.keep(self._index.of(model, self._ranked_by()).nodes)

    def suggest_seeds(self, n: int, site: SiteModel) -> list[SeedWanted]:
        """Return the most visited page of each of the `n` patterns whose pages discover most."""
        model = site.browse.behavior if site.browse is not None else None
        if model is None:
            return []
        best = sorted(model.examples, key=lambda node: (-model.stats.gain[node], node))[:n]
        index = self._index.of(model, self._ranked_by())
        return [
            SeedWanted(
                model.examples[node],
                f"people go on from {text_of(model.pattern(node))}",
                self._value(f"{index.names[node]}+0", index),
            )
            for node in best
        ]

    def to_state(self) -> dict[str, Any]:
        """Return what the fallback knows and what patterns showed."""
        return {**super().to_state(), "discovered": self.discovered.to_state()}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the state of `to_state`."""
        with reading_state(self.name):
            discovered = Discovered.from_state(state["discovered"])
        super().load_state(state)
        self.discovered = discovered
