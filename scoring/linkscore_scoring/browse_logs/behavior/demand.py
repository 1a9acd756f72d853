"""Visits a day that people will pay to the pages of a site, and those that visiting a page discovers.

Ours, where the paper gives every URL the average of its pattern and ranks hubs: a URL of the log has evidence
of its own, the pattern is what is known of the others, and two hubs that show the same pages are worth one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.counts import BrowseCounts


def tally(groups: NDArray[np.int64], weights: NDArray[Any], n_groups: int) -> NDArray[np.float64]:
    """Return the sum of the weights of each group, (n_groups,) float64; groups in [0, n_groups).

    Examples
    --------
    >>> tally(np.array([0, 1, 1]), np.array([2, 3, 4]), 3)
    array([2., 7., 0.])
    """
    return np.bincount(groups, weights.astype(np.float64), n_groups).astype(np.float64)


Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

MEMORY_DAYS = 4.0
"""Days after which a visit counts 1 / e. Measured:
research/notebook/visits-from-logs.md."""

_LATE_SHARE = 1.0 / 3.0
"""Share of the log's days whose new pages tell what newcomers are worth. Chosen, not measured."""


def first_days(counts: BrowseCounts) -> Ids:
    """Return the day of each page's first visit, (n_urls,) int64, -1 without one."""
    first = np.full(len(counts.urls), counts.n_days, dtype=np.int64)
    np.minimum.at(first, counts.click_urls, counts.click_days)
    first[first == counts.n_days] = -1
    return first


def own_demand(counts: BrowseCounts, memory_days: float = MEMORY_DAYS) -> Floats:
    """Return the visits a day of each page, (n_urls,) float64, recent days first.

    A day d of n counts exp(-(n - 1 - d) / memory), and the weights sum to one.
    """
    weights = np.exp(-(counts.n_days - 1 - counts.click_days) / memory_days)
    total = np.exp(-np.arange(counts.n_days) / memory_days).sum()
    sums = tally(counts.click_urls, weights * counts.clicks, len(counts.urls))
    return np.asarray(sums / max(float(total), 1e-12), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Newcomers:
    """Pages of each pattern that were first visited in the last third of the log, (n_patterns,) each.

    Attributes
    ----------
    visits, pages
        Their visits since then, and how many they are.
    hidden
        Estimate of the pages that nobody visited at all: f1^2 / (2 (f2 + 1)), with f1 and f2 the pages
        visited once and twice (Chao 1984).
    days
        Days of the last third.
    """

    visits: Floats
    pages: Floats
    hidden: Floats
    days: int

    def demand(self) -> Floats:
        """Return the visits a day to expect of a page of each pattern that the log does not have."""
        return np.asarray(self.visits / self.days / (self.pages + self.hidden + 1.0), dtype=np.float64)


def newcomers(
    counts: BrowseCounts, first: Ids, patterns: Ids, n_patterns: int, left_out: NDArray[np.bool_]
) -> Newcomers:
    """Count newcomers by pattern.

    Parameters
    ----------
    first, patterns
        `first_days` and pattern of each page, (n_urls,).
    left_out
        Pages that do not count, (n_urls,) bool: those whose number says that they were born then.
    """
    days = max(1, round(counts.n_days * _LATE_SHARE))
    late = (first >= counts.n_days - days) & ~left_out
    visits = counts.visits()
    once, twice, pages = (tally(patterns, rows, n_patterns) for rows in (visits == 1, visits == 2, late))
    hidden = once**2 / (2.0 * (twice + 1.0))
    return Newcomers(tally(patterns, late * visits, n_patterns), pages, hidden, days)


_MAX_ROUNDS = 500
"""A bound of time: patterns that are taken one by one, a round each over all transits."""


def discovery_gain(
    sources: Ids, targets: Ids, transits: Floats, demand: Floats, patterns: Ids, sizes: Floats
) -> tuple[Floats, Floats]:
    """Return the demand that a visit discovers, of a page of each pattern and of each page; float64.

    That is sqrt(G M), (n_patterns,), and sqrt(G (g + M) / 2), (n_urls,): G the gain of the pattern, g that of
    the page, M the mean of g over the pattern's pages.

    Patterns are taken greedily, the one with the largest mean gain of a page first. A page shows a target
    with probability 1 - exp(-transits), the transits of a page of the pattern being the pattern's by its
    pages; what all pages of a pattern showed does not count for the next one. A page's own gain is counted
    when its pattern is taken, from its own transits.

    Parameters
    ----------
    sources, targets, transits
        Pairs of different pages of the log, (n_pairs,) each.
    demand
        Visits a day of each page, (n_urls,).
    patterns, sizes
        Pattern of each page, (n_urls,), and pages of each pattern, (n_patterns,), > 0 where there are some.

    Notes
    -----
    Cost O(rounds x n_pairs) in compiled code, a round a pattern, at most 500: the patterns left then have
    the gain of that moment. References: greedy covering,
    Nemhauser, Wolsey and Fisher 1978.
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
