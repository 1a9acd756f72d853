"""What a fetch is worth: Azar's value, its mean over a belief, and the best intervals for known rates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkscore_scoring.revisits.worth import (
    best_intervals,
    discovery_worth,
    freshness,
    known_rate_worth,
    worth,
    worth_intervals,
)


def test_worth_is_azars_value() -> None:
    # D = 2 a day, one day: (1 / 2) (1 - 3 e^-2)
    found = known_rate_worth(np.array([2.0]), np.array([1.0]))
    assert found == pytest.approx(0.5 * (1.0 - 3.0 * math.exp(-2.0)))


def test_worth_of_little_time_is_half_the_rate_times_its_square_for_pages_and_lists() -> None:
    rate, waited = np.array([0.1]), np.array([0.01])
    assert known_rate_worth(rate, waited) == pytest.approx(0.5 * 0.1 * 0.01**2, rel=1e-3)
    assert discovery_worth(rate, waited) == pytest.approx(0.5 * 0.1 * 0.01**2)


@pytest.mark.parametrize("shape", [0.5, 1.0, 1.0000001, 4.0])
def test_worth_of_a_belief_is_the_mean_over_it(shape: float) -> None:
    days, waited = 20.0, 15.0
    # by the logarithm of the rate, so that no density is infinite at 0
    rate = np.geomspace(1e-12, 80.0 * max(1.0, shape) / days, 400_001)
    density = rate**shape * np.exp(-days * rate)
    mean = float((density * known_rate_worth(rate, np.full(len(rate), waited))).sum() / density.sum())
    assert worth(np.array([shape]), np.array([days]), np.array([waited])) == pytest.approx(mean, rel=1e-3)


def test_freshness_of_a_page_fetched_at_its_rate() -> None:
    assert freshness(np.array([1.0, 0.0]), np.array([1.0, 9.0])) == pytest.approx([1.0 - math.exp(-1.0), 1.0])


def test_intervals_are_where_the_worth_is_the_level() -> None:
    rate, weight = np.array([0.5, 0.001, 5.0]), np.array([1.0, 2.0, 1.0])
    found = worth_intervals(rate, weight, 0.19)
    assert weight * known_rate_worth(rate, found) == pytest.approx([0.19] * 3, rel=1e-3)
    assert worth_intervals(rate, weight, 0.21)[2] == math.inf  # at most 1 / 5


def test_best_plan_spends_what_it_may_and_no_other_has_more_freshness() -> None:
    rates = np.array([0.01, 0.1, 1.0, 10.0])
    found = best_intervals(rates.tolist(), 1.0)
    assert float((1.0 / found).sum()) == pytest.approx(1.0, rel=1e-3)
    assert found[3] == math.inf  # the page that always changes gets nothing
    best = float(freshness(rates[:3], found[:3]).sum())
    for shift in (-0.05, 0.05):
        often = 1.0 / found[:3] + np.array([shift, -shift, 0.0])
        assert float(freshness(rates[:3], 1.0 / np.maximum(often, 1e-9)).sum()) < best
