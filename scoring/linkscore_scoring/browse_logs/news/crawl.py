"""News over all sites of a crawl: one threshold, one tree of prefixes, hubs wherever they lie (Wang 2008)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts, Counts
from linkscore_scoring.browse_logs.news.hubs import Hub
from linkscore_scoring.browse_logs.news.mining import mine_news, page_signals
from linkscore_scoring.browse_logs.news.model import NewsModel
from linkscore_scoring.browse_logs.news.settings import NewsSettings

MAX_SEEDS = 1_000
"""Seeds that are kept: a bound, as many as `SuggestSeeds` gives."""


@dataclass(frozen=True, slots=True)
class CrawlSeed:
    """A page to start a crawl for news from.

    Attributes
    ----------
    url
        A hub, or the front page of a host.
    news, gain
        Distinct news pages, and those that no seed before leads to.
    hosts
        Hosts of the news pages.
    is_hub
        Visitors went from it to the news; else nobody knows what leads to the news of its host.
    """

    url: str
    news: int
    gain: int
    hosts: int
    is_hub: bool


@dataclass(frozen=True, slots=True)
class CrawlNews:
    """News of all sites of a crawl, mined from one window of its browse log.

    Attributes
    ----------
    model
        Prefixes, hubs, and how news was told, over all sites at once.
    hosts
        Hosts with news.
    seeds
        Where to start, best first.
    """

    model: NewsModel
    hosts: int
    seeds: list[CrawlSeed]

    def summary(self) -> str:
        """Say in one sentence what was learned."""
        return f"{self.hosts} hosts have news: {self.model.summary()}"


def mine_crawl(counts: BrowseCounts, settings: NewsSettings) -> CrawlNews:
    """Return what the browse log of a crawl tells about news, whatever site it is on.

    Parameters
    ----------
    counts
        Visits of all sites; referrers may lie on sites that nobody visited.

    Notes
    -----
    Cost: that of `mine_news`. Source: Wang 2008, sections 5 and 6. Differences from the paper: those of the
    functions called; a host whose news no known page leads to is started at its front page; an origin that
    nobody visited is no hub, since browsers name no more than the origin to another site.

    Examples
    --------
    Clicks of 30 days on a page of news of one day and on a wiki; a portal that is in no log led to the news.

    >>> import numpy as np
    >>> counts = BrowseCounts(
    ...     n_days=30,
    ...     urls=["http://a.org/news/1", "http://portal.org/today", "http://wiki.org/page"],
    ...     click_urls=np.array([0] + [2] * 30),
    ...     click_days=np.array([5, *range(30)]),
    ...     clicks=np.array([40] + [2] * 30),
    ...     from_urls=np.array([1, OUTSIDE]),
    ...     to_urls=np.array([0, 2]),
    ...     transits=np.array([40, 60]),
    ... )
    >>> [seed.url for seed in mine_crawl(counts, NewsSettings()).seeds]
    ['http://portal.org/today']
    """
    counts = replace(counts, from_urls=_known_origins(counts))
    model = mine_news(counts, replace(settings, max_hubs=MAX_SEEDS))
    seen = page_signals(counts, settings, {})
    is_news = np.zeros(len(counts.urls), dtype=np.bool_)
    is_news[seen.rows[seen.signals > model.threshold.value]] = True
    hosts = _news_hosts(counts, is_news)
    found = [CrawlSeed(hub.url, hub.news, hub.gain, len(hosts[hub.url]), is_hub=True) for hub in model.hubs]
    found += _front_pages(counts, is_news, model.hubs)
    found.sort(key=lambda seed: -(seed.gain if settings.weighed else seed.news))
    n_hosts = len({_root(counts.urls[row]) for row in np.flatnonzero(is_news).tolist()})
    return CrawlNews(model, n_hosts, found[:MAX_SEEDS])


def _known_origins(counts: BrowseCounts) -> Counts:
    """Return `from_urls` without origins that nobody visited."""
    vague = np.array([_root(url) == url for url in counts.urls], dtype=np.bool_) & (counts.visits() == 0)
    inside = counts.from_urls != OUTSIDE
    found = counts.from_urls.copy()
    found[inside] = np.where(vague[found[inside]], OUTSIDE, found[inside])
    return found


def _news_hosts(counts: BrowseCounts, is_news: NDArray[np.bool_]) -> defaultdict[str, set[str]]:
    """Return the hosts of the news that each page leads to, by URL of the page."""
    hosts: defaultdict[str, set[str]] = defaultdict(set)
    inside = (counts.from_urls != OUTSIDE) & is_news[counts.to_urls]
    ways = np.column_stack([counts.from_urls[inside], counts.to_urls[inside]])
    for source, target in ways.tolist():
        hosts[counts.urls[source]].add(_root(counts.urls[target]))
    return hosts


def _front_pages(counts: BrowseCounts, is_news: NDArray[np.bool_], hubs: list[Hub]) -> list[CrawlSeed]:
    """Return the front pages of hosts with news that no page leads to, but for those that are hubs."""
    led = (counts.from_urls != OUTSIDE) & (counts.from_urls != counts.to_urls)
    alone = is_news.copy()
    alone[counts.to_urls[led]] = False
    news = Counter(_root(counts.urls[row]) for row in np.flatnonzero(alone).tolist())
    for hub in hubs:
        news.pop(hub.url, None)
    return [CrawlSeed(root, n, n, 1, is_hub=False) for root, n in sorted(news.items())]


def _root(url: str) -> str:
    """Return the front page of the host of a URL that is an identity."""
    return url[: url.index("/", url.index("://") + 3) + 1]
