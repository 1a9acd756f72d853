"""How people browse a site, from its browse log (Liu 2011): URL patterns, and what their pages are worth.

`mine_behavior` goes through it in order: the patterns, demand and gain; the result is a `BehaviorModel`. The
paper splits URLs by the key whose values have the least entropy, and cuts the tree by visits and transits:
neither is better than the patterns of `urls.pattern_tree` by measure, and both are in research.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_scoring.columns import Floats, Ints
from linkscore_scoring.hashing import hash64
from linkscore_scoring.urls.pattern_tree import ROOT, UrlPatternParams, UrlPatterns


def tally(groups: Ints, weights: NDArray[Any], n_groups: int) -> Floats:
    """Return the sum of the weights of each group, (n_groups,); groups in [0, n_groups)."""
    return np.bincount(groups, weights.astype(np.float64), n_groups).astype(np.float64)


MEMORY_DAYS = 4.0
"""Days after which a visit counts 1 / e. Measured:
research/notebook/visits-from-logs.md."""

_LATE_SHARE = 1.0 / 3.0
"""Share of the log's days whose new pages tell what newcomers are worth. Chosen, not measured."""


def own_demand(counts: BrowseCounts) -> Floats:
    """Return the visits a day of each page, (n_urls,): day d of n weighs exp(-(n - 1 - d) / memory)."""
    weights = np.exp(-(counts.n_days - 1 - counts.click_days) / MEMORY_DAYS)
    total = np.exp(-np.arange(counts.n_days) / MEMORY_DAYS).sum()
    sums = tally(counts.click_urls, weights * counts.clicks, len(counts.urls))
    return np.asarray(sums / max(float(total), 1e-12), dtype=np.float64)


def newcomer_demand(counts: BrowseCounts, first: Ints, patterns: Ints, n_patterns: int) -> Floats:
    """Return the visits a day to expect of a page of each pattern that the log does not have, (n_patterns,).

    By the pages first visited in the last third of the log, and an estimate of the pages that nobody visited:
    f1^2 / (2 (f2 + 1)), with f1 and f2 the pages visited once and twice (Chao 1984).
    """
    days = max(1, round(counts.n_days * _LATE_SHARE))
    late, visits = first >= counts.n_days - days, counts.visits()
    once, twice, pages = (tally(patterns, rows, n_patterns) for rows in (visits == 1, visits == 2, late))
    seen = pages + once**2 / (2.0 * (twice + 1.0))
    return np.asarray(tally(patterns, late * visits, n_patterns) / days / (seen + 1.0), dtype=np.float64)


_MAX_ROUNDS = 500
"""A bound of time: patterns that are taken one by one, a round each over all transits."""


def discovery_gain(
    sources: Ints, targets: Ints, transits: Floats, demand: Floats, patterns: Ints, sizes: Floats
) -> tuple[Floats, Floats]:
    """Return the demand that a visit discovers, of a page of each pattern and of each page.

    Patterns are taken greedily (Nemhauser, Wolsey and Fisher 1978), the one with the largest mean gain of a
    page first; what all its pages showed does not count for the next one. A page shows a target with
    probability 1 - exp(-transits). Returned are sqrt(G M) and sqrt(G (g + M) / 2): G the gain of the pattern,
    g that of the page, M the mean of g over the pattern's pages.
    """
    from scipy.sparse import csr_matrix  # slow to import: only where logs are mined

    n_patterns, n_urls = len(sizes), len(demand)
    shown = csr_matrix((transits, (patterns[sources], targets)), shape=(n_patterns, n_urls))
    by_page = shown.multiply(1.0 / np.maximum(sizes, 1.0)[:, None]).tocsr()
    own = csr_matrix((transits, (sources, targets)), shape=(n_urls, n_urls))
    by_page.data, own.data = -np.expm1(-by_page.data), -np.expm1(-own.data)
    gain, own_gain = np.zeros(n_patterns), np.zeros(n_urls)
    left, hidden = np.ones(n_patterns, dtype=np.bool_), demand.astype(np.float64)
    for _ in range(min(n_patterns, _MAX_ROUNDS)):
        gains = np.where(left, by_page @ hidden, -1.0)
        best = int(np.argmax(gains))
        if gains[best] <= 0.0:
            break
        pages = np.flatnonzero(patterns == best)
        gain[best], left[best] = gains[best], False
        own_gain[pages] = own[pages] @ hidden
        row = shown[[best]]
        hidden[row.indices] *= np.exp(-row.data)
    gain[left] = (by_page @ hidden)[left]
    waiting = np.flatnonzero(left[patterns])
    own_gain[waiting] = own[waiting] @ hidden
    mean = tally(patterns, own_gain, n_patterns) / np.maximum(sizes, 1.0)
    return np.sqrt(gain * mean), np.sqrt(gain[patterns] * 0.5 * (own_gain + mean[patterns]))


