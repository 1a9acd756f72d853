"""News of a site from clicks: prefixes, hubs, abstention."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.news import (
    Hub,
    decay_gain,
    hub_seeds,
    mine_news,
)
from support.browse_logs.clicks import counts_of

HOST = "http://a.test"
DYING = {10: 20, 11: 8, 12: 3, 13: 1}
STEADY = dict.fromkeys(range(30), 2)


def log(news: list[str], other: list[str], *, hub: str = "") -> BrowseCounts:
    clicks = {f"{HOST}/{path}": DYING for path in news} | {f"{HOST}/{path}": STEADY for path in other}
    ways = [(f"{HOST}/{hub}", f"{HOST}/{path}", 5) for path in news] if hub else []
    return counts_of(clicks, n_days=30, transits=ways)


NEWS = [f"news/{i}.html" for i in range(20)]
WIKI = [f"wiki/{i}.html" for i in range(20)]
ARTICLES = [f"{i}/title-{i}" for i in range(40)]


def test_the_news_folder_of_a_site_is_found_and_its_hub() -> None:
    found = mine_news(log(NEWS, WIKI, hub="start"))
    assert [prefix.text for prefix in found.prefixes] == ["a.test/news/"]
    assert (found.pages, found.news, found.covered, found.reason) == (40, 20, 1.0, "")
    assert [(hub.url, hub.news) for hub in found.hubs] == [(f"{HOST}/start", 20)]
    assert found.prefixes[0].share > found.prefixes[0].at_least > 0.9
    assert found.summary() == "1 news prefixes hold 100% of the news; 20 of 40 pages are news"


def test_where_every_article_has_a_folder_of_its_own_the_model_abstains() -> None:
    pages = [f"{path}{query}" for path in ARTICLES for query in ("", "?show=1", "?show=2")]
    found = mine_news(log(pages[:60], pages[60:]))
    assert found.reason
    assert "URLs carry no news prefix (20 folders" in found.summary()


def test_two_days_by_hand() -> None:
    # Seen for two days, 3 clicks on the first, 1 on the second; decay of five days: 1 : e^-.2.
    mass = 1 + math.exp(-0.2)
    mean = (3 * math.log(1 / mass) + math.log(math.exp(-0.2) / mass)) / 4 - math.log(1 / 2)
    gain = decay_gain(counts_of({"http://a.test/": {0: 3, 1: 1}}, n_days=2))
    assert gain[0] == pytest.approx(math.tanh(mean))


A, B, C, D = (f"http://a.test/{name}" for name in "abcd")
N = [f"http://a.test/news/{i}" for i in range(5)]
WAYS = [
    *((A, N[i], 3) for i in range(3)),
    (A, D, 9),
    *((B, N[i], 1) for i in (0, 1, 2)),
    *((C, N[i], 1) for i in (2, 3)),
    (C, C, 50),
    (D, A, 7),
    (N[4], N[4], 2),
]
CLICKS = {url: {0: 20} for url in (*N, A, C, D)}


def test_each_next_hub_adds_most_news_and_those_that_add_none_come_last() -> None:
    counts = counts_of(CLICKS, transits=WAYS)
    found = hub_seeds(counts, np.array(["news" in url for url in counts.urls]), 9)
    assert found == [Hub(B, 3, 3, 3), Hub(C, 2, 2, 1), Hub(A, 3, 4, 0)]
