"""Scores moved in log odds, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.learners.common_scale import log_odds_between, moved


def test_even_odds_moved_by_ln_3_are_three_to_one() -> None:
    np.testing.assert_allclose(moved(np.array([0.0, 0.25, 0.5, 1.0]), np.log(3)), [0.0, 0.5, 0.75, 1.0])


def test_the_mean_difference_is_weighted() -> None:
    """From even odds to 3:1 in a link of weight 2 and to 1:3 in one of weight 1: ln 3 / 3."""
    scores, other, weights = np.array([0.5, 0.5]), np.array([0.75, 0.25]), np.array([2.0, 1.0])
    assert log_odds_between(scores, other, weights) == pytest.approx(np.log(3) / 3)
    assert log_odds_between(scores[:0], other[:0], weights[:0]) == 0.0


def test_sure_scores_count_as_99_percent() -> None:
    assert log_odds_between(np.array([0.5]), np.array([1.0]), np.ones(1)) == pytest.approx(np.log(99))
