"""How people browse a site, from its browse log (Liu 2011): URL patterns, and what their pages are worth.

`mine_behavior` goes through it in order: the tree of `patterns`, serials, demand and gain; the result is a
`BehaviorModel`. The paper cuts the tree by visits and transits, which changes nothing by measure: research
does. Serials are numbers in URLs that grow as pages are born: ids of threads, years and months of posts. A
browse log shows which do: the higher the number, the later the page's first visit. Beyond the highest
number known lie the pages that nobody could visit yet, and people visit new pages most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_scoring.browse_logs.patterns import (
    ANY,
    HOST,
    NUMBER,
    KeyValues,
    PatternTree,
    is_number,
    key_values,
    pattern_tree,
)
from linkscore_scoring.columns import Floats, Ints
from linkscore_scoring.hashing import hash64

Keys = tuple[str, ...]

# Pages first visited after the first day from which a number is taken to grow, and those from which a shape
# with the same keys has the number too. Measured on the first 20 days of three logs.
MIN_PAGES, MIN_RELATED_PAGES = 20, 5
# Correlations of number and day for the same two rules. With 1 % of stray lines forum_phpbb has .791; on the
# logs as they are nothing lies between.
MIN_CORRELATION, MIN_RELATED = 0.75, 0.3

_FIRM_VISITS = 3
"""Visits that make a number firm: a mistyped one must not set the highest known. Chosen on the same logs."""

_NEIGHBOURS = 8
"""Firm numbers in a row by whose span a number is told from a stray one. Chosen, not measured."""

_STRETCH = 2.0
"""Times the usual span of so many that they may span. At 4 one log with 1 % of stray lines had its frontier
at 896 instead of 875 (forum_phpbb)."""

_STEP = 2.0
"""A bound: span that always passes. Where many pages share a number the usual span is 0, and from December
to January a number of years and months, 13 values a year, makes a step of 2."""

_BASE_SHARE = 0.99
"""Share of the visits whose values set how many a part of a number may have. Chosen: 1 % may be stray."""

_SLACK_DAYS = 3.0
"""Days by which a page's number may be late for its first visit. Chosen on the same logs."""

_MAX_DIGITS = 15
"""A bound: digits of a number that are read, so that it is exact in float64."""


@dataclass(slots=True)
class Serial:
    """A growing number of URLs of one shape."""

    # The keys that make it, the slowest first, and how many values each may have: year and month are one
    # number.
    keys: Keys
    bases: tuple[int, ...]
    frontier: float  # highest number that is firm, three visits or more, and has firm neighbours below
    rate: float  # numbers a day, > 0
    newborn: float  # visits a day that pages born within the log had, on average

    def days_ahead(self, pairs: KeyValues) -> float:
        """Return how long after the log a URL's page is born at the usual rate, in days; < 0 for before."""
        return (number_of(pairs, self.keys, self.bases) - self.frontier) / self.rate


def shape_of(pairs: KeyValues, pattern: Mapping[str, str]) -> str:
    """Return the kind of URL a number belongs to: keys, ``#`` for numbers, ``*`` for what is not fixed."""
    return "&".join(f"{key}{_label(key, value, pattern)}" for key, value in pairs.items() if key != HOST)


def number_of(pairs: KeyValues, keys: Keys, bases: Sequence[int]) -> float:
    """Return the number that some keys of a URL make together; parts beyond their base count as its last."""
    number = float(pairs[keys[0]][:_MAX_DIGITS])
    for key, base in zip(keys[1:], bases[1:], strict=True):
        number = number * base + min(int(pairs[key][:_MAX_DIGITS]), base - 1)
    return number


def find_serials(
    pairs: Sequence[KeyValues], shapes: Sequence[str], first_days: Ints, visits: Ints, n_days: int
) -> dict[str, Serial]:
    """Return the growing number of each shape that has one."""
    rows = defaultdict(list)
    for row, shape in enumerate(shapes):
        if NUMBER in shape:
            rows[shape].append(row)
    found = []
    for shape, members in rows.items():
        kind = _Kind(shape, [pairs[row] for row in members], first_days[members], visits[members])
        found += [
            (correlation, kind, keys) for keys in kind.candidates() if (correlation := kind.grows(keys))
        ]
    serials: dict[str, Serial] = {}
    for keys, first in sorted(_grown(found).items(), key=lambda item: item[1][0]):
        kin = [
            kind
            for c, kind, others in found
            if others == keys and c >= MIN_RELATED and kind.is_born(MIN_RELATED_PAGES)
        ]
        serials |= _serials(keys, first[1], kin, n_days)
    return serials


