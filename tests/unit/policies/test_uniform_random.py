"""A number drawn once for each URL."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.engine.config import PolicyChoice
from linkscore_scoring.engine.queries import CrawlQueries
from linkscore_scoring.errors import InvalidInput
from support.boards import Board

PATHS = [f"/{n}" for n in range(2_000)]


def test_a_url_draws_the_same_number_whatever_happens() -> None:
    board = Board("uniform_random")
    before = board.scores("/a", "/b")
    board.page("/", [("/b", "x/a")])
    assert board.scores("/a", "/b") == before


def test_crawls_of_other_seeds_draw_other_numbers() -> None:
    draws = [Board("uniform_random", seed=seed).scores("/a")[0] for seed in range(20)]
    assert len(set(draws)) == 20
    assert Board("uniform_random", seed=3).scores("/a") == Board("uniform_random", seed=3).scores("/a")


def test_draws_are_uniform() -> None:
    """2,000 draws: each tenth holds 200, give or take 5 standard deviations (67)."""
    counts, _ = np.histogram(Board("uniform_random").scores(*PATHS), bins=10, range=(0.0, 1.0))
    assert np.abs(counts - 200).max() < 67


def test_a_bucket_is_worth_the_lower_edge_of_its_step() -> None:
    board = Board("uniform_random")
    board.page("/")
    _, values = CrawlQueries(board.model).rank_buckets(["h/u0", "h/u128", "h/u255", "h/u256", "h/other"])
    assert values.tolist() == [0.0, 0.5, 255 / 256, 0.5, 0.5]


def test_a_negative_seed_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput) as caught:
        PolicyChoice("uniform_random", {"seed": -1}).checked()
    assert [problem.field for problem in caught.value.problems] == ["seed"]
