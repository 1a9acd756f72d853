"""News prefixes: the folders and programs of a site under which news lies (Wang 2008)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, groupby

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.hashing import hash64
from linkscore_scoring.types import UrlRule

_MOSTLY = 0.5
"""A folder with less news is one of other pages: the better guess for any page of it."""

_MAX_MISFITS = 0.05
"""Greatest share of pages below a prefix that lie in folders of other pages. Measured:
research/notebook/news-from-logs.md."""

_FOLDS = 4
"""Parts for held-out coverage: each is looked up in what three quarters of the pages teach. Chosen, not
measured."""

_SPECIAL = re.compile(r"[.^$*+?()\[\]{}|\\]")

MIN_PAGES = 3
"""Pages that a prefix must be learned from; the paper has no such bound."""

_MAX_PREFIXES = 10_000
"""A bound of memory: prefixes that are kept, those that hold most news."""

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
Values = NDArray[np.float64]
Steps = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class NewsPrefix:
    """A prefix under which pages are news."""

    text: str  # host and path without scheme, ending in ``/`` (folder) or ``?`` (program, any query)
    share: float  # share of news under it: best guess, and what it is at least with 90 % confidence
    at_least: float
    pages: int  # pages it was learned from
    example: str  # one of them

    def rule(self) -> UrlRule:
        """Return the prefix as a regular expression: RE2, anchored at the start, of either scheme."""
        text = _SPECIAL.sub(lambda match: f"\\{match[0]}", self.text)
        return UrlRule(
            kind="news",
            pattern=f"^https?://{text}",
            confidence=self.at_least,
            match_count=round(self.share * self.pages),
            total_count=self.pages,
            example_url=self.example,
        )


def steps_of(url: str) -> list[str]:
    """Return the nodes above a page: host, folders, program; together they are the longest prefix it has."""
    rest = url.partition("#")[0].partition("://")[2]
    path, mark, _ = rest.partition("?")
    *above, page = path.split("/") if "/" in path else (path, "")
    steps = [f"{step}/" for step in above]
    return [*steps, f"{page}?"] if mark else steps


def find_prefixes(
    pages: NewsPages, rate: Rate, *, theta: float, min_pages: int, misfits: Mask | None
) -> list[NewsPrefix]:
    """Return the topmost nodes whose share of news is above `theta`; none lies below another.

    Wang 2008, section 5.2, but for `misfits`, pages that lie where news does not: a node with too many of
    them is looked into, not chosen.
    """
    found, steps = list[NewsPrefix](), pages.steps
    todo = list(_children([], sorted(range(len(steps)), key=lambda row: list(steps[row])), steps))
    while todo:
        path, below = todo.pop()
        if len(below) < min_pages:
            continue
        rows = np.array(below, dtype=np.intp)
        share, at_least = rate(rows)
        if share > theta and (misfits is None or misfits[rows].mean() <= _MAX_MISFITS):
            found.append(NewsPrefix("".join(path), share, at_least, len(below), pages.urls[below[0]]))
        else:
            todo += _children(path, below, steps)
    return found


def misfits_of(groups: Sequence[Rows], rate: Rate, n: int) -> Mask:
    """Return the pages, of `n`, whose group (see `lowest_nodes`) is mostly other pages, (n,) bool."""
    found = np.zeros(n, dtype=np.bool_)
    for rows in groups:
        found[rows] = rate(rows)[0] < _MOSTLY
    return found


def _children(path: list[str], rows: list[int], steps: Steps) -> Iterator[tuple[list[str], list[int]]]:
    """Yield the nodes right below one, with their pages; rows are sorted, those of a child are neighbours."""
    depth = len(path)
    below = [row for row in rows if len(steps[row]) > depth]
    for step, group in groupby(below, lambda row: steps[row][depth]):
        yield [*path, step], list(group)


def lowest_nodes(steps: Steps, min_pages: int) -> list[Rows]:
    """Return the pages by the lowest node above each that has at least so many pages, as row numbers."""
    above = [list(accumulate(path)) for path in steps]
    sizes = Counter(chain.from_iterable(above))
    groups: dict[str, list[int]] = {}
    for row, nodes in enumerate(above):
        lowest = next((node for node in reversed(nodes) if sizes[node] >= min_pages), None)
        if lowest is not None:
            groups.setdefault(lowest, []).append(row)
    return [np.array(rows, dtype=np.intp) for rows in groups.values()]


def prefix_of(url: str, prefixes: Collection[str]) -> str:
    """Return the prefix that a URL lies under, empty if there is none; O(path length)."""
    return next((at for at in accumulate(steps_of(url)) if at in prefixes), "")


@dataclass(slots=True)
class NewsPages:
    """Pages to learn prefixes from, as columns of equal length."""

    urls: Sequence[str]  # their identities, and the nodes above them; see `steps_of`
    steps: Sequence[list[str]]
    is_news: NDArray[np.bool_]  # (n,) bool: the best guess
    # (n,) float64: ln(p(signal | news) / p(signal | other)), +-`CERTAIN` where somebody said it.
    ratios: NDArray[np.float64]

    def part(self, rows: NDArray[np.intp]) -> NewsPages:
        """Return some of the pages."""
        chosen = rows.tolist()
        return NewsPages(
            [self.urls[row] for row in chosen],
            [self.steps[row] for row in chosen],
            self.is_news[rows],
            self.ratios[rows],
        )


def learn_prefixes(pages: NewsPages, theta: float) -> list[NewsPrefix]:
    """Return the news prefixes of a site, by text: nodes whose share of news is above `theta`."""
    groups = lowest_nodes(pages.steps, MIN_PAGES)
    rate = WeighedRates(pages.ratios, groups)
    misfits = misfits_of(groups, rate, len(pages.urls))
    found = find_prefixes(pages, rate, theta=theta, min_pages=MIN_PAGES, misfits=misfits)
    fullest = sorted(found, key=lambda prefix: (-prefix.share * prefix.pages, prefix.text))
    return sorted(fullest[:_MAX_PREFIXES], key=lambda prefix: prefix.text)


def held_out_coverage(pages: NewsPages, theta: float) -> float:
    """Return the share of news that lies below prefixes learned from other pages."""
    if not pages.is_news.any():
        return 0.0
    part = np.array([hash64(url) % _FOLDS for url in pages.urls], dtype=np.intp)
    inside = 0
    for fold in range(_FOLDS):
        learned = learn_prefixes(pages.part(np.flatnonzero(part != fold)), theta)
        texts = {prefix.text for prefix in learned}
        others = np.flatnonzero((part == fold) & pages.is_news)
        inside += sum(bool(prefix_of(pages.urls[row], texts)) for row in others.tolist())
    return inside / int(pages.is_news.sum())


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


Rate = Callable[[Rows], tuple[float, float]]
"""Tells the share of news among some pages, given as rows: best guess, and what it is at least (90 %)."""


class WeighedRates:
    """Share from evidence page by page: what mixture of news and other pages explains it best.

    Counting what a threshold calls news is biased: of a folder of news alone it may find three quarters. Here
    a page in doubt counts as doubt, and a small folder leans to what folders of the site are like: a Beta
    prior of largest marginal likelihood. Ours (empirical Bayes).
    """

    def __init__(self, ratios: Values, groups: Sequence[Rows]) -> None:
        self._grid = (np.arange(_CELLS) + 0.5) / _CELLS
        self._levels = np.searchsorted((_LEVELS[1:] + _LEVELS[:-1]) / 2, ratios)
        self._table = np.log1p(self._grid * np.expm1(_LEVELS)[:, None])
        self.prior = self._fit_prior(groups)

    def __call__(self, rows: Rows) -> tuple[float, float]:
        """Return the posterior mean of the share of news among some pages, and its 10 % quantile."""
        posterior = _normalised(self._likelihood(rows) + self._log_beta(*self.prior))
        low = int(np.searchsorted(np.cumsum(posterior), 0.1))
        return float(posterior @ self._grid), float(self._grid[min(low, _CELLS - 1)])

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
