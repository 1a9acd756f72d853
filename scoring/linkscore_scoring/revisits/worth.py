"""What fetching a page again is worth, and what the best schedule for known rates would reach.

Of two kinds of gain both are in days of one page: a known page that may be stale, and links to pages that
nobody knows yet. While little time has passed both are rate * t^2 / 2; a page can be stale only once, so that
its gain saturates, while undiscovered pages add up.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Column = NDArray[np.float64]
_STEPS = 100
"""A bound: bisections, each halves an interval; float64 has 53 bits."""
_GROWN: Column = np.concatenate([np.geomspace(1e-6, 0.1, 200, endpoint=False), np.linspace(0.1, 40.0, 4_000)])
_SHARE: Column = 1.0 - (1.0 + _GROWN) * np.exp(-_GROWN)
_SHARE[:200] = _GROWN[:200] ** 2 / 2.0 - _GROWN[:200] ** 3 / 3.0  # the formula would cancel
"""Worth by D t, as a share of what it is at most: a table to look up backwards."""
_GROWN_LIST: list[float] = _GROWN.tolist()
_SHARE_LIST: list[float] = _SHARE.tolist()


def known_rate_worth(rate: Column, waited: Column) -> Column:
    """Return what a fetch is worth of pages whose rates are known, (n,) days of freshness, >= 0.

    Parameters
    ----------
    rate
        Changes a day, >= 0.
    waited
        Days since the last fetch, >= 0.

    References
    ----------
    Azar, Horvitz, Lubetzky, Peres and Shahaf, Tractable near-optimal policies for crawling, PNAS 115(32),
    2018: (w / D) (1 - (1 + D t) e^(-D t)).

    Examples
    --------
    >>> known_rate_worth(np.array([1.0, 0.0]), np.array([1.0, 5.0])).round(4)  # 1 - 2 / e
    array([0.2642, 0.    ])
    """
    grown = rate * waited
    small = grown < 1e-4  # the formula would cancel; its series is grown * t / 2
    safe = np.where(small, 1.0, rate)
    exact = (1.0 - (1.0 + grown) * np.exp(-grown)) / safe
    return np.where(small, grown * waited / 2.0, exact)


def worth(shape: Column, days: Column, waited: Column) -> Column:
    """Return `known_rate_worth`, as is to be expected of rates that are believed to be Gamma distributed.

    With L = log(1 + t / b) the mean over the distribution is b (1 - e^(-(a-1) L)) / (a - 1) - t e^(-a L), and
    b L - t e^(-L) for a = 1.

    Parameters
    ----------
    shape, days
        a and b of each `rates.Belief`, > 0.
    waited
        Days since the last fetch, >= 0.
    """
    log = np.log1p(waited / days)
    less = (shape - 1.0) * log
    near = np.abs(less) < 1e-6
    decay = np.exp(-less)
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = np.where(near, log, (1.0 - decay) / (shape - 1.0))
    return np.maximum(days * grown - waited * decay * days / (days + waited), 0.0)


def discovery_worth(rate: Column, waited: Column) -> Column:
    """Return what a fetch is worth for the links to new pages it may show: rate * t^2 / 2 page days.

    With an interval t, rate * t / 2 pages are undiscovered at a time. The derivative by the number of fetches
    a day is the worth of one more; `known_rate_worth` is that of the same question for stale pages.
    """
    return rate * waited * waited / 2.0


def freshness(rate: Column, interval: Column) -> Column:
    """Return the share of time that pages are fresh if fetched at intervals: (1 - e^(-D t)) / (D t)."""
    grown = rate * interval
    return np.where(grown < 1e-12, 1.0, -np.expm1(-grown) / np.maximum(grown, 1e-12))


def best_intervals(rates: Sequence[float], per_day: float, weights: Sequence[float] | None = None) -> Column:
    """Return the intervals of most weighted freshness at so many fetches a day, for known rates: the oracle.

    At the optimum a fetch of each page is worth the same; pages that never reach that are not fetched, their
    interval is infinite. Cost O(n) a bisection, of which there are 100.

    References
    ----------
    Azar et al. 2018, as `known_rate_worth`.

    Examples
    --------
    Equal pages are fetched in turn.

    >>> best_intervals([0.5, 0.5], 4.0).round(6).tolist()
    [0.5, 0.5]
    """
    rate = np.asarray(rates, np.float64)
    weight = np.ones_like(rate) if weights is None else np.asarray(weights, np.float64)
    moving = (rate > 0.0) & (weight > 0.0)
    found = np.full(len(rate), np.inf)
    if not moving.any() or per_day <= 0.0:
        return found
    low, high = 0.0, float((weight[moving] / rate[moving]).max())  # nothing is worth more
    for _ in range(_STEPS):
        level = (low + high) / 2.0
        found[moving] = worth_intervals(rate[moving], weight[moving], level)
        if float((1.0 / found[moving]).sum()) > per_day:
            low = level
        else:
            high = level
    return found


def worth_intervals(rate: Column, weight: Column, level: float) -> Column:
    """Return after how many days `known_rate_worth` times a weight is `level`; infinite if it never is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = level * rate / weight
        found = np.interp(share, _SHARE, _GROWN, right=np.inf) / rate
        slow = share < _SHARE_LIST[0]
        if slow.any():  # below the table both are the same square
            found = np.where(slow, np.sqrt(2.0 * level / (rate * weight)), found)
        return found


def worth_interval(rate: float, weight: float, level: float) -> float:
    """Return `worth_intervals` of one page, at a tenth of its cost.

    Examples
    --------
    >>> one = worth_interval(0.2, 1.0, 0.5)
    >>> round(one - float(worth_intervals(np.array([0.2]), np.array([1.0]), 0.5)[0]), 9)
    0.0
    """
    share = level * rate / weight if weight > 0.0 else math.inf
    if share >= _SHARE_LIST[-1]:
        return math.inf
    if share < _SHARE_LIST[0]:
        return math.sqrt(2.0 * level / (rate * weight)) if rate > 0.0 else math.inf
    at = bisect_right(_SHARE_LIST, share) - 1
    low, high = _SHARE_LIST[at], _SHARE_LIST[at + 1]
    part = (share - low) / (high - low)
    return (_GROWN_LIST[at] + part * (_GROWN_LIST[at + 1] - _GROWN_LIST[at])) / rate
