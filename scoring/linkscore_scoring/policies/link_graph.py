"""Baselines that give each URL a value by the links found so far: in-degree, PageRank, OPIC.

URLs are numbers in the order they were found, with the links between them.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Floats, Ints, left_sum, squash
from linkscore_scoring.errors import FieldProblem
from linkscore_scoring.policies.base import Explanation, Params, Policy, Scored, Scores, Term, outside
from linkscore_scoring.site.model import SiteModel
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.types import LinkBatch, PageObservation

MAX_ITERATIONS = 200
"""A bound: with damping .85 the change falls below 1e-6 after some 85."""


class Ranks(NamedTuple):
    """PageRank in two parts: `flow`, (n,) float64, came along links; `rest` every page has alike."""

    flow: Floats
    rest: float

    @property
    def total(self) -> Floats:
        """The PageRank itself, (n,) float64, sum 1."""
        return self.flow + self.rest


def pagerank(
    sources: Ints,
    targets: Ints,
    n: int,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    start: Floats | None = None,
) -> Ranks:
    """Return the PageRank of `n` pages: PR(u) = (1 - d) / n + d (sum_{v -> u} PR(v) / out(v) + D / n).

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
    return Ranks(flow, rest)


# Kinds of URLs, bytes in the state: not fetched yet; a usable page came back; none did.
_OPEN, _FETCHED, _DEAD = 0, 1, 2
# One in so many is forgotten at a time, since moving the columns costs as much for one as for many.
_SLACK = 16


@dataclass(frozen=True, slots=True)
class Arrival:
    """A fetch as the nodes see it."""

    node: int  # number of the page
    is_seed: bool  # no page linked it, as far as remembered
    is_first: bool  # it is the first usable fetch of the page


LINKS_PER_URL = 20
"""Links kept for each URL of the bound; a bound of memory, 8 bytes a link; chosen, not measured."""


