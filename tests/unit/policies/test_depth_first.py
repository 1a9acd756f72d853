"""Most clicks first."""

from __future__ import annotations

from linkscore_scoring.engine.queries import CrawlQueries
from support.boards import Board


def test_a_score_grows_with_clicks() -> None:
    board = Board("depth_first")
    first = board.page("/", [("/a", "x/a")])
    second = board.page("/a", [("/b", "x/a")], ticket=first.links.ticket_values[0])
    assert first.links.scores.tolist() == [1 - 1 / 2]
    assert second.links.scores.tolist() == [1 - 1 / 3]


def test_more_clicks_rank_first_and_unknown_buckets_last() -> None:
    board = Board("depth_first")
    board.page("/")
    order, values = CrawlQueries(board.model).rank_buckets(["h/x", "h/d1", "h/d9"])
    assert order.tolist() == [2, 1, 0]
    assert values.tolist() == [0.0, 0.5, 0.9]


def test_the_reason_says_deepest_first() -> None:
    board = Board("depth_first")
    board.page("/", [("/a", "x/a")])
    assert "deepest first" in board.explain("/a")[0].explanation.summary
