"""How large the share of news among some pages is, from labels or from doubtful evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.intp]
Values = NDArray[np.float64]

_Z = 1.2815515655446004
"""90 % quantile of the normal distribution: bounds hold with 90 % confidence, one-sided."""

_CELLS = 200
"""Shares that a posterior knows, half a percent apart. Chosen, not measured."""

_STRENGTHS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Strengths of the Beta priors tried, in pages: from "a folder is all news or none" to "folders are
alike"."""

# Means of the Beta priors tried.
_MEANS = np.arange(0.05, 1.0, 0.05)

CERTAIN = 30.0
"""Log-likelihood ratio of a page of which somebody said what it is: e^30, so that no other page outweighs
it."""

# Ratios are rounded to these, so that pages can be counted by level; beyond e^8 to one a page is as good as
# certain.
_LEVELS = np.concatenate([[-CERTAIN], np.arange(-160, 161) * 0.05, [CERTAIN]])


@dataclass(frozen=True, slots=True)
class NodeRate:
    """Share of news among the pages of a node: best guess, and what it is at least with 90 % confidence."""

    share: float
    at_least: float


Rate = Callable[[Rows], NodeRate]
"""Tells the share of news among some pages, given as row numbers."""


class CountedRates:
    """Share by counting pages that are news, as Wang 2008 does; at least the lower end of Wilson's interval.

    Parameters
    ----------
    is_news
        (n_pages,) bool.

    Examples
    --------
    >>> rate = CountedRates(np.array([True, True, True, False]))(np.arange(4))
    >>> rate.share, round(rate.at_least, 2)
    (0.75, 0.43)
    """

    def __init__(self, is_news: NDArray[np.bool_]) -> None:
        self._is_news = is_news

    def __call__(self, rows: Rows) -> NodeRate:
        """Return the share of news among some pages, at least one."""
        news, n = int(self._is_news[rows].sum()), len(rows)
        return NodeRate(news / n, wilson_lower(news, n))


def wilson_lower(hits: int, n: int) -> float:
    """Return what a share is at least, given `hits` of `n` >= 1, with 90 % confidence (one-sided)."""
    share, square = hits / n, _Z * _Z
    spread = _Z * np.sqrt(share * (1 - share) / n + square / (4 * n * n))
    return float(max(0.0, (share + square / (2 * n) - spread) / (1 + square / n)))


class WeighedRates:
    """Share from evidence page by page: what mixture of news and other pages explains it best.

    Counting what a threshold calls news is biased: of a folder of news alone it may find three quarters. Here
    a page in doubt counts as what it is, doubt, and a small folder leans to what folders of the site are
    like. Ratios are rounded to 0.05. Cost: O(30,000 n_groups) to learn the prior, O(n_rows + 60,000) a
    rating at most. Source: ours (empirical Bayes).

    Parameters
    ----------
    ratios
        (n_pages,) float64: ln(p(seen | news) / p(seen | other)) of each page; `CERTAIN` where it is known.
    groups
        (n_groups,) row numbers of pages that lie together. How alike such pages are, from "each folder is
        all news or none" to "folders tell nothing", is learned from them: a Beta prior of largest marginal
        likelihood among 133.
    """

    def __init__(self, ratios: Values, groups: Sequence[Rows]) -> None:
        self._grid = (np.arange(_CELLS) + 0.5) / _CELLS
        self._levels = np.searchsorted((_LEVELS[1:] + _LEVELS[:-1]) / 2, ratios)
        self._table = np.log1p(self._grid * np.expm1(_LEVELS)[:, None])
        self.prior = self._fit_prior(groups)

    def __call__(self, rows: Rows) -> NodeRate:
        """Return the posterior mean of the share of news among some pages, and its 10 % quantile."""
        posterior = _normalised(self._likelihood(rows) + self._log_beta(*self.prior))
        low = int(np.searchsorted(np.cumsum(posterior), 0.1))
        return NodeRate(float(posterior @ self._grid), float(self._grid[min(low, _CELLS - 1)]))

    def _likelihood(self, rows: Rows) -> Values:
        """Return the log-likelihood of each share of the grid, (200,)."""
        levels = self._levels[rows]
        if len(levels) < len(_LEVELS):
            return np.asarray(self._table[levels].sum(axis=0), dtype=np.float64)
        return np.asarray(np.bincount(levels, minlength=len(_LEVELS)) @ self._table, dtype=np.float64)

    def _fit_prior(self, groups: Sequence[Rows]) -> tuple[float, float]:
        found = np.array([self._likelihood(rows) for rows in groups]).reshape(len(groups), _CELLS)
        shifts = found.max(axis=1, initial=0.0)
        likelihoods = np.exp(found - shifts[:, None])
        priors = [(mean * s, (1 - mean) * s) for s in reversed(_STRENGTHS) for mean in _MEANS]
        fits = [np.log(likelihoods @ _normalised(self._log_beta(*prior))).sum() for prior in priors]
        return priors[int(np.argmax(fits))]

    def _log_beta(self, a: float, b: float) -> Values:
        density = (a - 1) * np.log(self._grid) + (b - 1) * np.log1p(-self._grid)
        return np.asarray(density, dtype=np.float64)


def _normalised(logs: Values) -> Values:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)
