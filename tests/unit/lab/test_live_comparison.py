"""What an experiment on a running crawl says, by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest

from linkscore.v1 import policy_pb2
from linkscore.v1.site_model_service_pb2 import PolicyTrust, Site
from linkscore_lab.live.comparison import MIN_SITES, LiveComparison, Verdict, compare_sites, params_of
from linkscore_lab.live.sequential import difference
from linkscore_scoring.errors import InvalidInput
from linkscore_scoring.policies.experiment import ExperimentParams

PARAMS = ExperimentParams(policies="harvest+opic", horizon=10)


def sites_of(number: int, rewards: Iterable[float], *, fetches: int = 10) -> list[Site]:
    """Return sites that the division gives to one side, with what their first fetches brought."""
    names = (name for n in range(10_000) if PARAMS.number_of(name := f"s{n}.example") == number)
    policy = PARAMS.names[number]
    return [
        Site(host=name, policy_trust=[PolicyTrust(policy=policy, trust=1, judged_count=fetches, reward=r)])
        for name, r in zip(names, rewards, strict=False)
    ]


def compared(first: Iterable[float], second: Iterable[float], *more: Site) -> LiveComparison:
    return compare_sites(PARAMS, [*sites_of(0, first), *sites_of(1, second), *more])


LOW, HIGH = [0.1, 0.3] * 30, [0.6, 0.8] * 30


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (HIGH, LOW, Verdict.FIRST_BETTER),
        (LOW, HIGH, Verdict.SECOND_BETTER),
        (LOW, LOW, Verdict.GO_ON),
        (LOW * 60, LOW * 60, Verdict.NO_DIFFERENCE),
    ],
)
def test_the_interval_decides(first: list[float], second: list[float], verdict: Verdict) -> None:
    assert compared(first, second).verdict is verdict


def test_means_are_of_complete_sites() -> None:
    unfinished = sites_of(0, [1.0] * 70, fetches=9)[60:]
    found = compared(LOW, HIGH, *unfinished)
    assert (found.first.sites, found.first.complete) == (70, 60)
    assert found.first.mean == pytest.approx(0.2)
    assert found.difference is not None
    assert found.difference.value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ([], [], "harvest: 0 of its 0 sites"),
        (LOW, HIGH[: MIN_SITES - 1], f"opic: {MIN_SITES - 1} of its {MIN_SITES - 1} sites"),
        ([0.0] * 40, [0.0] * 40, "feedback above 0"),
    ],
)
def test_no_verdict_without_support(first: list[float], second: list[float], why: str) -> None:
    found = compared(first, second)
    assert (found.verdict, found.difference) == (Verdict.NO_SUPPORT, None)
    assert why in found.why


def test_sides_that_lose_sites_unequally_do_not_compare() -> None:
    lost = sites_of(0, [0.0] * 200, fetches=3)[60:]
    found = compared(LOW, HIGH, *lost)
    assert found.verdict is Verdict.NO_SUPPORT
    assert "30% of the sites of harvest and 100% of opic" in found.why


def test_a_crawl_that_is_no_experiment_is_refused() -> None:
    with pytest.raises(InvalidInput, match="policy is harvest"):
        params_of(policy_pb2.PolicySpec())


def test_parameters_are_those_of_the_crawl() -> None:
    spec = policy_pb2.PolicySpec(experiment=policy_pb2.ExperimentParams(policies="harvest+opic", horizon=10))
    assert params_of(spec) == PARAMS


def test_the_half_width_by_hand() -> None:
    """100 and 100 values of equal spread: theorem 2.2 with rho^2 = (c + log c + 1) / 100, c = -2 log .05."""
    values = [0.2, 0.4] * 50
    spread = float(np.var([*values, 0.0, 1.0], ddof=1))
    c = -2 * math.log(0.05)
    rho, n = (c + math.log(c) + 1) / 100, 200
    expected = math.sqrt(
        4 * spread * 2 * (n * rho + 1) / (n * n * rho) * math.log(math.sqrt(n * rho + 1) / 0.05)
    )
    assert difference(values, values).half_width == pytest.approx(expected)


def test_sites_that_are_all_alike_leave_an_interval() -> None:
    assert difference([0.0] * 30, [0.0] * 30).half_width > 0.0


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_equal_policies_are_seldom_told_apart_at_any_look(share: float) -> None:
    """Skewed figures, looked at 26 times each: 5 % is the bound, 200 runs may show some more by chance."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(200):
        figures = np.where(rng.random(300) < 0.9, 0.0, rng.uniform(0.05, 1.0, 300))
        second = rng.random(300) < share
        samples = [(figures[:n][~second[:n]], figures[:n][second[:n]]) for n in range(100, 301, 8)]
        found = [difference(a.tolist(), b.tolist()) for a, b in samples if min(len(a), len(b)) >= MIN_SITES]
        alarms += any(each.low > 0 or each.high < 0 for each in found)
    assert alarms / 200 < 0.07