class _Kind:
    """The URLs of one shape."""

    def __init__(self, shape: str, pairs: Sequence[KeyValues], first_days: Ints, visits: Ints) -> None:
        self.shape, self.pairs, self.first_days, self.visits = shape, pairs, first_days, visits

    def is_born(self, pages: int) -> bool:
        """Say whether so many pages were first visited after the first day."""
        return int((self.first_days > 0).sum()) >= pages

    def candidates(self) -> Iterable[Keys]:
        """Yield each key that is a number, and the path's numbers that stand side by side."""
        numeric = [key for key, value in self.pairs[0].items() if is_number(value) and key != HOST]
        yield from ((key,) for key in numeric)
        path = [key for key in numeric if key.startswith("p")]
        places = [int(key[1:]) for key in path]
        if len(path) > 1 and places == list(range(places[0], places[0] + len(path))):
            yield tuple(path)

    def numbers(self, keys: Keys, bases: Sequence[int]) -> Floats:
        return np.array([number_of(pairs, keys, bases) for pairs in self.pairs], dtype=np.float64)

    def bases(self, keys: Keys) -> tuple[int, ...]:
        """Return how many values each key has, but for the highest that 1 % of the visits show."""
        return tuple(1 + self._high_value(key) for key in keys)

    def _high_value(self, key: str) -> int:
        values = np.array([int(pairs[key][:_MAX_DIGITS]) for pairs in self.pairs], dtype=np.int64)
        order = np.argsort(values, kind="stable")
        weights = np.cumsum(self.visits[order])
        return int(values[order][np.searchsorted(weights, _BASE_SHARE * weights[-1])])

    def grows(self, keys: Keys) -> float:
        """Return the correlation of number and day of birth, stray numbers apart; 0 if there is none."""
        numbers = self.numbers(keys, self.bases(keys))
        born = (self.first_days > 0) & (numbers <= self.highest(numbers))
        if born.sum() < 2:
            return 0.0
        ranks = np.argsort(np.argsort(numbers[born], kind="stable")).astype(np.float64)
        return _correlation(ranks, self.first_days[born], self.visits[born])

    def frontier(self, numbers: Floats) -> float:
        """Return the highest firm number that is not stray, 0 if there is none."""
        return min(self.highest(numbers), float(numbers[self.visits >= _FIRM_VISITS].max(initial=0.0)))

    def highest(self, numbers: Floats) -> float:
        """Return the highest firm number that stands as close to those below it as numbers do there."""
        firm = self.visits >= _FIRM_VISITS
        order = np.argsort(numbers[firm], kind="stable")
        known, born = numbers[firm][order], (self.first_days[firm] > 0)[order]
        if len(known) < _NEIGHBOURS:
            return np.inf
        tops, born = known[_NEIGHBOURS - 1 :], born[_NEIGHBOURS - 1 :]
        spans = tops - known[: len(tops)]
        usual = float(np.median(spans[born] if born.any() else spans))
        return float(tops[spans <= max(_STRETCH * usual, _STEP)].max(initial=tops[0]))


def _grown(found: Sequence[tuple[float, _Kind, Keys]]) -> dict[Keys, tuple[float, _Kind]]:
    """Return the keys that grow for sure and the shape that shows it best; of a shape only its best keys."""
    best: dict[str, tuple[float, _Kind, Keys]] = {}
    for correlation, kind, keys in found:
        if kind.is_born(MIN_PAGES) and correlation >= max(MIN_CORRELATION, best.get(kind.shape, (0.0,))[0]):
            best[kind.shape] = correlation, kind, keys
    grown: dict[Keys, tuple[float, _Kind]] = {}
    for correlation, kind, keys in best.values():
        if correlation > grown.get(keys, (0.0,))[0]:
            grown[keys] = correlation, kind
    return grown


def _serials(keys: Keys, first: _Kind, kin: Sequence[_Kind], n_days: int) -> dict[str, Serial]:
    """Return the serial of each related shape; bases, frontier and rate are those of the first."""
    bases = first.bases(keys)
    numbers = first.numbers(keys, bases)
    frontier = first.frontier(numbers)
    rate = _rate(numbers, first, frontier, n_days)
    if rate <= 0.0:
        return {}
    made = {}
    for kind in kin:
        newborn = _newborn(kind.numbers(keys, bases), kind, frontier, rate, n_days)
        if newborn > 0.0:
            made[kind.shape] = Serial(keys, bases, frontier, rate, newborn)
    return made


