"""Agreement of scores with rewards, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.learners.pairwise_auc import comparable_pairs, pairwise_auc, pairwise_gain

REWARDS = np.array([1.0, 0.0, 0.5])
ALIKE = np.array([False, False, False])


def test_quality_weighs_pairs_by_the_difference_of_their_rewards() -> None:
    """Stakes 1, .5 and .5; the first two pairs agree, the third is a tie: (1 + .5 + .25) / 2."""
    pairs = comparable_pairs(REWARDS, np.ones(3), ALIKE)
    assert pairwise_auc(np.array([0.9, 0.5, 0.5]), pairs) == pytest.approx(0.875)


def test_quality_is_the_auc_where_rewards_are_yes_or_no() -> None:
    """Of 2 x 2 pairs of a good and a bad link 3 are in order."""
    pairs = comparable_pairs(np.array([1.0, 1.0, 0.0, 0.0]), np.ones(4), np.zeros(4, dtype=bool))
    assert pairwise_auc(np.array([0.9, 0.4, 0.5, 0.1]), pairs) == pytest.approx(0.75)


def test_quality_is_chance_where_nothing_is_at_stake() -> None:
    assert pairwise_auc(np.array([0.9, 0.1]), comparable_pairs(np.ones(2), np.ones(2), ALIKE[:2])) == 0.5


def test_weights_multiply() -> None:
    """Pairs weigh .5, 1 and .5: stakes .5, .5 and .25, of which the tie counts half."""
    pairs = comparable_pairs(REWARDS, np.array([1.0, 0.5, 1.0]), ALIKE)
    assert pairwise_auc(np.array([0.9, 0.5, 0.5]), pairs) == pytest.approx((0.5 + 0.5 + 0.125) / 1.25)


def test_rewards_of_different_kinds_are_not_compared() -> None:
    """Only the first and the third link remain, which agree."""
    pairs = comparable_pairs(REWARDS, np.ones(3), np.array([True, False, True]))
    assert pairwise_auc(np.array([0.9, 1.0, 0.5]), pairs) == 1.0


def test_gain_is_the_reward_added_per_pair() -> None:
    """Against no order at all: (1 + .5) / 2 of 3 pairs; an order against itself gains nothing."""
    pairs = comparable_pairs(REWARDS, np.ones(3), ALIKE)
    scores = np.array([0.9, 0.5, 0.5])
    assert pairwise_gain(scores, np.zeros(3), pairs) == pytest.approx(0.25)
    assert pairwise_gain(scores, scores, pairs) == 0.0
    assert pairwise_gain(scores[:1], scores[:1], comparable_pairs(REWARDS[:1], np.ones(1), ALIKE[:1])) == 0.0
