"""How often a page changes, what fetching it again is worth, and what dates and notices say of it.

Changes are taken for a Poisson process; times are in days, rates in changes a day. What is believed of a rate
is a Gamma distribution: that of the site, and the page's own fetches on top. The page is fetched first whose
fetch is worth most; no page needs to know of another, so sites and processes decide apart.

References
----------
Azar, Horvitz, Lubetzky, Peres and Shahaf, Tractable near-optimal policies for crawling, PNAS 115(32), 2018;
Greedy-NCIS, arXiv 2502.02430. Different from both: rates are not known but believed, and what a fetch is
worth is the mean over the belief; signals are measured by their likelihood ratio, and act as the time would.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Floats
from linkscore_scoring.hashing import GOLDEN
from linkscore_scoring.revisits.pages import DAY_S, RevisitSettings
from linkscore_scoring.state import Stateful, Stored

SHAPE = 0.5
"""Shape of what is believed of a page before it was fetched again: how far pages of one site differ; smaller
is farther. Chosen on the living synthetic corpus of .25, .5 and 1."""
_TRUST = 2.0
"""Changes that a first guess counts for, beside those of the site itself; chosen likewise."""
_MOST = 3.0
"""Events of one page that count for its site, as many as there may be of it: chosen, not measured."""
_ROUNDS = 4
"""Times that a rate and the weights of its pages are made of each other; they settle in two or three."""
_AT_ONCE = 1e-9
"""Share of the time behind a belief below which a wait counts as none: powers would cancel."""
_LEVELS = (0.3, 0.8)
"""Own changes, as far as they are remembered, from which on a page is of the next level: one change that ten
fetches or two came after. Chosen on the logs til and hugo_docs at ten fetches a page and year."""
_PRIOR = 5.0
"""Changes that a level must be believed to be like the others for. Of 5 and 20, chosen likewise."""
_GROWN: Floats = np.concatenate([np.geomspace(1e-6, 0.1, 200, endpoint=False), np.linspace(0.1, 40.0, 4_000)])
_SHARE: Floats = 1.0 - (1.0 + _GROWN) * np.exp(-_GROWN)
_SHARE[:200] = _GROWN[:200] ** 2 / 2.0 - _GROWN[:200] ** 3 / 3.0  # the formula would cancel
"""Worth by D t, as a share of what it is at most: a table to look up backwards."""
_LOWEST, _HIGHEST = 1e-12, 1e12
"""Bounds of a price, in days of one page."""
_STEPS = 50
"""A bound: halvings of the logarithm of a price; what is left is 1e-13 of it."""


class Belief(NamedTuple):
    """What is believed of a rate: a Gamma distribution of `shape` changes, > 0, in `days`, > 0."""

    shape: float
    days: float

    @property
    def mean(self) -> float:
        """Changes a day to expect."""
        return self.shape / self.days

    def stale(self, waited: float) -> float:
        """Return the chance that the page changed in so many days."""
        return -math.expm1(-self.shape * math.log1p(waited / self.days))

    def after(self, waited: float, *, changed: bool) -> Belief:
        """Return the belief after one more fetch, `waited` >= 0 days after the one before; O(1).

        Without a change it is exact. After a change, the exact posterior is replaced by the Gamma
        distribution of the same mean and variance (Minka, A family of algorithms for approximate Bayesian
        inference, 2001): the moments follow from P(changed | D) = 1 - e^(-D t) and the Laplace transform.
        """
        if not changed:
            return Belief(self.shape, self.days + waited)
        shape, days = self
        if waited <= _AT_ONCE * days:
            return Belief(shape + 1.0, days)  # the limit: likelihood D t
        log = math.log1p(waited / days)
        seen = -math.expm1(-shape * log)
        first = (shape / days) * -math.expm1(-(shape + 1.0) * log) / seen
        second = (shape * (shape + 1.0) / days**2) * -math.expm1(-(shape + 2.0) * log) / seen
        spread = max(second - first * first, 1e-300)
        return Belief(first * first / spread, first / spread)


def mean_days(counts: Floats, days: Floats, first_days: float) -> float:
    """Return the mean days between two events on pages of a site, from what is known of each; O(pages).

    Of a page with many events, or watched so long that many were to be expected, some `_MOST` count: one list
    that changes every day does not make its whole site busy.
    """
    found = first_days
    for _ in range(_ROUNDS):
        weight = _MOST / (_MOST + np.maximum(counts, days / found))
        found = (_TRUST * first_days + float((weight * days).sum())) / (
            _TRUST + float((weight * counts).sum())
        )
    return found


class RecentChanges(Stateful):
    """How far pages that changed lately change more than is believed of them, and others less: measured.

    An even rate does not hold on real sites: a page is edited for some days, then left alone, and most of all
    when it is new. So beside its belief each page is of a level, by the changes that its last fetches found.
    Of each level is counted how many fetches found a change, and of how many one was to be expected.

    Examples
    --------
    New pages were found changed ten times, where one change was to be expected.

    >>> recent = RecentChanges()
    >>> for _ in range(10):
    ...     recent.learn(changes=0.0, watched=0.0, expected=0.1, changed=True)
    >>> recent.factor(changes=0.0, watched=0.0), recent.factor(changes=0.0, watched=1.0)
    (2.5, 1.0)
    """

    _found: Stored[list[float]]
    _expected: Stored[list[float]]

    def __init__(self) -> None:
        self._found, self._expected = [0.0] * (len(_LEVELS) + 2), [0.0] * (len(_LEVELS) + 2)

    def learn(self, *, changes: float, watched: float, expected: float, changed: bool) -> None:
        """Take in a fetch: the row of its page before, the chance given to a change, and what was found."""
        level = _level(changes, watched)
        self._found[level] += changed
        self._expected[level] += expected

    def factor(self, changes: float, watched: float) -> float:
        """Return what the rate of a page is multiplied by."""
        return self._factors()[_level(changes, watched)]

    def factors(self, changes: Floats, watched: NDArray[np.float16]) -> Floats:
        """Return `factor` of many pages, (n,)."""
        levels = np.searchsorted(_LEVELS, changes, side="right") + 1
        levels[watched == 0.0] = 0
        return np.array(self._factors())[levels]

    def _factors(self) -> list[float]:
        return [
            (found + _PRIOR) / (expected + _PRIOR)
            for found, expected in zip(self._found, self._expected, strict=True)
        ]


def _level(changes: float, watched: float) -> int:
    return bisect_right(_LEVELS, changes) + 1 if watched else 0


class Waiting(NamedTuple):
    """Pages that could be fetched again, as columns, (n,)."""

    # shape, days: what is believed of each page's rate, see `Belief`
    shape: Floats
    days: Floats
    importance: Floats  # what a fresh copy is worth beside that of another page, >= 0
    # links to new pages to expect a day, times what one is worth beside a fresh copy, >= 0
    discoveries: Floats


def worth(pages: Waiting, waited: Floats) -> Floats:
    """Return what a fetch of each page is worth after so many days, (n,) >= 0; rises with `waited`."""
    return pages.importance * stale_worth(pages.shape, pages.days, waited) + discovery_worth(
        pages.discoveries, waited
    )


def stale_worth(shape: Floats, days: Floats, waited: Floats) -> Floats:
    """Return the mean of Azar's (1 - (1 + D t) e^(-D t)) / D over what is believed of D, (n,) >= 0.

    With L = log(1 + t / b) it is b (1 - e^(-(a-1) L)) / (a - 1) - t e^(-a L), and b L - t e^(-L) for a = 1.
    """
    log = np.log1p(waited / days)
    less = (shape - 1.0) * log
    near = np.abs(less) < 1e-6
    decay = np.exp(-less)
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = np.where(near, log, (1.0 - decay) / (shape - 1.0))
    return np.maximum(days * grown - waited * decay * days / (days + waited), 0.0)


def discovery_worth(rate: Floats, waited: Floats) -> Floats:
    """Return what a fetch is worth for the links to new pages it may show: rate * t^2 / 2 page days.

    With an interval t, rate * t / 2 pages are undiscovered at a time. The derivative by the number of fetches
    a day is the worth of one more; Azar's is that of the same question for stale pages.
    """
    return rate * waited * waited / 2.0


def intervals(pages: Waiting, price: float) -> Floats:
    """Return after how many days a fetch of each page is worth a price, by the mean of each rate; (n,).

    Of a page worth fetching for both reasons frequencies add as squares: exact while both gains grow with
    the square of the time.
    """
    stale = stale_intervals(pages.shape / pages.days, pages.importance, price)
    with np.errstate(divide="ignore"):
        return 1.0 / np.hypot(1.0 / stale, np.sqrt(pages.discoveries / (2.0 * price)))


def stale_intervals(rate: Floats, weight: Floats, price: float) -> Floats:
    """Return after how many days Azar's worth times a weight is a price; infinite if it never is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = price * rate / weight
        found = np.interp(share, _SHARE, _GROWN, right=np.inf) / rate
        # below the table both are the same square
        return np.where(share < _SHARE[0], np.sqrt(2.0 * price / (rate * weight)), found)