def _rate(numbers: Floats, kind: _Kind, frontier: float, n_days: int) -> float:
    """Return the numbers a day: the median way to the frontier by days left, pages by visits."""
    born = (kind.first_days > 0) & (kind.first_days < n_days - 1) & (numbers < frontier)
    if not born.any():
        return 0.0
    rates = (frontier - numbers[born]) / (n_days - kind.first_days[born])
    order = np.argsort(rates, kind="stable")
    weights = np.cumsum(kind.visits[born][order])
    return float(rates[order][np.searchsorted(weights, weights[-1] / 2.0)])


def _newborn(numbers: Floats, kind: _Kind, frontier: float, rate: float, n_days: int) -> float:
    """Return the visits a day of pages whose number says that they were born when they were first seen."""
    ahead = (numbers - frontier) / rate
    born = (kind.first_days > 0) & (-ahead <= n_days - kind.first_days + _SLACK_DAYS) & (ahead <= _SLACK_DAYS)
    days = (n_days - kind.first_days[born]).sum()
    return float(kind.visits[born].sum() / days) if days else 0.0


def _correlation(x: Floats, y: Ints, weights: Ints) -> float:
    """Return the weighted correlation, 0 if one side does not vary."""
    if not weights.any():
        return 0.0
    (xx, xy), (_, yy) = np.cov(x, y, ddof=0, aweights=weights)
    return float(xy / np.sqrt(xx * yy)) if xx * yy > 0.0 else 0.0


def _label(key: str, value: str, pattern: Mapping[str, str]) -> str:
    if is_number(value):
        return NUMBER
    literal = f"={value}"
    return literal if pattern.get(key) == literal else ANY


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


def newcomer_demand(
    counts: BrowseCounts, first: Ints, patterns: Ints, n_patterns: int, left_out: NDArray[np.bool_]
) -> Floats:
    """Return the visits a day to expect of a page of each pattern that the log does not have, (n_patterns,).

    By the pages first visited in the last third of the log, those apart whose number says that they were born
    then, and an estimate of the pages that nobody visited: f1^2 / (2 (f2 + 1)), with f1 and f2 the pages
    visited once and twice (Chao 1984).
    """
    days = max(1, round(counts.n_days * _LATE_SHARE))
    late, visits = (first >= counts.n_days - days) & ~left_out, counts.visits()
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
    """Figures of every node of the tree, (n_nodes,) float64 each; those of a leaf are its pattern's."""

    sizes: Floats  # |P| and F_in (Liu 2011, Table 1), subtrees included
    visits: Floats
    # of an inner node the mean of its patterns by their pages
    demand: Floats  # visits a day of a page of the log, on average
    newcomer: Floats  # visits a day to expect of a page that the log does not have
    gain: Floats  # visits a day that visiting a page discovers, on average


class Place(NamedTuple):
    """Where a URL stands."""

    node: int  # pattern it fits, and whether that is a leaf
    covered: bool
    page: int  # row among the log's own pages, or `UNKNOWN_PAGE`
    # Days from the end of the log to the birth of its page, and visits a day that pages born within the log
    # had.
    ahead: float | None = None
    newborn: float = 0.0


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
    tree: PatternTree  # patterns, and figures of each
    stats: PatternStats
    serials: dict[str, Serial]  # numbers that grow, by shape of URL
    pages: OwnPages  # the log's own pages, the most visited ones

    @cached_property
    def _fixed(self) -> dict[int, dict[str, str]]:
        return {}

    def pattern(self, node: int) -> dict[str, str]:
        """Return the label of each key that a pattern fixes; do not change it."""
        if node not in self._fixed:
            self._fixed[node] = self.tree.pattern(node)
        return self._fixed[node]

    def place(self, url: str, key: int) -> Place:
        """Return where a URL stands, by address and identity hash; O(keys of the URL)."""
        pairs = key_values(url)
        node, covered = self.tree.match(pairs)
        page, serial = self.pages.row(key), self.serials.get(shape_of(pairs, self.pattern(node)))
        days = serial.days_ahead(pairs) if serial else -1.0
        if serial is None or days < 0.0:
            return Place(node, covered, page)
        return Place(node, covered, page, days, serial.newborn)

    def places(self, urls: Sequence[str], keys: Sequence[int]) -> list[Place]:
        """Return where URLs stand, same length."""
        return [self.place(url, key) for url, key in zip(urls, keys, strict=True)]

    def demand(self, place: Place) -> float:
        """Return the visits a day to expect of a URL, in as many days as the log has."""
        ahead = max(place.ahead or 0.0, 0.0) / max(self.n_days, 1)
        if place.page != UNKNOWN_PAGE and self.pages.demand[place.page] > 0.0:
            return float(self.pages.demand[place.page])
        return self.demand_once_born(place, place.newborn / (1.0 + ahead) ** 2)

    def demand_once_born(self, place: Place, newborn: float | None = None) -> float:
        """Return the visits a day to expect of a URL whose page is there: new ones count in full."""
        return max(float(self.stats.newcomer[place.node]), place.newborn if newborn is None else newborn)

    def gain(self, place: Place) -> float:
        """Return the visits a day that visiting a URL discovers, a page of the log or another one."""
        known = place.page != UNKNOWN_PAGE
        return float(self.pages.gain[place.page] if known else self.stats.gain[place.node])

    def __post_init__(self) -> None:
        if any(getattr(self.stats, each.name).shape != (len(self.tree),) for each in fields(self.stats)):
            raise ValueError("figures of patterns must be one a node")


