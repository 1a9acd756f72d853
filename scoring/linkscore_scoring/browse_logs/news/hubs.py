"""Pages from which visitors went to many news pages: where a crawl for news starts (Wang 2008)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts


@dataclass(frozen=True, slots=True)
class Hub:
    """A page that links to news.

    Attributes
    ----------
    url
        Its identity.
    news, links
        Distinct news pages, and distinct pages of any kind, that visitors went to from it.
    gain
        News pages among them that no hub before this one links to.
    """

    url: str
    news: int
    links: int
    gain: int


def hub_seeds(counts: BrowseCounts, is_news: NDArray[np.bool_], n: int, *, by_gain: bool = True) -> list[Hub]:
    """Return the `n` best pages to find news from, best first; all of them link to news.

    A page links to another if some record has the one as referrer and the other as target; links to itself
    do not count. Ties: higher share of news among the links, then URL. Cost: O(links log links).

    Parameters
    ----------
    is_news
        (n_urls,) bool.
    by_gain
        Each next hub is the one that links to most news pages not linked yet (greedy cover); hubs that add
        none come last, by the number of their news pages. False orders by that number alone, as the paper.

    References
    ----------
    Wang 2008, section 5.1. Difference from the paper: `by_gain`, since the fullest lists of a site mostly
    repeat each other.
    """
    inside = (counts.from_urls != OUTSIDE) & (counts.from_urls != counts.to_urls)
    size = max(1, len(counts.urls))
    pages, targets = np.divmod(np.unique(counts.from_urls[inside] * size + counts.to_urls[inside]), size)
    links = np.bincount(pages, minlength=size)
    to_news: dict[int, set[int]] = {}
    lead = is_news[targets]
    for page, target in zip(pages[lead].tolist(), targets[lead].tolist(), strict=True):
        to_news.setdefault(page, set()).add(target)
    sizes = {page: (len(news), int(links[page])) for page, news in to_news.items()}
    ranked = sorted(sizes, key=lambda page: (*_rank(*sizes[page]), counts.urls[page]))
    ordered = _covering(ranked, to_news) if by_gain else _as_ranked(ranked, to_news)
    return [Hub(counts.urls[page], *sizes[page], gain) for page, gain in islice(ordered, n)]


def _rank(news: int, links: int) -> tuple[float, float]:
    return -news, -news / links


def _as_ranked(ranked: list[int], to_news: dict[int, set[int]]) -> Iterator[tuple[int, int]]:
    covered: set[int] = set()
    for page in ranked:
        yield page, len(to_news[page] - covered)
        covered |= to_news[page]


def _covering(ranked: list[int], to_news: dict[int, set[int]]) -> Iterator[tuple[int, int]]:
    """Yield pages and their gains, largest gain first; a gain only falls, so the heap bounds it."""
    covered: set[int] = set()
    heap = [(-len(to_news[page]), place, page) for place, page in enumerate(ranked)]
    heapify(heap)
    spent: list[tuple[int, int]] = []
    while heap:
        _, place, page = heappop(heap)
        gain = len(to_news[page] - covered)
        if gain == 0:
            spent.append((place, page))
            continue
        entry = (-gain, place, page)
        if heap and heap[0] < entry:
            heappush(heap, entry)
            continue
        covered |= to_news[page]
        yield page, gain
    yield from ((page, 0) for _, page in sorted(spent))
