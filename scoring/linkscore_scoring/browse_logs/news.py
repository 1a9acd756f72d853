"""News of a site, from its browse log (Wang 2008): which pages are news, where they lie, what leads to them.

`mine_news` goes through it in order: the signal of every page, prefixes, hubs; `mine_crawl`
does it over all sites of a crawl at once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heapreplace
from itertools import accumulate, chain, groupby, islice

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_scoring.columns import Floats
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

THETA = 0.8
"""Share of news above which a prefix is one: Wang 2008, section 6.1."""

_DAILY_CLICKS = 1.0
"""Least mean of daily clicks of a page that is looked at: Wang 2008, section 3."""

MIN_PAGES = 3
"""Pages that a prefix must be learned from; the paper has no such bound."""

_MAX_PREFIXES = 10_000
"""A bound of memory: prefixes that are kept, those that hold most news."""

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]
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
    # (n,) float64: ln(p(signal | news) / p(signal | other))
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


def learn_prefixes(pages: NewsPages) -> list[NewsPrefix]:
    """Return the news prefixes of a site, by text: nodes whose share of news is above `THETA`."""
    groups = lowest_nodes(pages.steps, MIN_PAGES)
    rate = WeighedRates(pages.ratios, groups)
    misfits = np.zeros(len(pages.urls), dtype=np.bool_)  # their group is mostly other pages
    for rows in groups:
        misfits[rows] = rate(rows)[0] < _MOSTLY
    found = find_prefixes(pages, rate, theta=THETA, min_pages=MIN_PAGES, misfits=misfits)
    fullest = sorted(found, key=lambda prefix: (-prefix.share * prefix.pages, prefix.text))
    return sorted(fullest[:_MAX_PREFIXES], key=lambda prefix: prefix.text)


def held_out_coverage(pages: NewsPages) -> float:
    """Return the share of news that lies below prefixes learned from other pages."""
    if not pages.is_news.any():
        return 0.0
    part = np.array([hash64(url) % _FOLDS for url in pages.urls], dtype=np.intp)
    inside = 0
    for fold in range(_FOLDS):
        learned = learn_prefixes(pages.part(np.flatnonzero(part != fold)))
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

# Ratios are rounded to these, so that pages can be counted by level; signals are in (-1, 1).
_LEVELS = np.arange(-160, 161) * 0.05


Rate = Callable[[Rows], tuple[float, float]]
"""Tells the share of news among some pages, given as rows: best guess, and what it is at least (90 %)."""


class WeighedRates:
    """Share from evidence page by page: what mixture of news and other pages explains it best.

    Counting what a threshold calls news is biased: of a folder of news alone it may find three quarters. Here
    a page in doubt counts as doubt, and a small folder leans to what folders of the site are like: a Beta
    prior of largest marginal likelihood. Ours (empirical Bayes).
    """

    def __init__(self, ratios: Floats, groups: Sequence[Rows]) -> None:
        self._grid = (np.arange(_CELLS) + 0.5) / _CELLS
        self._levels = np.searchsorted((_LEVELS[1:] + _LEVELS[:-1]) / 2, ratios)
        self._table = np.log1p(self._grid * np.expm1(_LEVELS)[:, None])
        self.prior = self._fit_prior(groups)

    def __call__(self, rows: Rows) -> tuple[float, float]:
        """Return the posterior mean of the share of news among some pages, and its 10 % quantile."""
        posterior = _normalised(self._likelihood(rows) + self._log_beta(*self.prior))
        low = int(np.searchsorted(np.cumsum(posterior), 0.1))
        return float(posterior @ self._grid), float(self._grid[min(low, _CELLS - 1)])

    def _likelihood(self, rows: Rows) -> Floats:
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

    def _log_beta(self, a: float, b: float) -> Floats:
        density = (a - 1) * np.log(self._grid) + (b - 1) * np.log1p(-self._grid)
        return np.asarray(density, dtype=np.float64)


def _normalised(logs: Floats) -> Floats:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)


DECAY_DAYS = 5.0
"""Days in which clicks on news fall to a third. Between 3 and 8 it tells news from other pages equally well
on three logs, see research/notebook/news-from-logs.md."""

MAX_SEEDS = 1_000
"""Seeds that are kept: a bound, as many as `SuggestSeeds` gives."""


_MIN_COVERAGE = 0.2
"""Share of the news that must lie below prefixes learned from other pages, else a model abstains. Chosen."""

_MAX_HUBS = 100
"""A bound: hubs of a site that are kept."""


def decay_gain(counts: BrowseCounts) -> Floats:
    """Return how much better decay explains the clicks of each page than even clicks do; ours.

    The mean over clicks of ln(p(age of the page | exp(-age / 5 days)) / p(age | even)), both cut off at the
    end of the window, squeezed by tanh: (n_urls,) in (-1, 1), above 0 for decay, 0 without clicks.
    The paper's concentration cannot exceed days seen / m, so it calls no page news that was seen for a week.
    """
    n, first, days = len(counts.urls), counts.first_days(), DECAY_DAYS
    totals = np.bincount(counts.click_urls, counts.clicks, n)
    ages = counts.clicks * (counts.click_days - first[counts.click_urls])
    mean_age = np.bincount(counts.click_urls, ages, n) / np.maximum(totals, 1.0)
    seen = np.maximum(counts.n_days - first, 1)
    mass = -np.expm1(-seen / days) / -np.expm1(-1.0 / days)
    return np.asarray(np.where(totals > 0, np.tanh(np.log(seen / mass) - mean_age / days), 0.0))


@dataclass(frozen=True, slots=True)
class Hub:
    """A page that links to news."""

    url: str  # its identity
    news: int  # distinct news pages, and distinct pages of any kind, that visitors went to from it
    links: int
    gain: int  # news pages among them that no hub before this one links to


def hub_seeds(counts: BrowseCounts, is_news: Mask, n: int) -> list[Hub]:
    """Return the `n` best pages to find news from, best first; all of them link to news (Wang 2008, section
    5.1).

    A page links to another if a record has the one as referrer and the other as target. Each next hub is the
    one that links to most news not linked yet, since the fullest lists of a site mostly repeat each other;
    ties are in the paper's order: by news, then by their share of the links, then by URL.
    """
    inside = (counts.from_urls != OUTSIDE) & (counts.from_urls != counts.to_urls)
    size = max(1, len(counts.urls))
    pages, targets = np.divmod(np.unique(counts.from_urls[inside] * size + counts.to_urls[inside]), size)
    links = np.bincount(pages, minlength=size)
    to_news: dict[int, set[int]] = {}
    lead = is_news[targets]
    for page, target in zip(pages[lead].tolist(), targets[lead].tolist(), strict=True):
        to_news.setdefault(page, set()).add(target)
    ranked = sorted(to_news, key=lambda page: (-len(to_news[page]), links[page], counts.urls[page]))
    return [
        Hub(counts.urls[page], len(to_news[page]), int(links[page]), gain)
        for page, gain in islice(_covering(ranked, to_news), n)
    ]


def _covering(ranked: list[int], to_news: dict[int, set[int]]) -> Iterator[tuple[int, int]]:
    """Yield pages and their gains, largest gain first; a gain only falls, so the heap bounds it."""
    covered: set[int] = set()
    heap = [(-len(to_news[page]), place, page) for place, page in enumerate(ranked)]
    heapify(heap)
    while heap:
        bound, place, page = heap[0]
        gain = len(to_news[page] - covered)
        if gain < -bound:
            heapreplace(heap, (-gain, place, page))
        else:
            heappop(heap)
            covered |= to_news[page]
            yield page, gain


@dataclass
class NewsModel:
    """News of one site, mined from one window of its browse log."""

    pages: int  # pages with enough clicks, and of them news
    news: int
    prefixes: list[NewsPrefix]  # news prefixes, by text; none lies below another
    # Share of the news that lies below prefixes learned from other pages; see `held_out_coverage`.
    covered: float
    hubs: list[Hub]  # pages that link to news, best first
    reason: str  # why the model abstains; empty if it does not

    @cached_property
    def _by_text(self) -> dict[str, NewsPrefix]:
        return {prefix.text: prefix for prefix in self.prefixes}

    @cached_property
    def hub_of(self) -> dict[str, Hub]:
        """The hubs by URL without its scheme: a page is the same hub by http and by https."""
        return {hub.url.partition("://")[2]: hub for hub in self.hubs}

    def below(self, url: str) -> NewsPrefix | None:
        """Return the prefix that a URL lies below."""
        return self._by_text.get(prefix_of(url, self._by_text))

    def summary(self) -> str:
        """Say in one sentence what was learned, or why nothing was."""
        seen = f"{self.news} of {self.pages} pages are news"
        if self.reason:
            return f"abstains: {self.reason}; {seen}"
        return f"{len(self.prefixes)} news prefixes hold {self.covered:.0%} of the news; {seen}"


# Log-likelihood ratio of news against other pages by signal: rounded means of what labelled pages of three
# sites gave, which lie close together.
_SLOPE, _OFFSET = 3.4, 1.0


def mine_news(counts: BrowseCounts, *, max_hubs: int = _MAX_HUBS) -> NewsModel:
    """Return what the browse log of a site tells about its news (Wang 2008, sections 4 and 5).

    The model abstains where prefixes do not hold the news of pages
    they were not learned from.
    """
    rows, signals = page_signals(counts)
    is_news = signals > 0.0
    urls = [counts.urls[row] for row in rows.tolist()]
    pages = NewsPages(urls, [steps_of(url) for url in urls], is_news, _SLOPE * signals + _OFFSET)
    of_all_urls = np.isin(np.arange(len(counts.urls)), rows[is_news])
    model = NewsModel(
        pages=len(is_news),
        news=int(is_news.sum()),
        prefixes=learn_prefixes(pages),
        covered=held_out_coverage(pages),
        hubs=hub_seeds(counts, of_all_urls, max_hubs),
        reason="",
    )
    model.reason = _reason(model)
    return model


def page_signals(counts: BrowseCounts) -> tuple[NDArray[np.intp], Floats]:
    """Return the pages that have enough clicks, as rows of the URLs, and the signal of each."""
    totals = np.bincount(counts.click_urls, counts.clicks, len(counts.urls))
    rows = np.flatnonzero((totals > 0) & (totals >= _DAILY_CLICKS * counts.n_days))
    return rows, decay_gain(counts)[rows]


def _reason(model: NewsModel) -> str:
    if not model.pages:
        return f"no page of the log has {_DAILY_CLICKS:g} clicks a day"
    if not model.news:
        return "no page of the log is news"
    if not model.prefixes or model.covered < _MIN_COVERAGE:
        few = f"{len(model.prefixes)} folders or programs are more than {THETA:.0%} news"
        held = f"of pages they were not learned from they hold {model.covered:.0%} of the news"
        return f"URLs carry no news prefix ({few}; {held})"
    return ""


@dataclass(frozen=True, slots=True)
class CrawlSeed:
    """A page to start a crawl for news from."""

    url: str  # A hub, or the front page of a host
    news: int  # distinct news pages, and those that no seed before leads to
    gain: int
    is_hub: bool  # visitors went from it to the news; else nobody knows what leads to the news of its host


@dataclass(frozen=True, slots=True)
class CrawlNews:
    """News of all sites of a crawl, mined from one window of its browse log."""

    model: NewsModel  # prefixes, hubs, and how news was told, over all sites at once
    hosts: int  # hosts with news
    seeds: list[CrawlSeed]  # where to start, best first

    def summary(self) -> str:
        """Say in one sentence what was learned."""
        return f"{self.hosts} hosts have news: {self.model.summary()}"


def mine_crawl(counts: BrowseCounts) -> CrawlNews:
    """Return what the browse log of a crawl tells about news, whatever site it is on (Wang 2008, sections 5,
    6).

    `counts` are of all sites. A host whose news no known page leads to is started at its front page.
    """
    model = mine_news(counts, max_hubs=MAX_SEEDS)
    rows, signals = page_signals(counts)
    is_news = np.isin(np.arange(len(counts.urls)), rows[signals > 0.0])
    found = [CrawlSeed(hub.url, hub.news, hub.gain, is_hub=True) for hub in model.hubs]
    found += _front_pages(counts, is_news, model.hubs)
    found.sort(key=lambda seed: -seed.gain)
    n_hosts = len({_root(counts.urls[row]) for row in np.flatnonzero(is_news).tolist()})
    return CrawlNews(model, n_hosts, found[:MAX_SEEDS])


def _front_pages(counts: BrowseCounts, is_news: NDArray[np.bool_], hubs: list[Hub]) -> list[CrawlSeed]:
    """Return the front pages of hosts with news that no page leads to, but for those that are hubs."""
    led = (counts.from_urls != OUTSIDE) & (counts.from_urls != counts.to_urls)
    alone = is_news.copy()
    alone[counts.to_urls[led]] = False
    news = Counter(_root(counts.urls[row]) for row in np.flatnonzero(alone).tolist())
    for hub in hubs:
        news.pop(hub.url, None)
    return [CrawlSeed(root, n, n, is_hub=False) for root, n in sorted(news.items())]


def _root(url: str) -> str:
    """Return the front page of the host of a URL that is an identity."""
    return url[: url.index("/", url.index("://") + 3) + 1]