def price_of(fetches: Callable[[float], float], per_day: float) -> float:
    """Return the least price at which there are no more than `per_day` > 0 fetches a day.

    Examples
    --------
    >>> round(price_of(lambda price: 100.0 / price, 4.0), 6)
    25.0
    """
    low, high = _LOWEST, _HIGHEST
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        if fetches(middle) > per_day:
            low = middle
        else:
            high = middle
    return high


def first_place(key: int, rounds: float) -> float:
    """Return when a page is due that was fetched once, in intervals, in [0, 1.5).

    While nothing is known of pages their intervals are alike, and those that were found together would be due
    together. So places are drawn by key. The first pages of a site queue up, each at a price for as many as
    there were then, or up to a third fewer. Once all were fetched again, another one comes
    anywhere within its interval.

    `key`: of the page.
    `rounds`: how often the pages of its site were fetched again, on the average.

    Examples
    --------
    >>> [[round(first_place(key, rounds), 1) for key in range(1, 5)] for rounds in (0.0, 0.5, 2.0)]
    [[1.3, 1.1, 1.4, 1.2], [1.0, 0.7, 1.1, 0.9], [0.6, 0.2, 0.9, 0.5]]
    """
    begun = min(1.0, rounds)
    drawn = key * GOLDEN % 2**64 / 2.0**64
    return 1.0 - begun + (1.0 + begun) / 2.0 * drawn


