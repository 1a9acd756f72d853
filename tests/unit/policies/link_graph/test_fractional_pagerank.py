"""Rank flows to pages not fetched yet, each page once."""

from __future__ import annotations

from support.link_graph.webs import Web


def test_rank_flows_along_links_to_pages_not_fetched_yet() -> None:
    web = Web("fractional_pagerank", damping=0.5)
    web.fetch("a", "b", "c")
    assert web.values("abc") == [1, 1 / 4, 1 / 4]
    web.fetch("b", "a", "c", "c", "b")
    assert web.values("abc") == [1, 1 / 4, 5 / 16], "half of b's quarter, of which a's share is skipped"


def test_a_page_fetched_again_hands_nothing_on() -> None:
    web = Web("fractional_pagerank", damping=0.5)
    web.fetch("a", "b", "c")
    web.fetch("a", "b", "c")
    assert web.values("bc") == [1 / 4, 1 / 4]


def test_every_seed_starts_with_one() -> None:
    web = Web("fractional_pagerank")
    web.fetch("a", "b")
    web.fetch("s", "t")
    assert web.values("bt") == [0.85, 0.85]


def test_rank_follows_a_redirect() -> None:
    web = Web("fractional_pagerank", damping=0.5)
    web.fetch("a", "b", "x")
    web.fetch("x", "d", asked="b")
    assert web.value("d") == 1 / 4, "half of the two quarters of b and x"


def test_urls_are_scored_after_a_restart_as_before() -> None:
    web = Web("fractional_pagerank")
    web.fetch("a", "b", "c")
    web.fetch("b", "c", "d")
    before = web.scores("abcd")
    web.restart()
    assert web.scores("abcd") == before
