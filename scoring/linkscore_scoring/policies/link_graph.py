"""Baselines that give each URL a value by the links found so far: in-degree, PageRank, OPIC."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_scoring.columns import squash
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.graph.link_graph import Arrival, LinkGraph, pagerank
from linkscore_scoring.policies.base import Explanation, Params, Policy, Scored, Scores, Term, outside
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import LinkBatch, PageObservation

STEPS = 4
"""Buckets an octave: links of one bucket differ by at most 19 % in value."""

# Number of the last bucket: the largest power of 2 in float64 is 1,023.
_MOST = 4 * 1_024 - 1
_NOTHING, _BUCKET = "q-", re.compile("q(-?[0-9]{1,4})")


class UrlValuePolicy(Policy):
    """A value >= 0 for each URL, moved by the links of every page.

    Score = 1 / (1 + log2(1 + 1 / value)), which keeps the order over many orders of magnitude: value 1 scores
    1/2, 0.001 scores 1/11, 0 scores 0. Bucket = ``q<n>``, n = floor(4 log2 value), ``q-`` for value 0; the
    value of a bucket is the score at its lower edge. URLs never seen in a link have value 0.

    Subclasses move the values (`spread`). Cost: O(n_links) a page and a call. The state is bounded by
    `SiteBounds.links`: the URLs found first are forgotten and start anew when they are found again.
    """

    per_url = True
    reads_templates = False
    baseline = True
    residual = 0.034

    nodes: Stored[LinkGraph]

    def __init__(self, params: Any, *, seed: int = 0) -> None:
        super().__init__(params, seed=seed)
        self.nodes = LinkGraph()

    @abstractmethod
    def spread(self, page: PageObservation, arrival: Arrival) -> None:
        """Move values for a fetch; called once per event, failed and repeated fetches included."""

    @abstractmethod
    def reason(self, value: float) -> Explanation:
        """Say what the value of a URL means."""

    def forgot(self, value: float) -> None:
        """Note that URLs with this value in total were forgotten."""

    def observe(self, page: PageObservation, site: SiteModel) -> None:
        """Move the values along the links of a page."""
        self.nodes.max_urls = site.bounds.links
        self.spread(page, self.nodes.arrive(page))
        self.forgot(self.nodes.trim())

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by the value of each URL."""
        values = [self.nodes.value_of(key) for key in links.keys]
        scores = np.array(list(map(squash, values)), dtype=np.float64)
        return Scored(scores, list(map(_bucket, values)))

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the score at the lower edge of each bucket; 0 for a bucket of another policy."""
        return np.array([squash(_edge(bucket)) for bucket in buckets], dtype=np.float64)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the value of each URL."""
        return [self.reason(self.nodes.value_of(key)) for key in links.keys]


def _bucket(value: float) -> str:
    """Return the bucket of a value."""
    return f"q{math.floor(STEPS * math.log2(value))}" if value > 1e-300 else _NOTHING


def _edge(bucket: str) -> float:
    """Return the lowest value of a bucket; 0 for a bucket of another policy."""
    found = _BUCKET.fullmatch(bucket)
    return float(2.0 ** (min(int(found[1]), _MOST) / STEPS)) if found else 0.0


class InDegree(UrlValuePolicy):
    """Fetch what most of the pages fetched so far link to.

    The value n of a URL is the number of distinct pages fetched that link to it: a page counts once however
    many anchors lead there and however often it is fetched, and not for itself.

    Shapes: n links in, (n,) float64 out. Cost: O(n). References: Cho, Garcia-Molina and Page 1998 ("backlink
    count"). Differences from the paper: a page's links count as they were when it was first fetched.

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import scores_after
    >>> scores_after("in_degree", {"/": ["/x", "/y"], "/x": ["/y", "/z"]})  # both pages link to /y
    {'/y': 0.631, '/z': 0.5}
    """

    name = "in_degree"

    def spread(self, page: PageObservation, arrival: Arrival) -> None:
        """Count the page once for each URL it links to."""
        if arrival.is_first:
            for node in self.nodes.targets(page):
                self.nodes[node] += 1.0

    def reason(self, value: float) -> Explanation:
        """Name the count."""
        return Explanation(
            f"{value:.0f} pages fetched link to it",
            [Term("in_degree", value, "pages fetched that link to it")],
        )


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