_MAX_PAGES = 50_000
"""A bound of memory: pages of the log that keep figures of their own, the most visited ones."""


def mine_behavior(counts: BrowseCounts) -> BehaviorModel | None:
    """Return the patterns of a site, None if its log has no visit; deterministic.

    Liu, Cai, Zhang and Zhang 2011, sections 3 and 4.
    """
    if not counts.urls or not counts.transits.sum():
        return None
    tree, patterns = pattern_tree(counts.urls)
    first, pairs = counts.first_days(), [key_values(url) for url in counts.urls]
    first[first == counts.n_days] = -1  # pages that referred, and were not visited
    fixed = {at: tree.pattern(at) for at in np.unique(patterns).tolist()}
    shapes = [shape_of(p, fixed[at]) for p, at in zip(pairs, patterns.tolist(), strict=True)]
    visits = counts.visits()
    serials = find_serials(pairs, shapes, first, visits, counts.n_days)
    days = [serials[s].days_ahead(p) if s in serials else -np.inf for p, s in zip(pairs, shapes, strict=True)]
    # The last third of the days, as `newcomer_demand` counts them, and the slack of `serials`.
    born_late = np.array(days) > -(counts.n_days / 3.0 + 3.0)
    stats, own = _stats(counts, tree, patterns, first, born_late)
    return BehaviorModel(counts.n_days, tree, stats, serials, _own_pages(counts, visits, *own))


def totals(parents: Ints, own: Floats) -> Floats:
    """Return the sum over each node's subtree, (n_nodes,) float64; parents stand before their children."""
    sums = np.array(own, dtype=np.float64)
    for at in range(len(parents) - 1, 0, -1):
        sums[parents[at]] += sums[at]
    return sums


def _stats(
    counts: BrowseCounts, tree: PatternTree, patterns: Ints, first: Ints, born_late: NDArray[np.bool_]
) -> tuple[PatternStats, tuple[Floats, Floats]]:
    """Return the figures of every node, and demand and gain of every page."""
    n, parents = len(tree), tree.parents()
    sizes, visits = (tally(patterns, column, n) for column in (np.ones(len(patterns)), counts.visits()))
    demand = own_demand(counts)
    newcomer = newcomer_demand(counts, first, patterns, n, born_late)
    real = (counts.from_urls != OUTSIDE) & (counts.from_urls != counts.to_urls)
    ways = counts.from_urls[real], counts.to_urls[real], counts.transits[real].astype(np.float64)
    gain, own_gain = discovery_gain(*ways, demand, patterns, sizes)
    whole = totals(parents, sizes)
    means = (tally(patterns, demand, n) / np.maximum(sizes, 1.0), newcomer, gain)
    averaged = [totals(parents, x * sizes) / np.maximum(whole, 1.0) for x in means]
    return PatternStats(whole, totals(parents, visits), *averaged), (demand, own_gain)


def _own_pages(counts: BrowseCounts, visits: Ints, demand: Floats, gain: Floats) -> OwnPages:
    kept = np.argsort(-visits, kind="stable")[:_MAX_PAGES]
    hashes = np.array([hash64(counts.urls[row]) for row in kept.tolist()], dtype=np.uint64)
    order = np.argsort(hashes)
    rows = kept[order]
    return OwnPages(hashes[order], demand[rows].astype(np.float32), gain[rows].astype(np.float32))
