"""News prefixes from pages of which is known, or guessed, whether they are news (Wang 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.news.model import NewsPrefix
from linkscore_scoring.browse_logs.news.prefix_tree import (
    Mask,
    PrefixTrie,
    Rate,
    find_prefixes,
    lowest_nodes,
    misfits_of,
)
from linkscore_scoring.browse_logs.news.rates import CountedRates, WeighedRates
from linkscore_scoring.browse_logs.news.settings import NewsSettings
from linkscore_scoring.hashing import hash64

_MAX_MISFITS = 0.05
_FOLDS = 4


@dataclass(slots=True)
class NewsPages:
    """Pages to learn prefixes from, as columns of equal length.

    Attributes
    ----------
    urls, steps
        Their identities, and the nodes above them; see `prefix_tree.steps_of`.
    is_news
        (n,) bool: the best guess.
    ratios
        (n,) float64: ln(p(signal | news) / p(signal | other)), +-30 if it is certain.
    """

    urls: Sequence[str]
    steps: Sequence[list[str]]
    is_news: NDArray[np.bool_]
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


def learn_prefixes(pages: NewsPages, settings: NewsSettings) -> list[NewsPrefix]:
    """Return the news prefixes of a site, by text; cost as `find_prefixes`."""
    rate, misfits = _rated(pages, settings)
    found = find_prefixes(
        pages.steps,
        rate,
        theta=settings.theta,
        min_pages=settings.min_pages,
        misfits=misfits,
        max_misfits=_MAX_MISFITS,
    )
    fullest = sorted(found, key=lambda prefix: (-prefix.rate.share * prefix.pages, prefix.text))
    kept = sorted(fullest[: settings.max_prefixes], key=lambda prefix: prefix.text)
    return [NewsPrefix(p.text, p.rate.share, p.rate.at_least, p.pages, pages.urls[p.example]) for p in kept]


def _rated(pages: NewsPages, settings: NewsSettings) -> tuple[Rate, Mask | None]:
    if not settings.weighed:
        return CountedRates(pages.is_news), None
    groups = lowest_nodes(pages.steps, settings.min_pages)
    rate = WeighedRates(pages.ratios, groups)
    return rate, misfits_of(groups, rate, len(pages.urls))


def held_out_coverage(pages: NewsPages, settings: NewsSettings) -> float:
    """Return the share of news that lies below prefixes learned from other pages.

    Four parts are drawn by hash, each is looked up in what the other three teach. Where each article has a
    folder of its own, prefixes hold the pages they were learned from and no others: then this is near 0.
    """
    if not pages.is_news.any():
        return 0.0
    part = np.array([hash64(url) % _FOLDS for url in pages.urls], dtype=np.intp)
    inside = 0
    for fold in range(_FOLDS):
        learned = learn_prefixes(pages.part(np.flatnonzero(part != fold)), settings)
        trie = PrefixTrie([prefix.text for prefix in learned])
        others = np.flatnonzero((part == fold) & pages.is_news)
        inside += sum(trie.find(pages.urls[row]) >= 0 for row in others.tolist())
    return inside / int(pages.is_news.sum())
