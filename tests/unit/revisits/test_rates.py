"""Rates from changed and unchanged, and what a fetch is worth: equal to integration by numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkscore_scoring.revisits.rates import Belief, discovery_worth, mean_days, stale_intervals, stale_worth


def azar(rate: np.ndarray, waited: float) -> np.ndarray:
    return (1.0 - (1.0 + rate * waited) * np.exp(-rate * waited)) / rate


@pytest.mark.parametrize(("shape", "days", "waited"), [(0.5, 20.0, 7.0), (3.0, 2.0, 30.0), (1.0, 100.0, 0.1)])
def test_belief_after_a_change_has_the_moments_of_the_posterior(
    shape: float, days: float, waited: float
) -> None:
    # by the logarithm of the rate, so that no density is infinite at 0
    rate = np.geomspace(1e-12, 80.0 * max(1.0, shape) / days, 400_001)
    density = rate**shape * np.exp(-days * rate) * -np.expm1(-rate * waited)
    mean = float((density * rate).sum() / density.sum())
    variance = float((density * rate**2).sum() / density.sum()) - mean**2
    found = Belief(shape, days).after(waited, changed=True)
    assert found.mean == pytest.approx(mean, rel=1e-4)
    assert found.shape / found.days**2 == pytest.approx(variance, rel=1e-3)


def test_beliefs_at_their_limits() -> None:
    assert Belief(2.0, 10.0).after(5.0, changed=False) == Belief(2.0, 15.0)
    assert Belief(2.0, 10.0).after(0.0, changed=True) == Belief(3.0, 10.0)
    assert Belief(2.0, 10.0).after(1e9, changed=True) == pytest.approx(Belief(2.0, 10.0))


def test_one_list_that_changes_every_day_does_not_make_its_site_busy() -> None:
    counts = np.array([1_000.0, *[1.0] * 99])
    assert mean_days(counts, np.full(100, 1_000.0), 1e3) > 600.0  # all changes by all days would be 91


@pytest.mark.parametrize("shape", [0.5, 1.0, 1.0000001, 4.0])
def test_worth_of_a_belief_is_the_mean_of_azars_value_over_it(shape: float) -> None:
    days, waited = 20.0, 15.0
    rate = np.geomspace(1e-9, 80.0 * max(1.0, shape) / days, 400_001)
    density = rate**shape * np.exp(-days * rate)
    mean = float((density * azar(rate, waited)).sum() / density.sum())
    found = stale_worth(np.array([shape]), np.array([days]), np.array([waited]))
    assert found == pytest.approx(mean, rel=1e-3)


def test_worth_of_little_time_is_half_the_rate_times_its_square_for_pages_and_lists() -> None:
    rate, waited = np.array([0.1]), np.array([0.01])
    assert stale_worth(1e6 * rate, np.array([1e6]), waited) == pytest.approx(0.5 * 0.1 * 0.01**2, rel=1e-3)
    assert discovery_worth(rate, waited) == pytest.approx(0.5 * 0.1 * 0.01**2)


def test_intervals_are_where_the_worth_is_the_price() -> None:
    rate, weight = np.array([0.5, 0.001, 5.0]), np.array([1.0, 2.0, 1.0])
    found = stale_intervals(rate, weight, 0.19)
    worth = [w * float(azar(np.array([r]), t)[0]) for r, w, t in zip(rate, weight, found, strict=True)]
    assert worth == pytest.approx([0.19] * 3, rel=1e-3)
    assert stale_intervals(rate, weight, 0.21)[2] == math.inf  # at most 1 / 5
