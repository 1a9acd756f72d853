"""ClickThroughConcentration: how much of a page's clicks came in its first days (Wang 2008)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.counts import BrowseCounts, Counts

CONSISTENT, LITERAL = "consistent", "literal"
MODES = (CONSISTENT, LITERAL)

_FEWEST_DAYS = 7

Values = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class CtcSettings:
    """How concentration is counted.

    Attributes
    ----------
    mode
        `CONSISTENT`, 1 for even clicks, or `LITERAL`, eq. 1 as printed: m + 1 days above, n - a below.
    m
        Days that count as first, >= 1. The paper gives none; its mean of 9.11 bounds it by 6.
    min_daily_clicks
        Least mean of daily clicks of a page that is looked at, >= 0.
    over_life
        Mean over the days since the first click instead of over the whole window: takes in pages that
        appeared late.
    skip_first_day
        Leave pages undecided that had clicks on the first day of the window: they may be older than it.
    """

    mode: str = CONSISTENT
    m: int = 3
    min_daily_clicks: float = 1.0
    over_life: bool = False
    skip_first_day: bool = False


@dataclass(slots=True)
class Concentration:
    """Concentration of every page of a site, and which of them it tells anything about.

    Attributes
    ----------
    values
        (n_urls,) float64, 0 where there is none.
    frequent
        (n_urls,) bool: pages with enough clicks a day.
    decided
        (n_urls,) bool: frequent pages that were seen long enough; the other frequent ones are undecided.
    first_days, totals
        (n_urls,) int64: day of the first click (`n_days` if there is none), and all clicks.
    """

    values: Values
    frequent: Mask
    decided: Mask
    first_days: Counts
    totals: Counts


def concentration(counts: BrowseCounts, settings: CtcSettings) -> Concentration:
    """Return the concentration of every page.

    A page is undecided if it was seen for fewer than max(2 m, 7) days: with so short a life no page reaches
    a threshold near 2. Cost O(rows of clicks). Source: Wang 2008, section 4.1, eq. 1. Differences from the
    paper: the default counts m days of the n - a + 1 there are, so that even clicks give exactly 1, which
    eq. 1 misses by one day; short lives are not called other pages.
    """
    n = len(counts.urls)
    first = np.full(n, counts.n_days, dtype=np.int64)
    np.minimum.at(first, counts.click_urls, counts.click_days)
    totals = np.bincount(counts.click_urls, counts.clicks, n).astype(np.int64)
    ages = counts.click_days - first[counts.click_urls]
    literal = settings.mode == LITERAL
    early = ages < settings.m + literal
    head = np.bincount(counts.click_urls[early], counts.clicks[early], n)
    seen = counts.n_days - first
    values = _ratio(head, totals, settings.m, seen - literal)
    frequent = (totals > 0) & (totals >= settings.min_daily_clicks * _days(settings, counts, seen))
    decided = frequent & (seen >= max(2 * settings.m, _FEWEST_DAYS))
    if settings.skip_first_day:
        decided &= first > 0
    return Concentration(values, frequent, decided, first, totals)


def _ratio(head: NDArray[np.int64] | Values, totals: Counts, m: int, span: Counts) -> Values:
    known = (totals > 0) & (span > 0)
    share = np.divide(head, totals, out=np.zeros(len(totals)), where=known)
    return share * span / m  # eq. 1


def _days(settings: CtcSettings, counts: BrowseCounts, seen: Counts) -> Counts:
    return seen if settings.over_life else np.full(len(seen), counts.n_days, dtype=np.int64)
