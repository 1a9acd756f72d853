"""News over all sites of a crawl: hubs of each, and hosts that nothing leads to."""

from __future__ import annotations

from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.news import mine_crawl
from support.browse_logs.clicks import counts_of

PORTAL, LIST = "http://portal.test/today", "http://a.test/list"
STEADY = dict.fromkeys(range(30), 2)


def news(host: str, n: int) -> list[str]:
    return [f"http://{host}/news/{page}" for page in range(n)]


def log(ways: dict[str, list[str]], alone: list[str] | None = None) -> BrowseCounts:
    """Return counts of news that each page led to, of news that none did, and of a page that is none."""
    every = [page for pages in ways.values() for page in pages] + (alone or [])
    clicks = {page: {n % 20: 40} for n, page in enumerate(dict.fromkeys(every))}
    pairs = [(source, page, 5) for source, pages in ways.items() for page in pages]
    return counts_of({**clicks, "http://wiki.test/page": STEADY}, n_days=30, transits=pairs)


def test_a_hub_is_worth_its_news_that_none_before_leads_to() -> None:
    ways = {PORTAL: [*news("a.test", 3), *news("b.test", 4)], LIST: news("a.test", 5)}
    found = mine_crawl(log(ways))
    assert [(seed.url, seed.news, seed.gain) for seed in found.seeds] == [(PORTAL, 7, 7), (LIST, 5, 2)]
    assert found.hosts == 2


def test_a_host_whose_news_nothing_leads_to_is_started_at_its_front_page() -> None:
    found = mine_crawl(log({LIST: news("a.test", 2)}, alone=news("b.test:8080", 3)))
    assert [(seed.url, seed.gain, seed.is_hub) for seed in found.seeds] == [
        ("http://b.test:8080/", 3, False),
        (LIST, 2, True),
    ]
