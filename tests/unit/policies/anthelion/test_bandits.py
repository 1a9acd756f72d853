"""Bandits by hand: value functions, exploration, draws, and indexes that agree with plain searches."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest

from linkscore_scoring.policies.anthelion.arm_index import Groups, LazyHeap
from linkscore_scoring.policies.anthelion.hashed_random import uniform
from linkscore_scoring.policies.anthelion.host_bandit import HostBandit
from linkscore_scoring.policies.anthelion.host_values import (
    DRAWN,
    HOST_VALUES,
    lambda_after,
    released_lambda_after,
)
from linkscore_scoring.policies.anthelion.posteriors import beta, highest_drawn, rounded

G, B, P, U = (np.array([x]) for x in (3.0, 1.0, 0.5, 0.25))


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
    assert HOST_VALUES[name](G, B, P, U)[0] == pytest.approx(value)


def test_thompson_values_are_draws_of_beta() -> None:
    """Beta(4, 2) has the distribution function 5 x^4 - 4 x^5."""
    x = HOST_VALUES["thompson_sampling"](G, B, P, U)[0]
    assert 5 * x**4 - 4 * x**5 == pytest.approx(0.25)
    assert HOST_VALUES["thompson_best_score"](G, B, P, U)[0] == pytest.approx(0.5 * x)


def test_there_are_eight_value_functions() -> None:
    assert len(HOST_VALUES) == 8


@pytest.mark.parametrize(("pulls", "share"), [(0, 0.4), (9, 0.4), (10, 0.2), (30, 0.1)])
def test_lambda_decays_in_steps_of_v_pulls(pulls: int, share: float) -> None:
    assert lambda_after(pulls, 0.4, 10) == pytest.approx(share)
    assert lambda_after(pulls, 0.4, 0) == 0.4


@pytest.mark.parametrize(("pulls", "share"), [(0, 0.4), (9, 0.4), (10, 0.0), (30, 0.0)])
def test_the_released_lambda_is_zero_after_v_pulls(pulls: int, share: float) -> None:
    assert released_lambda_after(pulls, 0.4, 10) == share
    assert released_lambda_after(pulls, 0.4, 0) == 0.4


def test_draws_are_functions_of_seed_event_and_arm() -> None:
    arms = list(range(2_000))
    u = uniform(1, 2, arms)
    assert uniform(1, 2, [7])[0] == u[7]
    assert (u > 0.0).all()
    assert (u < 1.0).all()
    assert u.mean() == pytest.approx(0.5, abs=5 * 0.2887 / sqrt(2_000))
    for other in (uniform(2, 2, arms), uniform(1, 3, arms)):
        assert abs(np.corrcoef(u, other)[0, 1]) < 5 / sqrt(2_000)


def test_the_highest_of_many_equal_posteriors_has_its_distribution() -> None:
    """P(max of 10 Beta(2, 1) <= x) = x^20, mean 20 / 21."""
    u = uniform(3, 1, range(2_000)) ** (1 / 10)
    draws = beta(np.full(2_000, 1.0), np.zeros(2_000), u)
    assert np.mean(draws) == pytest.approx(20 / 21, abs=5 * 0.0465 / sqrt(2_000))
    assert beta(np.array([1.0]), np.array([0.0]), np.array([0.49]))[0] == pytest.approx(0.7)


def test_a_large_group_beats_a_better_arm_as_often_as_it_should() -> None:
    """The highest of 100 uniform draws against one of Beta(10, 1): the one wins 10 / 110 of the time."""
    groups = Groups()
    for arm in range(100):
        groups.put(arm, (0.0, 0.0, 1.0), 0.0, arm)
    groups.put(100, (9.0, 0.0, 1.0), 0.0, 0.0)
    wins = np.mean([highest_drawn(groups, 1, seq) == 100 for seq in range(4_000)])
    assert wins == pytest.approx(10 / 110, abs=5 * sqrt(0.083 / 4_000))


@pytest.mark.parametrize("count", [0.0, 3.0, 9.6, 10.0, 57.0, 1_234.0])
def test_counts_are_rounded_by_a_twentieth_at_most(count: float) -> None:
    assert rounded(count) == pytest.approx(count, rel=0.051)


def rewarded(bandit: HostBandit, rewards: dict[int, list[float]]) -> HostBandit:
    for arm, earned in rewards.items():
        bandit.offer(arm, 0.1 + 0.1 * arm)
        for reward in earned:
            bandit.reward(arm, reward)
    return bandit


REWARDS = {0: [1.0, 1.0, 0.0], 1: [0.0], 2: [], 3: [1.0, 0.0], 4: [1.0, 1.0, 1.0, 0.0, 0.0]}


@pytest.mark.parametrize("name", [name for name in HOST_VALUES if name not in DRAWN])
def test_the_host_of_highest_value_is_chosen_among_those_awake(name: str) -> None:
    bandit = rewarded(HostBandit(function=name), REWARDS)
    for awake in ([0, 1, 2, 3, 4], [0, 1, 2, 3], [1, 2, 3], [1, 2], [1]):
        for arm in range(5):
            if arm not in awake:
                bandit.withdraw(arm)
        values = bandit.values(awake, 1)
        assert values[awake.index(bandit.choose(1))] == values.max()


@pytest.mark.parametrize("name", sorted(DRAWN))
def test_indexed_thompson_chooses_as_often_as_plain_thompson(name: str) -> None:
    """4,000 decisions each; shares agree within five standard deviations and the error of rounding p."""
    bandit = rewarded(HostBandit(function=name, seed=5), REWARDS)
    plain = np.bincount([int(np.argmax(bandit.values(range(5), seq))) for seq in range(4_000)], minlength=5)
    indexed = np.bincount([bandit.choose(seq) for seq in range(4_000, 8_000)], minlength=5)
    np.testing.assert_allclose(indexed / 4_000, plain / 4_000, atol=5 * sqrt(0.5 / 4_000))


def test_with_lambda_one_every_awake_host_is_as_likely() -> None:
    bandit = rewarded(HostBandit(explore_prob=1.0, seed=2), REWARDS)
    bandit.withdraw(4)
    counts = np.bincount([bandit.choose(seq) for seq in range(4_000)], minlength=5)
    np.testing.assert_allclose(counts / 4_000, [0.25] * 4 + [0.0], atol=5 * sqrt(0.1875 / 4_000))


def test_a_lazy_heap_agrees_with_a_search() -> None:
    heap, values, rng = LazyHeap(), dict[int, float](), np.random.default_rng(3)
    for _ in range(3_000):
        arm = int(rng.integers(40))
        if rng.random() < 0.2:
            heap.discard(arm)
            values.pop(arm, None)
        else:
            values[arm] = float(rng.integers(6))
            heap.set(arm, values[arm], tie=-arm)
        if values:
            assert heap.top() == max(((a, v) for a, v in values.items()), key=lambda item: (item[1], item[0]))


def test_arms_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HostBandit, "max_arms", 10)
    bandit = HostBandit()
    for arm in range(50):
        bandit.offer(arm)
        bandit.reward(arm, exp(-arm))
    assert len(bandit.arms) == len(bandit) == 10
