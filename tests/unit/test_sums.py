"""Sums that scores are made of: from left to right, and means that are shrunk to a prior."""

from __future__ import annotations

import pytest

from linkscore_scoring.sums import left_sum, shrunk


def test_a_sum_is_added_from_left_to_right() -> None:
    assert left_sum([0.1] * 10) == pytest.approx(1.0)
    assert left_sum([1e16, 1.0, -1e16]) == 0.0, "the built-in of Python 3.12 compensates and gives 1"
    assert (left_sum([]), type(left_sum([]))) == (0, int)


def test_a_mean_is_shrunk_to_its_prior_by_hand() -> None:
    """Three of four observations were 1 and the prior is .3 for two: (3 + 2 x .3) / (4 + 2)."""
    assert shrunk(3.0, 4.0, 0.3, 2.0) == pytest.approx(0.6)
    assert shrunk(0.0, 0.0, 0.3, 2.0) == pytest.approx(0.3), "of nothing the prior is left"
    assert shrunk(3.0, 4.0, 0.3, 0.0) == 0.75, "without a prior it is the mean"
    # Below it another mean: (1 + 2 x .6) / (1 + 2).
    assert shrunk(1.0, 1.0, shrunk(3.0, 4.0, 0.3, 2.0), 2.0) == pytest.approx(2.2 / 3.0)