UNKNOWN_PAGE = -1
"""Row of a page that the log does not have."""


@dataclass(slots=True)
class PatternStats:
    """Figures of every pattern, (n_patterns,) float64 each."""

    sizes: Floats  # |P| and F_in (Liu 2011, Table 1), finer patterns included
    visits: Floats
    # of one that no page has as its finest the mean of finer ones by their pages
    demand: Floats  # visits a day of a page of the log, on average
    newcomer: Floats  # visits a day to expect of a page that the log does not have
    gain: Floats  # visits a day that visiting a page discovers, on average


class Place(NamedTuple):
    """Where a URL stands."""

    node: int  # the finest pattern of the log that it fits, as a row of its figures
    page: int  # row among the log's own pages, or `UNKNOWN_PAGE`


@dataclass(slots=True)
class OwnPages:
    """Pages of the log, as columns in the order of their hashes."""

    hashes: NDArray[np.uint64]  # (n,) uint64, identity hashes
    # (n,) float32: visits a day, and visits a day that visiting the page discovers.
    demand: NDArray[np.float32]
    gain: NDArray[np.float32]

    def row(self, key: int) -> int:
        """Return the row of an identity hash, `UNKNOWN_PAGE` if the log does not have the page."""
        at = int(np.searchsorted(self.hashes, np.uint64(key)))
        return at if at < len(self.hashes) and int(self.hashes[at]) == key else UNKNOWN_PAGE


@dataclass
class BehaviorModel:
    """URL patterns of a site as people browse it."""

    n_days: int  # days of the log
    patterns: UrlPatterns
    nodes: list[int]  # patterns that its pages fit, coarse before fine: rows of the figures
    stats: PatternStats
    pages: OwnPages  # the log's own pages, the most visited ones

    @cached_property
    def texts(self) -> list[str]:
        """The patterns as people write them; ``h`` is the host of the log, and stands for any URL too."""
        return list(map(self.patterns.text, self.nodes))

    @cached_property
    def names(self) -> list[str]:
        """Names of the patterns, which they keep from log to log."""
        return [f"{hash64(text):016x}" for text in self.texts]

    @cached_property
    def node_of(self) -> dict[str, int]:
        """The pattern of each name."""
        return {name: node for node, name in enumerate(self.names)}

    @cached_property
    def _row_of(self) -> dict[int, int]:
        return {node: row for row, node in enumerate(self.nodes)}

    def place(self, url: str, key: int) -> Place:
        """Return where a URL stands, by address and identity hash; O(slots of the URL)."""
        known = self.patterns.lineage(self.patterns.finest(url))
        return Place(next(self._row_of[at] for at in known if at in self._row_of), self.pages.row(key))

    def places(self, urls: Sequence[str], keys: Sequence[int]) -> list[Place]:
        """Return where URLs stand, same length."""
        return [self.place(url, key) for url, key in zip(urls, keys, strict=True)]

    def demand(self, place: Place) -> float:
        """Return the visits a day to expect of a URL, in as many days as the log has."""
        if place.page != UNKNOWN_PAGE and self.pages.demand[place.page] > 0.0:
            return float(self.pages.demand[place.page])
        return float(self.stats.newcomer[place.node])

    def gain(self, place: Place) -> float:
        """Return the visits a day that visiting a URL discovers, a page of the log or another one."""
        known = place.page != UNKNOWN_PAGE
        return float(self.pages.gain[place.page] if known else self.stats.gain[place.node])


