"""Visits a day that people will pay to the pages of a site, known ones and new ones.

Ours, where the paper gives every URL the average of its pattern: a URL of the log has evidence of its own,
and the pattern is what is known of the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.behavior.tally import tally
from linkscore_scoring.browse_logs.counts import BrowseCounts

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

MEMORY_DAYS = 4.0
_LATE_SHARE = 1.0 / 3.0


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
