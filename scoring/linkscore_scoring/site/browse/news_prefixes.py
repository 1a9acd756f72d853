"""News prefixes from pages of which is known, or guessed, whether they are news (Wang 2008)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.features.hashing import hash64
from linkscore_scoring.site.browse.news import NewsPrefix
from linkscore_scoring.site.browse.news_rates import CountedRates, WeighedRates
from linkscore_scoring.site.browse.news_settings import NewsSettings
from linkscore_scoring.site.browse.prefix_tree import PrefixTrie, find_prefixes, lowest_nodes, steps_of

_MAX_MIXED = 0.05


@dataclass(slots=True)
class NewsPages:
    """Pages to learn prefixes from, as columns of equal length.

    Attributes
    ----------
    urls
        Their identities.
    is_news
        (n,) bool: the best guess.
    ratios
        (n,) float64: ln(p(signal | news) / p(signal | other)), +-30 if it is certain.
    """

    urls: Sequence[str]
    is_news: NDArray[np.bool_]
    ratios: NDArray[np.float64]

    def part(self, rows: NDArray[np.intp]) -> NewsPages:
        """Return some of the pages."""
        return NewsPages([self.urls[row] for row in rows], self.is_news[rows], self.ratios[rows])


def learn_prefixes(pages: NewsPages, settings: NewsSettings) -> list[NewsPrefix]:
    """Return the news prefixes of a site, by text; cost as `find_prefixes`."""
    steps = [steps_of(url) for url in pages.urls]
    found = find_prefixes(
        steps,
        WeighedRates(pages.ratios, lowest_nodes(steps, settings.min_pages))
        if settings.weighed
        else CountedRates(pages.is_news),
        theta=settings.theta,
        min_pages=settings.min_pages,
        max_mixed=_MAX_MIXED if settings.weighed else 1.0,
    )
    return [NewsPrefix(p.text, p.rate.share, p.rate.at_least, p.pages, pages.urls[p.example]) for p in found]


def held_out_coverage(pages: NewsPages, settings: NewsSettings) -> float:
    """Return the share of news that lies below prefixes learned from the other half of the pages.

    Halves are drawn by hash, each serves once. Where each article has a folder of its own, prefixes hold
    the pages they were learned from and no others: then this is near 0.
    """
    side = np.array([hash64(url) & 1 for url in pages.urls], dtype=np.intp)
    inside = 0
    for half in (0, 1):
        learned = learn_prefixes(pages.part(np.flatnonzero(side == half)), settings)
        trie = PrefixTrie([prefix.text for prefix in learned])
        others = np.flatnonzero((side != half) & pages.is_news)
        inside += sum(trie.find(pages.urls[row]) >= 0 for row in others.tolist())
    return inside / max(1, int(pages.is_news.sum()))