_PATTERNS = UrlPatternParams(min_count=10, min_share=0.05, max_nodes=20_000)
"""Values of a slot stay apart that ten URLs and one in twenty have. Measured on three logs, of .5 to 10 %:
research/notebook/visits-from-logs.md."""
_MAX_PAGES = 50_000
"""A bound of memory: pages of the log that keep figures of their own, the most visited ones."""


def mine_behavior(counts: BrowseCounts) -> BehaviorModel | None:
    """Return the patterns of a site, None if its log has no visit; deterministic.

    Liu, Cai, Zhang and Zhang 2011, sections 3 and 4.
    """
    if not counts.urls or not counts.transits.sum():
        return None
    tree = UrlPatterns(_PATTERNS)
    tree.insert_all(counts.urls)
    finest = list(map(tree.finest, counts.urls))
    row_of: dict[int, int] = {}
    for at in dict.fromkeys(finest):
        for node in reversed(tree.lineage(at)):
            row_of.setdefault(node, len(row_of))
    parents = np.array([-1, *(row_of[tree.lineage(node)[1]] for node in row_of if node != ROOT)])
    stats, own = _stats(counts, parents, np.array([row_of[at] for at in finest]))
    return BehaviorModel(counts.n_days, tree, list(row_of), stats, _own_pages(counts, counts.visits(), *own))


def totals(parents: Ints, own: Floats) -> Floats:
    """Return the sum over each node's subtree, (n_nodes,) float64; parents stand before their children."""
    sums = np.array(own, dtype=np.float64)
    for at in range(len(parents) - 1, 0, -1):
        sums[parents[at]] += sums[at]
    return sums


def _stats(counts: BrowseCounts, parents: Ints, patterns: Ints) -> tuple[PatternStats, tuple[Floats, Floats]]:
    """Return the figures of every pattern, and demand and gain of every page."""
    first = counts.first_days()
    first[first == counts.n_days] = -1  # pages that referred, and were not visited
    n = len(parents)
    sizes, visits = (tally(patterns, column, n) for column in (np.ones(len(patterns)), counts.visits()))
    demand = own_demand(counts)
    newcomer = newcomer_demand(counts, first, patterns, n)
    real = (counts.from_urls != OUTSIDE) & (counts.from_urls != counts.to_urls)
    ways = counts.from_urls[real], counts.to_urls[real], counts.transits[real].astype(np.float64)
    gain, own_gain = discovery_gain(*ways, demand, patterns, sizes)
    whole = totals(parents, sizes)
    means = (tally(patterns, demand, n) / np.maximum(sizes, 1.0), newcomer, gain)
    averaged = [np.where(sizes > 0.0, x, totals(parents, x * sizes) / np.maximum(whole, 1.0)) for x in means]
    return PatternStats(whole, totals(parents, visits), *averaged), (demand, own_gain)


def _own_pages(counts: BrowseCounts, visits: Ints, demand: Floats, gain: Floats) -> OwnPages:
    kept = np.argsort(-visits, kind="stable")[:_MAX_PAGES]
    hashes = np.array([hash64(counts.urls[row]) for row in kept.tolist()], dtype=np.uint64)
    order = np.argsort(hashes)
    rows = kept[order]
    return OwnPages(hashes[order], demand[rows].astype(np.float32), gain[rows].astype(np.float32))
