"""What tells news from other pages: how much of the clicks came early, or how fast they die away.

`concentration` is the paper's signal (Wang 2008), `decay_gain` is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.counts import BrowseCounts, Counts

DECAY, CONSISTENT, LITERAL = SIGNALS = ("decay", "consistent", "literal")

_FEWEST_DAYS = 7
"""A page seen for fewer days is undecided: concentration cannot exceed days seen / m. A week is chosen, not
measured."""

DECAY_DAYS = 5.0
"""Days in which clicks on news fall to a third. Between 3 and 8 it tells news from other pages equally well
on three logs, see research/notebook/news-from-logs.md."""

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
    """Return ClickThroughConcentration of every page: the share of its clicks in its first days.

    A page is undecided if it was seen for fewer than max(2 m, 7) days: with so short a life no page reaches
    a threshold near 2. Cost O(rows of clicks).

    References
    ----------
    Wang 2008, section 4.1, eq. 1. Differences from the paper: the default counts m days of the n - a + 1
    there are, so that even clicks give exactly 1, which eq. 1 misses by one day; short lives are not called
    other pages.

    Examples
    --------
    Ten days; the clicks of the first page all came on its first day, those of the second are even.

    >>> counts = BrowseCounts(
    ...     n_days=10,
    ...     urls=["http://a.example/news/1", "http://a.example/about"],
    ...     click_urls=np.array([0] + [1] * 10),
    ...     click_days=np.array([0, *range(10)]),
    ...     clicks=np.array([20] + [2] * 10),
    ... )
    >>> concentration(counts, CtcSettings(m=3)).values.round(2).tolist()
    [3.33, 1.0]
    """
    n, first = len(counts.urls), _first_days(counts)
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


def _first_days(counts: BrowseCounts) -> Counts:
    """Return the day of each page's first click, `n_days` if there is none."""
    first = np.full(len(counts.urls), counts.n_days, dtype=np.int64)
    np.minimum.at(first, counts.click_urls, counts.click_days)
    return first


def _ratio(head: NDArray[np.int64] | Values, totals: Counts, m: int, span: Counts) -> Values:
    known = (totals > 0) & (span > 0)
    share = np.divide(head, totals, out=np.zeros(len(totals)), where=known)
    return share * span / m  # eq. 1


def _days(settings: CtcSettings, counts: BrowseCounts, seen: Counts) -> Counts:
    return seen if settings.over_life else np.full(len(seen), counts.n_days, dtype=np.int64)


def decay_gain(counts: BrowseCounts, *, days: float = DECAY_DAYS) -> Values:
    """Return how much better decay explains the clicks of each page than even clicks do; ours.

    The mean over clicks of ln(p(age of the page | decay) / p(age | even)), squeezed by tanh; decay is
    ``exp(-age / days)``, both are cut off at the end of the window. ClickThroughConcentration cannot exceed
    days seen / m, so it calls no page news that was seen for a week; this can. A page seen for a day has 0.

    Shapes: (n_urls,) float64 in (-1, 1), above 0 for decay, 0 without clicks. Cost O(rows of clicks).

    Parameters
    ----------
    days
        Days in which clicks fall to a third, > 0.

    Examples
    --------
    The counts of `concentration`: the first page is news, the second is not.

    >>> counts = BrowseCounts(
    ...     n_days=10,
    ...     urls=["http://a.example/news/1", "http://a.example/about"],
    ...     click_urls=np.array([0] + [1] * 10),
    ...     click_days=np.array([0, *range(10)]),
    ...     clicks=np.array([20] + [2] * 10),
    ... )
    >>> decay_gain(counts).round(2).tolist()
    [0.63, -0.16]
    """
    n, first = len(counts.urls), _first_days(counts)
    totals = np.bincount(counts.click_urls, counts.clicks, n)
    ages = counts.clicks * (counts.click_days - first[counts.click_urls])
    mean_age = np.bincount(counts.click_urls, ages, n) / np.maximum(totals, 1.0)
    seen = np.maximum(counts.n_days - first, 1)
    mass = -np.expm1(-seen / days) / -np.expm1(-1.0 / days)
    return np.asarray(np.where(totals > 0, np.tanh(np.log(seen / mass) - mean_age / days), 0.0))
