"""Hubs by the distinct news pages that visitors went to from them."""

from __future__ import annotations

import numpy as np

from linkscore_scoring.browse_logs.news.hubs import Hub, hub_seeds
from support.browse_logs.clicks import counts_of

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


def hubs(n: int, *, by_gain: bool) -> list[Hub]:
    counts = counts_of(CLICKS, transits=WAYS)
    return hub_seeds(counts, np.array(["news" in url for url in counts.urls]), n, by_gain=by_gain)


def test_the_paper_orders_by_distinct_news_and_ties_by_their_share() -> None:
    assert hubs(9, by_gain=False) == [Hub(B, 3, 3, 3), Hub(A, 3, 4, 0), Hub(C, 2, 2, 1)]


def test_each_next_hub_adds_most_news_and_those_that_add_none_come_last() -> None:
    assert hubs(9, by_gain=True) == [Hub(B, 3, 3, 3), Hub(C, 2, 2, 1), Hub(A, 3, 4, 0)]


def test_links_of_a_page_to_itself_and_visits_from_outside_make_no_hub() -> None:
    assert {hub.url for hub in hubs(9, by_gain=True)} == {A, B, C}


def test_no_more_hubs_than_asked_for() -> None:
    assert [hub.url for hub in hubs(1, by_gain=True)] == [B]
    counts = counts_of(CLICKS, transits=WAYS)
    assert hub_seeds(counts, np.zeros(len(counts.urls), dtype=np.bool_), 5) == []
