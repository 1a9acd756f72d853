"""Partial PageRank: the graph of what was crawled so far, ranked anew every so many pages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.graph.link_graph import Arrival, pagerank
from linkscore_scoring.policies.base import Explanation, Params, Term, outside
from linkscore_scoring.policies.link_graph.url_values import UrlValuePolicy
from linkscore_scoring.state import Stored
from linkscore_scoring.types import PageObservation


@dataclass(frozen=True, slots=True, kw_only=True)
class PagerankParams(Params):
    """Parameters of `pagerank`."""

    damping: float = 0.85  # share of its rank that a page hands on, [0, 1]
    every: int = 100  # pages fetched between two computations, 1..100,000
    tolerance: float = 1e-6  # change of all ranks together (of 1) below which a computation ends, [1e-12, 1]

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        yield from outside("damping", self.damping, 0.0, 1.0)
        yield from outside("every", self.every, 1, 100_000)
        yield from outside("tolerance", self.tolerance, 1e-12, 1.0)


class Pagerank(UrlValuePolicy):
    """Fetch the URL with the highest PageRank in the graph of pages fetched and URLs found.

    The value of a URL is n x its PageRank less what every URL has alike, so the mean is below 1 and the order
    that of PageRank. Ranks are computed after the first page and then every `every` pages, from the last
    ones; in between a page fetched adds damping x its rank / its links to each URL it links to.

    Shapes: n links in, (n,) float64 out. Cost: O(n), and every `every` pages a few iterations over all links
    of the graph: 0.1 s for 1 million, 0.3 s for 4 million. References: Page et al. 1999; Cho, Garcia-Molina
    and Page 1998 (partial PageRank). Differences from them: rank of pages without links is spread evenly over
    all; URLs known before gain in between as well, not only new ones.

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import scores_after
    >>> scores_after("pagerank", {"/": ["/x", "/y"], "/x": ["/y", "/z"]})  # both pages link to /y
    {'/y': 0.462, '/z': 0.379}
    """

    name = "pagerank"
    Params = PagerankParams

    rest: Stored[float]
    _due: Stored[int]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.rest = 1.0
        self._due = 1

    def spread(self, page: PageObservation, arrival: Arrival) -> None:
        """Hand the rank of a page on to its links, or rank the whole graph when it is due."""
        if not arrival.is_first:
            return
        targets = self.nodes.targets(page)
        self.nodes.link(arrival.node, targets)
        share = self.params.damping * (self.nodes[arrival.node] + self.rest) / max(1, len(targets))
        for node in targets:
            self.nodes[node] += share
        self._due -= 1
        if self._due <= 0:
            self._due = self.params.every
            self._rank()

    def _rank(self) -> None:
        n, p = len(self.nodes), self.params
        start = self.nodes.values() + self.rest
        ranks = pagerank(*self.nodes.edges(), n, damping=p.damping, tolerance=p.tolerance, start=start)
        self.rest = n * ranks.rest
        self.nodes.replace_values(n * ranks.flow)

    def reason(self, value: float) -> Explanation:
        """Name the rank against the mean."""
        rank = value + self.rest
        return Explanation(
            f"its PageRank is {rank:.3g} times the mean of the site",
            [
                Term("links", value, "PageRank that came along links, 1 is the mean of a page's PageRank"),
                Term("rest", self.rest, "PageRank that every URL has alike"),
            ],
        )
