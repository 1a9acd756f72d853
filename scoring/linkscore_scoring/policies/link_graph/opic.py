"""OPIC: pages hand the cash they received on to what they link to, and the richest are fetched first."""

from __future__ import annotations

from typing import Any

from linkscore_scoring.graph.link_graph import Arrival
from linkscore_scoring.policies.base import Explanation, Term
from linkscore_scoring.policies.link_graph.url_values import UrlValuePolicy
from linkscore_scoring.state import Stored
from linkscore_scoring.types import PageObservation


class Opic(UrlValuePolicy):
    """Fetch the URL with the most cash; a page fetched splits its cash evenly among its distinct links.

    Every seed (a page that no page fetched so far links to) brings one unit, so the cash of a URL, of the
    virtual root and of pages fetched add up to the number of seeds: divided by it they are the cash of the
    paper, and a seed that comes late changes no score. A page without links, a failed fetch and URLs that are
    forgotten give their cash to the virtual root, which links to all seeds: each takes its share when it is
    fetched. A page fetched again hands on what it received since. Links known to be dead get nothing.

    Shapes: n links in, (n,) float64 out. Cost: O(n). References: Abiteboul, Preda and Cobena 2003, section
    3.1. Differences from the paper: no history of cash is kept, it orders only pages fetched already; the
    root's cash waits there for a seed to be fetched.

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import scores_after
    >>> scores_after("opic", {"/": ["/x", "/y"], "/x": ["/y", "/z"]})  # both pages link to /y
    {'/y': 0.45, '/z': 0.301}
    """

    name = "opic"

    units: Stored[int]
    root: Stored[float]
    _seeds: Stored[dict[int, None]]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.units, self.root, self._seeds = 0, 0.0, {}

    def total(self) -> float:
        """Return all cash, root included, as the share the paper keeps at 1; 1 before any page."""
        return (float(self.nodes.values().sum()) + self.root) / self.units if self.units else 1.0

    def spread(self, page: PageObservation, arrival: Arrival) -> None:
        """Split the cash of the page among its links, or give it to the root."""
        cash, self.nodes[arrival.node] = self.nodes[arrival.node] + self._endowed(arrival), 0.0
        targets = [] if page.failed else self.nodes.targets(page)
        for node in targets:
            self.nodes[node] += cash / len(targets)
        if not targets:
            self.root += cash

    def _endowed(self, arrival: Arrival) -> float:
        """Return what a seed brings along and receives from the root; 0 for other pages."""
        if arrival.is_seed:
            self.units += 1
            self._seeds[arrival.node] = None
        if arrival.node not in self._seeds:
            return 0.0
        share = self.root / len(self._seeds)
        self.root -= share
        return share + arrival.is_seed

    def forgot(self, value: float) -> None:
        """Give the cash of forgotten URLs to the root."""
        self.root += value
        if self._seeds and next(iter(self._seeds)) < self.nodes.first:
            self._seeds = {node: None for node in self._seeds if node >= self.nodes.first}

    def reason(self, value: float) -> Explanation:
        """Name the cash."""
        return Explanation(
            f"it holds {value:.3g} units of cash",
            [Term("cash", value, "cash received, 1 for each seed in all")],
        )