_SIGNAL_PRIOR = 2.0
"""Weight of the belief that a date says nothing, in fetches that surprise: some ten outweigh it. Chosen."""
_MOST_COUNTED = 200.0
"""A bound: where so much was counted, all counts are halved, so that a listing that fades is found out."""
_MOST_FACTOR = 1e6
"""A bound of what a signal multiplies the worth of a fetch by."""
_SMALL = 1e-3
"""Chance of being stale below which the formula would cancel, and its series is used."""


class Signals(Stateful):
    """Counts of one site. `moved` says whether the date of a page is later than its last fetch."""

    _moved: Stored[list[float]]
    _still: Stored[list[float]]

    def __init__(self) -> None:
        self._moved, self._still = [0.0, 0.0], [0.0, 0.0]

    def learn(self, *, stale: float, moved: bool, changed: bool, keep: float = 1.0) -> None:
        """Take in a fetch of a listed page.

        `stale`: chance that was given to its being changed, without the signal.
        `moved`, `changed`: what its date said, and what was found.
        `keep`: what earlier counts keep of themselves.
        """
        counts = self._moved if moved else self._still
        counts[:] = [keep * count for count in counts]
        if changed:
            counts[0] += 1.0 - stale  # E[changed (1 - p)] / E[unchanged p] is the factor on the odds of p
        else:
            counts[1] += stale
        if counts[0] + counts[1] > _MOST_COUNTED:
            counts[:] = [count / 2.0 for count in counts]

    def odds(self, *, moved: bool) -> float:
        """Return what the odds of being stale are multiplied by."""
        changed, same = self._moved if moved else self._still
        return (changed + _SIGNAL_PRIOR) / (same + _SIGNAL_PRIOR)

    def gain(self) -> float:
        """Return the share of a moved date that is news, in [0, 1]: 0 if it says nothing."""
        return max(0.0, 1.0 - 1.0 / self.odds(moved=True))

    def factors(self, fresh: Floats, fresh_since: Floats, moved: NDArray[np.bool_]) -> Floats:
        """Return what the worth of fetches of listed pages is multiplied by, (n,) > 0.

        `fresh`: chance that each copy is as its page, without the signal, in (0, 1].
        `fresh_since`: chance that a page did not change after the listing was read, likewise.
        `moved`: whether the date of each has moved.
        """
        until = fresh / fresh_since  # as it was when the listing was read
        still = until / (until + (1.0 - until) * self.odds(moved=False)) * fresh_since
        told = np.where(moved, fresh / (fresh + (1.0 - fresh) * self.odds(moved=True)), still)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = _gain(1.0 - told) / _gain(1.0 - fresh)
        return np.where(fresh < 1.0, np.minimum(found, _MOST_FACTOR), 1.0)


