"""Fractional PageRank: rank flows along links to pages not fetched yet, each page once."""

from __future__ import annotations

from dataclasses import dataclass

from linkscore_scoring.policies.base import Explanation, Params, Term, within
from linkscore_scoring.policies.link_graph import Arrival, UrlValuePolicy
from linkscore_scoring.types import PageObservation


@dataclass(frozen=True, slots=True, kw_only=True)
class FractionalPagerankParams(Params):
    """Parameters of `fractional_pagerank`: `damping`, the share of rank a page hands on, [0, 1]."""

    damping: float = within(0.85, 0.0, 1.0)


class FractionalPagerank(UrlValuePolicy):
    """Fetch the URL that most rank reached along paths of pages fetched once.

    A seed has value 1. When a page of value f with c distinct links is first fetched, every link to a page
    not fetched yet gains damping f / c; what would flow into pages fetched already is skipped, so each page
    is worked once and nothing is ever computed again. A cheap stand-in for `rank_mass`.

    Shapes: n links in, (n,) float64 out. Cost: O(n). References: Alam, Ha and Lee 2012, "Novel approaches to
    crawling important pages early". Differences from the paper, as far as its abstract tells: c counts all
    links of the page, those to fetched pages too; no boosts by host or title.

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import scores_after
    >>> scores_after("fractional_pagerank", {"/": ["/x", "/y"], "/x": ["/y", "/z"]})  # both pages link to /y
    {'/y': 0.416, '/z': 0.27}
    """

    name = "fractional_pagerank"
    Params = FractionalPagerankParams

    def spread(self, page: PageObservation, arrival: Arrival) -> None:
        """Hand the value of a page on to its links not fetched yet."""
        if arrival.is_seed:
            self.values[arrival.page] = 1.0
        if not arrival.is_first:
            return
        targets = self.targets(page)
        share = self.params.damping * self.values[arrival.page] / max(1, len(targets))
        for key in set(targets).difference(self.fetched):
            self.values[key] += share

    def reason(self, value: float) -> Explanation:
        """Name the value."""
        return Explanation(
            f"rank {value:.3g} reached it",
            [Term("rank", value, "rank received, 1 for each seed at the start")],
        )
