"""Baselines that give each URL a value by the links found so far: in-degree, PageRank, OPIC."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Floats, Ints, drop_oldest, left_sum, squash
from linkscore_scoring.policies.base import Explanation, Params, Policy, Scored, Scores, Term, within
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stored
from linkscore_scoring.types import LinkBatch, PageObservation

MAX_ITERATIONS = 200
"""A bound: with damping .85 the change falls below 1e-6 after some 85."""


def pagerank(
    sources: Ints,
    targets: Ints,
    n: int,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    start: Floats | None = None,
) -> tuple[Floats, float]:
    """Return the PageRank of `n` pages: PR(u) = (1 - d) / n + d (sum_{v -> u} PR(v) / out(v) + D / n), in two
    parts: what came along links, (n,) float64, and what every page has alike; the sum of all is 1.

    D is the rank of the pages without links. The error is at most d / (1 - d) times the tolerance. Cost
    O(n_links) an iteration, at most `MAX_ITERATIONS`.

    `sources`, `targets`: links, (n_links,) each, in [0, n); distinct pairs, no page to itself.
    `n`: pages, > 0.
    `damping`: d, [0, 1].
    `tolerance`: change of the ranks in one iteration, summed, below which it stops; > 0.
    `start`: ranks to start from, (n,), any positive sum; None starts evenly.

    References
    ----------
    Page, Brin, Motwani and Winograd 1999; Cho, Garcia-Molina and Page 1998 use d = 0.9.
    """
    out = np.bincount(sources, minlength=n)
    weights, dangling = damping / out[sources], out == 0
    x = np.full(n, 1.0 / n) if start is None else start / start.sum()
    for _ in range(MAX_ITERATIONS):
        rest = (1.0 - damping + damping * float(x[dangling].sum())) / n
        flow: Floats = np.bincount(targets, weights=x[sources] * weights, minlength=n).astype(np.float64)
        change, x = float(np.abs(flow + rest - x).sum()), flow + rest
        if change < tolerance:
            break
    return flow, rest


# One in so many is forgotten at a time, since looking for the oldest costs as much for one as for many.
_SLACK = 16

LINKS_PER_URL = 20
"""Links kept for each URL of the bound; a bound of memory, 8 bytes a link; chosen, not measured."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A fetch as the graph sees it."""

    page: int  # identity hash of the page
    is_seed: bool  # no page linked it, as far as remembered
    is_first: bool  # it is the first usable fetch of the page


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

    A page reached by a redirect has one value for both URLs; if both had one already, the URL asked for gives
    its own to the page, so no credit is lost.

    Subclasses move the values (`spread`). Cost: O(n_links) a page and a call. The state is bounded by
    `SiteBounds.links`, some 150 bytes a URL: those found first are forgotten and start anew when they are
    found again. At most `LINKS_PER_URL` times as many links are kept; beyond that the pages fetched first
    lose theirs and count as pages without links.
    """

    per_url = True
    reads_templates = False
    baseline = True
    residual = 0.034

    values: Stored[dict[int, float]]  # of URLs by identity hash, those found first first
    fetched: Stored[dict[int, bool]]  # whether a usable page came back, of each URL tried
    moved: Stored[dict[int, int]]  # where URLs redirect to
    out: Stored[dict[int, NDArray[np.uint64]]]  # links of pages, as far as `link` says them
    n_links: Stored[int]

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
        self.spread(page, self._arrive(page))
        self._trim(site.bounds.links)

    def _arrive(self, page: PageObservation) -> Arrival:
        """Take in a fetch, and where it was redirected to."""
        asked, key = page.requested, self.moved.get(page.key, page.key)
        is_seed = self.values.keys().isdisjoint((asked, key)) and asked not in self.moved
        self.values.setdefault(key, 0.0)
        if asked != key and not self.fetched.get(asked):
            self.values[key] += self.values.pop(asked, 0.0)
            self.moved[asked] = key
        is_first = not (page.failed or self.fetched.get(key))
        if is_first or key not in self.fetched:
            self.fetched[key] = not page.failed
        return Arrival(key, is_seed, is_first)

    def targets(self, page: PageObservation) -> list[int]:
        """Return the distinct URLs a page links to, in its order; not itself, nor URLs known to be dead."""
        found = dict.fromkeys(map(self.moved.get, page.links.keys, page.links.keys))
        found.pop(self.moved.get(page.key, page.key), None)
        for key in found:
            self.values.setdefault(key, 0.0)
        return [key for key in found if self.fetched.get(key, True)]

    def link(self, page: int, targets: Sequence[int]) -> None:
        """Keep the out-links of a page, distinct and without itself; they replace those it had."""
        self._unlink(page)
        self.out[page] = np.array(targets, dtype=np.uint64)
        self.n_links += len(targets)

    def _unlink(self, page: int) -> None:
        self.n_links -= len(self.out.pop(page, ()))

    def _trim(self, most: int) -> None:
        """Forget what is beyond the bounds."""
        gone = drop_oldest(self.values, most - most // _SLACK) if len(self.values) > most else []
        for key, _ in gone:
            self.fetched.pop(key, None)
            self._unlink(key)
        if gone:
            self.moved = {old: new for old, new in self.moved.items() if new in self.values}
            self.forgot(left_sum(value for _, value in gone))
        while self.n_links > LINKS_PER_URL * most:
            self._unlink(next(iter(self.out)))

    def value_of(self, key: int) -> float:
        """Return the value of a URL by identity hash, 0 if it is not known."""
        return self.values.get(self.moved.get(key, key), 0.0)

    def score(self, links: LinkBatch, site: SiteModel) -> Scored:
        """Score by the value of each URL."""
        values = list(map(self.value_of, links.keys))
        scores = np.array(list(map(squash, values)), dtype=np.float64)
        return Scored(scores, list(map(_bucket, values)))

    def value(self, buckets: Sequence[str], site: SiteModel) -> Scores:
        """Return the score at the lower edge of each bucket; 0 for a bucket of another policy."""
        return np.array([squash(_edge(bucket)) for bucket in buckets], dtype=np.float64)

    def explain(self, links: LinkBatch, site: SiteModel) -> list[Explanation]:
        """Name the value of each URL."""
        return [self.reason(self.value_of(key)) for key in links.keys]


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
            for key in self.targets(page):
                self.values[key] += 1.0

    def reason(self, value: float) -> Explanation:
        """Name the count."""
        return Explanation(
            f"{value:.0f} pages fetched link to it",
            [Term("in_degree", value, "pages fetched that link to it")],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PagerankParams(Params):
    """Parameters of `pagerank`."""

    damping: float = within(0.85, 0.0, 1.0)  # share of its rank that a page hands on, [0, 1]
    every: int = within(100, 1, 100_000)  # pages fetched between two computations, 1..100,000


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
        targets = self.targets(page)
        self.link(arrival.page, targets)
        share = self.params.damping * (self.values[arrival.page] + self.rest) / max(1, len(targets))
        for key in targets:
            self.values[key] += share
        self._due -= 1
        if self._due <= 0:
            self._due = self.params.every
            self._rank()

    def _rank(self) -> None:
        n = len(self.values)
        start = np.fromiter(self.values.values(), np.float64, n) + self.rest
        flow, rest = pagerank(*self._edges(), n, damping=self.params.damping, start=start)
        self.rest = n * rest
        self.values = dict(zip(self.values, (n * flow).tolist(), strict=True))

    def _edges(self) -> tuple[Ints, Ints]:
        """Return source and target of every link, both (n_links,), as places among the values.

        Links to URLs that were forgotten are left out, redirects are followed.
        """
        places = {key: place for place, key in enumerate(self.values)}
        sources = np.repeat([places[page] for page in self.out], list(map(len, self.out.values())))
        places |= {old: places[new] for old, new in self.moved.items()}
        keys, at = np.fromiter(places, np.uint64), np.fromiter(places.values(), np.int64)
        order = np.argsort(keys)
        links = np.concatenate(list(self.out.values()))
        found = order[np.minimum(np.searchsorted(keys, links, sorter=order), len(keys) - 1)]
        kept = (keys[found] == links) & (at[found] != sources)
        pairs = sources[kept] * len(self.values) + at[found][kept]
        return np.divmod(np.unique(pairs) if self.moved else pairs, len(self.values))

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

    def total(self) -> float:
        """Return all cash, root included, as the share the paper keeps at 1; 1 before any page."""
        return (left_sum(self.values.values()) + self.root) / self.units if self.units else 1.0

    def spread(self, page: PageObservation, arrival: Arrival) -> None:
        """Split the cash of the page among its links, or give it to the root."""
        cash, self.values[arrival.page] = self.values[arrival.page] + self._endowed(arrival), 0.0
        targets = [] if page.failed else self.targets(page)
        for key in targets:
            self.values[key] += cash / len(targets)
        if not targets:
            self.root += cash

    def _endowed(self, arrival: Arrival) -> float:
        """Return what a seed brings along and receives from the root; 0 for other pages."""
        if arrival.is_seed:
            self.units += 1
            self._seeds[arrival.page] = None
        if arrival.page not in self._seeds:
            return 0.0
        share = self.root / len(self._seeds)
        self.root -= share
        return share + arrival.is_seed

    def forgot(self, value: float) -> None:
        """Give the cash of forgotten URLs to the root."""
        self.root += value
        self._seeds = {page: None for page in self._seeds if page in self.values}

    def reason(self, value: float) -> Explanation:
        """Name the cash."""
        return Explanation(
            f"it holds {value:.3g} units of cash",
            [Term("cash", value, "cash received, 1 for each seed in all")],
        )