def noticed(trust: Signals, fresh: Floats, listed: Floats, moved: NDArray[np.bool_]) -> Floats:
    """Return what the worth of fetches of pages with notices is multiplied by, (n,) > 0.

    A notice never makes a fetch worth less: else who lies of some pages could hold others back. Where a
    date moved too, the better of both counts, for both tell of one change.

    `trust`: what notices were worth.
    `fresh`: chance that each copy is as its page, without any signal, in (0, 1].
    `listed`, `moved`: factors by the dates of listings, 1 where there is none; whether a date has moved.
    """
    ones = np.ones(len(fresh))
    told = np.maximum(1.0, trust.factors(fresh, ones, ones > 0.0))
    return np.where(moved, np.maximum(told, listed), told * listed)


def _gain(stale: Floats) -> Floats:
    """Return Azar's worth times the rate, by the chance of being stale: q + (1 - q) log(1 - q)."""
    safe = np.clip(stale, _SMALL, 1.0 - 1e-12)
    exact = safe + (1.0 - safe) * np.log1p(-safe)
    return np.where(stale < _SMALL, stale * stale / 2.0, exact)


FORECAST_PAGES = 16
"""Pages of a site that is not looked at to tell whether it has some that are due: .8 KB. Chosen."""
_COLUMNS = 2 + len(Waiting._fields)


def days_since(last: NDArray[Any], now_s: float) -> Floats:
    """Return how many days went by since the last fetches, in seconds since the epoch."""
    waited: Floats = np.maximum(0.0, now_s - last) / DAY_S
    return waited


def due_worth(
    waiting: Waiting, waited: Floats, is_gone: NDArray[np.bool_], settings: RevisitSettings
) -> Floats:
    """Return what a fetch of each page is worth after so many days: infinite if it waited too long, -1 if it
    is not due. One that is gone is looked at once more after the longest interval."""
    seconds = waited * DAY_S
    is_late = seconds >= settings.longest_s
    found = np.where(is_late, np.inf, worth(waiting, waited))
    return np.where((seconds < settings.least_s) | (is_gone & ~is_late), -1.0, found)


def forecast(last: NDArray[Any], gone: NDArray[Any], waiting: Waiting) -> bytes:
    """Return the pages of a site as `sites_due` takes them."""
    return np.column_stack([last, gone, *waiting]).astype(np.float64).tobytes()


def sites_due(sites: Mapping[str, bytes], now_s: float, settings: RevisitSettings, n: int) -> set[str]:
    """Return the sites that have the n pages due first, by the `forecast` of each; of equals the first."""
    pages = np.frombuffer(b"".join(sites.values())).reshape(-1, _COLUMNS)
    last, gone, *waiting = pages.T
    values = due_worth(Waiting(*waiting), days_since(last, now_s), gone != 0.0, settings)
    best = np.argsort(-values, kind="stable")[:n]
    names = [name for name, each in sites.items() for _ in range(len(each) // (8 * _COLUMNS))]
    return {names[row] for row in best[values[best] >= 0.0].tolist()}
