"""The host bandit: worth by hand, lambda that decays, and many pulls at once."""

from __future__ import annotations

from collections import Counter

import pytest

from linkscore_scoring.policies.anthelion import HOST_VALUES, AnthelionParams, HostBandit

PLENTY = 10**6


def bandit(rewards: dict[int, tuple[int, int]], **params: object) -> HostBandit:
    """Return a bandit whose arms have these numbers of good and bad pulls."""
    made = HostBandit(AnthelionParams(**{"value_function": "success_rate", **params}), seed=3)
    for arm, (good, bad) in rewards.items():
        for reward in [1.0] * good + [0.0] * bad:
            made.reward(arm, reward)
    return made


def dealt(made: HostBandit, n: int, waiting: dict[int, int] | None = None, *, seq: int = 7) -> Counter[int]:
    arms = list(made.arms)
    values = dict(zip(arms, made.worth(arms, [1.0] * len(arms)).tolist(), strict=True))
    return made.allocate(values, waiting or dict.fromkeys(arms, PLENTY), n, seq)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("best_score", 0.5),
        ("absolute_good", 3.0),
        ("negative_absolute_bad", -1.0),
        ("success_rate", 2.0),
        ("absolute_good_best_score", 1.5),
        ("success_rate_best_score", 1.0),
    ],
)
def test_value_functions_of_a_host_with_three_good_and_one_bad_page(name: str, value: float) -> None:
    assert bandit({1: (3, 1)}, value_function=name).worth([1], [0.5])[0] == value
    assert name in HOST_VALUES


@pytest.mark.parametrize(("pulls", "share"), [(0, 1.0), (4, 1.0), (5, 1 / 2), (14, 1 / 3)])
def test_lambda_decays_in_steps_of_v_pulls(pulls: int, share: float) -> None:
    assert bandit({1: (pulls, 0)}, explore_prob=0.4, decay_pulls=5).explore_prob_now == pytest.approx(
        0.4 * share
    )


def test_a_bandit_without_exploration_deals_by_the_best_value() -> None:
    rewards, waiting = {1: (0, 2), 2: (3, 1), 3: (3, 1)}, {1: 9, 2: 2, 3: 4}
    assert dealt(bandit(rewards), 8, waiting) == {2: 2, 3: 4, 1: 2}
    assert dealt(bandit(rewards), 99, waiting) == {2: 2, 3: 4, 1: 9}


def test_exploring_decisions_take_any_arm_of_which_something_waits() -> None:
    """Of 4,000 decisions 40 % explore three arms: 533 each, standard deviation 21; four of them allowed."""
    got = dealt(bandit({1: (0, 2), 2: (3, 1), 3: (1, 1)}, explore_prob=0.4), 4_000)
    assert sum(got.values()) == 4_000
    assert abs(got[1] - 533) < 85
    assert abs(got[3] - 533) < 85
    assert dealt(bandit({1: (0, 2), 2: (3, 1)}, explore_prob=1.0), 99, {1: 5, 2: 7}) == {1: 5, 2: 7}
