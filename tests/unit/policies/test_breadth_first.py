"""Fewest clicks first."""

from __future__ import annotations

import pytest

from linkscore_scoring.engine.queries import CrawlQueries
from support.boards import Board


def test_a_score_is_one_over_one_plus_clicks() -> None:
    board = Board("breadth_first")
    first = board.page("/", [("/a", "x/a"), ("/b", "x/a")])
    assert first.links.scores.tolist() == [1 / 2, 1 / 2]
    second = board.page("/a", [("/c", "x/a")], ticket=first.links.ticket_values[0])
    assert second.links.scores.tolist() == [1 / 3]


def test_fewer_clicks_rank_first_and_equals_keep_their_order() -> None:
    board = Board("breadth_first")
    board.page("/")
    plan = CrawlQueries(board.model).plan_fetches(["h/d3", "h/d1", "h/d2", "h/d1"], 0)
    assert plan.order().tolist() == [1, 3, 2, 0]
    assert plan.values.tolist() == [1 / 4, 1 / 2, 1 / 3, 1 / 2]


@pytest.mark.parametrize("bucket", ["h/x", "h/d", "h/d-1", "h/d" + "9" * 500])
def test_a_bucket_of_another_policy_comes_late(bucket: str) -> None:
    board = Board("breadth_first")
    board.page("/")
    assert CrawlQueries(board.model).plan_fetches([bucket], 0).values.tolist() == [1 / 101]