class LinkGraph(Stateful):
    """Numbers and values of URLs by identity hash, and, as far as `link` says them, the out-links of pages.

    `max_urls`: most URLs kept; `trim` forgets the ones found first, a sixteenth of the bound at a time.
    `first`: lowest number kept. Numbers only grow: one below `first` is a URL that was forgotten.

    A page reached by a redirect has one number for both URLs; if both had one already, the URL asked for
    gives its value to the page (`moved`), so no credit is lost. At most `LINKS_PER_URL` x `max_urls` links
    are kept; beyond that the pages fetched first lose theirs and count as pages without links. Cost O(1) a
    link, about 150 bytes a URL, 8 bytes a link.
    """

    first: Stored[int]
    moved: Stored[dict[int, int]]
    _ids: Stored[dict[int, int]]
    _kinds: Stored[list[int]]
    _values: Stored[list[float]]
    links: Stored[int]
    _out: Stored[dict[int, Ints]]

    def __init__(self) -> None:
        self.max_urls = 200_000

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, node: int) -> float:
        return self._values[node - self.first]

    def __setitem__(self, node: int, value: float) -> None:
        self._values[node - self.first] = value

    def values(self) -> NDArray[np.float64]:
        """Return the value of every URL kept, (n_urls,), by number less `first`; a copy."""
        return np.array(self._values, dtype=np.float64)

    def replace_values(self, values: NDArray[np.float64]) -> None:
        """Give every URL kept a new value; (n_urls,) as `values` returns them."""
        self._values = values.tolist()

    def value_of(self, key: int) -> float:
        """Return the value of a URL by identity hash, 0 if it is not known."""
        node = self._ids.get(key)
        return 0.0 if node is None else self._values[node - self.first]

    def is_open(self, node: int) -> bool:
        """Say whether a URL was not fetched yet."""
        return self._kinds[node - self.first] == _OPEN

    def is_fetched(self, node: int) -> bool:
        """Say whether a usable page came back from a URL."""
        return self._kinds[node - self.first] == _FETCHED

    def arrive(self, page: PageObservation) -> Arrival:
        """Take in a fetch, and where it was redirected to; its links are taken in by `targets`."""
        asked, node = self._ids.get(page.requested), self._ids.get(page.key)
        is_seed = asked is None and node is None
        if node is None:
            reusable = asked is not None and not self.is_fetched(asked)
            node = asked if reusable and asked is not None else self._add(page.key)
        elif asked is not None and asked != node and not self.is_fetched(asked):
            self._move(asked, node)
        self._ids[page.requested] = self._ids[page.key] = node
        is_first = not page.failed and not self.is_fetched(node)
        if is_first or self.is_open(node):
            self._kinds[node - self.first] = _DEAD if page.failed else _FETCHED
        return Arrival(node, is_seed, is_first)

    def targets(self, page: PageObservation) -> list[int]:
        """Return the distinct URLs a page links to, in its order; not itself, nor URLs known to be dead."""
        own = self._ids[page.key]
        ids = self._ids
        found = dict.fromkeys(ids[key] if key in ids else self._add(key) for key in page.links.keys)
        found.pop(own, None)
        return [node for node in found if self._kinds[node - self.first] != _DEAD]

    def trim(self) -> float:
        """Forget what is beyond the bounds; return the sum of the values forgotten."""
        surplus = len(self) - self.max_urls
        lost = self._forget(surplus + self.max_urls // _SLACK) if surplus > 0 else 0.0
        while self.links > LINKS_PER_URL * self.max_urls:
            self._unlink(next(iter(self._out)))
        return lost

    def _forget(self, n: int) -> float:
        lost = left_sum(self._values[:n])
        self.first += n
        del self._kinds[:n], self._values[:n]
        self._ids = {key: node for key, node in self._ids.items() if node >= self.first}
        self.moved = {old: new for old, new in self.moved.items() if old >= self.first}
        for node in [node for node in self._out if node < self.first]:
            self._unlink(node)
        return lost

    def _unlink(self, node: int) -> None:
        self.links -= len(self._out.pop(node, ()))

    def _add(self, key: int) -> int:
        node = self._ids[key] = self.first + len(self)
        self._kinds.append(_OPEN)
        self._values.append(0.0)
        return node

    def _move(self, old: int, new: int) -> None:
        """Let a URL that redirects give its value to where it leads."""
        self.moved[old] = new
        self[new] += self[old]
        self[old] = 0.0
        self._kinds[old - self.first] = _FETCHED

    def link(self, node: int, targets: Sequence[int]) -> None:
        """Keep the out-links of a page, distinct and without itself; they replace those it had."""
        self._unlink(node)
        self._out[node] = np.array(targets, dtype=np.int64)
        self.links += len(targets)

    def out(self, node: int) -> list[int]:
        """Return what a page links to, as far as it is remembered, redirects followed."""
        found = self._out.get(node)
        targets = [] if found is None else found.tolist()
        if self.moved:
            targets = [to for to in dict.fromkeys(self.moved.get(t, t) for t in targets) if to != node]
        return [target for target in targets if target >= self.first]

    def edges(self) -> tuple[Ints, Ints]:
        """Return source and target of every link, both (n_links,), as numbers less `first`; cost O(n_links).

        Links to URLs that were forgotten are left out, redirects are followed.
        """
        if not self._out:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        sizes = np.fromiter(map(len, self._out.values()), dtype=np.int64)
        sources = np.repeat(np.fromiter(self._out, dtype=np.int64), sizes) - self.first
        targets = np.concatenate(list(self._out.values())) - self.first
        kept = targets >= 0
        sources, targets = sources[kept], targets[kept]
        return self._redirected(sources, targets) if self.moved else (sources, targets)

    def _redirected(self, sources: Ints, targets: Ints) -> tuple[Ints, Ints]:
        n = len(self)
        lead = np.arange(n)
        lead[np.array(list(self.moved)) - self.first] = np.array(list(self.moved.values())) - self.first
        targets = lead[targets]
        kept = (targets >= 0) & (targets != sources)
        pairs = np.unique(sources[kept] * n + targets[kept])
        return pairs // n, pairs % n


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

    def problems(self) -> Iterator[FieldProblem]:
        """Yield a problem for each field out of range."""
        yield from outside("damping", self.damping, 0.0, 1.0)
        yield from outside("every", self.every, 1, 100_000)


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
        ranks = pagerank(*self.nodes.edges(), n, damping=p.damping, start=start)
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
