"""Many pulls at once: sleeping arms, equal arms, exploration, and the probability of a draw."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from linkscore_scoring.policies.anthelion import allocation
from linkscore_scoring.policies.anthelion.allocation import allocate
from linkscore_scoring.policies.anthelion.host_bandit import HostBandit
from linkscore_scoring.policies.anthelion.posteriors import choice_probs

PLENTY = 10**6


def bandit(rewards: dict[int, tuple[int, int]], **params: object) -> HostBandit:
    """Return a bandit whose arms are awake and have these numbers of good and bad pulls."""
    made = HostBandit(**{"function": "success_rate", "seed": 3, **params})
    for arm, (good, bad) in rewards.items():
        for reward in [1.0] * good + [0.0] * bad:
            made.reward(arm, reward)
    return made.among(dict.fromkeys(rewards, 1.0))


def dealt(made: HostBandit, n: int, waiting: dict[int, int] | None = None, *, seq: int = 7) -> Counter[int]:
    arms = list(made.arms)
    values = dict(zip(arms, made.worth(arms, [1.0] * len(arms)).tolist(), strict=True))
    return allocate(made, values, waiting or dict.fromkeys(arms, PLENTY), n, seq)


def test_a_bandit_without_exploration_deals_like_the_best_value() -> None:
    rewards, waiting = {1: (0, 2), 2: (3, 1), 3: (3, 1)}, {1: 9, 2: 2, 3: 4}
    assert dealt(bandit(rewards), 8, waiting) == {2: 2, 3: 4, 1: 2}
    assert dealt(bandit(rewards), 99, waiting) == {2: 2, 3: 4, 1: 9}


def test_exploring_decisions_take_any_awake_arm() -> None:
    """Of 4,000 decisions 40 % explore three arms: 533 each, standard deviation 21; four of them allowed."""
    got = dealt(bandit({1: (0, 2), 2: (3, 1), 3: (1, 1)}, explore_prob=0.4), 4_000)
    assert sum(got.values()) == 4_000
    assert abs(got[1] - 533) < 85
    assert abs(got[3] - 533) < 85


def test_the_first_decision_is_the_one_of_choose() -> None:
    for function in ("success_rate", "thompson_sampling"):
        for seq in range(30):
            made = bandit({1: (0, 2), 2: (3, 1), 3: (1, 1)}, function=function, explore_prob=0.3)
            assert dealt(made, 1, seq=seq) == {made.choose(seq): 1}


def test_draws_are_dealt_in_proportion_to_their_probability() -> None:
    """4,000 draws: standard deviation of a share at most .008; four of them allowed."""
    rewards = {1: (0, 2), 2: (3, 1), 3: (1, 1)}
    probs = bandit(rewards, function="thompson_sampling").draw_probs(list(rewards))
    got = dealt(bandit(rewards, function="thompson_sampling"), 4_000)
    assert [got[arm] / 4_000 for arm in rewards] == pytest.approx(probs.tolist(), abs=0.032)


def test_beyond_half_a_million_draws_a_decision_deals_several_pulls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation, "_MAX_DRAWS", 30)
    got = dealt(bandit({1: (1, 0), 2: (2, 0), 3: (3, 0)}, function="thompson_sampling"), 100)
    assert sum(got.values()) == 100
    assert {count % 11 for count in got.values()} <= {0, 1}, "ten decisions of 11 pulls, the last of 1"


def test_the_probability_of_the_highest_draw_by_hand() -> None:
    """Uniform against uniform: 1/2; of P(x > y) with densities 2x and 1: 2/3; a factor 1/2 on one: 1/4."""
    assert choice_probs([(0, 0, 1.0)] * 2).tolist() == pytest.approx([0.5, 0.5], abs=1e-3)
    assert choice_probs([(1, 0, 1.0), (0, 0, 1.0)]).tolist() == pytest.approx([2 / 3, 1 / 3], abs=1e-3)
    assert choice_probs([(0, 0, 1.0), (0, 0, 0.5)]).tolist() == pytest.approx([0.75, 0.25], abs=1e-3)
    assert choice_probs([(0, 0, 1.0)] * 40).sum() == pytest.approx(1.0)


def test_a_copy_has_the_numbers_and_lambda_of_all_arms_and_changes_nothing() -> None:
    made = HostBandit(function="success_rate", explore_prob=0.4, decay_pulls=2, seed=3)
    for arm in (1, 1, 2, 3):
        made.reward(arm, 1.0)
    copy = made.among({1: 0.5, 9: 0.7})
    assert (len(copy), len(made)) == (2, 0)
    assert copy.explore_prob_now == made.explore_prob_now == pytest.approx(0.4 / 3)
    assert copy.worth([1, 9], [0.5, 0.7]).tolist() == [3.0, 1.0]
    copy.reward(1, 0.0)
    assert (made.arms[1].good, made.arms[1].bad) == (2.0, 0.0)


def test_worth_is_the_median_of_a_draw() -> None:
    made = bandit({1: (1, 0)}, function="thompson_sampling")
    assert made.worth([1], [1.0]).tolist() == pytest.approx([np.sqrt(0.5)])
