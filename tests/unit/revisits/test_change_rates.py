"""Rates from changed and unchanged: equal to cases solved by hand, and to integration by numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkscore_scoring.revisits.rates import Belief, poisson_rate
from linkscore_scoring.revisits.shared import MAX_GROUPS, PageGroups, fit
from linkscore_scoring.state import to_state


def test_rate_of_even_looks_is_the_logarithm_of_the_share_unchanged() -> None:
    # 3 of 4 daily looks changed: 1 - e^-D = 3/4
    assert poisson_rate([1.0] * 3, [1.0]) == pytest.approx(math.log(4.0))


def test_rate_of_uneven_looks_solves_the_equation() -> None:
    rate = poisson_rate([1.0, 4.0], [2.0, 3.0])
    assert 1.0 / math.expm1(rate) + 4.0 / math.expm1(4.0 * rate) == pytest.approx(5.0)


def test_rate_without_a_change_is_none_and_without_rest_infinite() -> None:
    assert poisson_rate([], [1.0]) == 0.0
    assert poisson_rate([1.0], []) == math.inf


def test_belief_without_a_change_gains_the_days_alone() -> None:
    assert Belief(2.0, 10.0).after(5.0, changed=False) == Belief(2.0, 15.0)


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


def test_belief_after_a_change_at_once_gains_one_change() -> None:
    assert Belief(2.0, 10.0).after(0.0, changed=True) == Belief(3.0, 10.0)


def test_belief_learns_nothing_from_a_change_that_had_to_come() -> None:
    found = Belief(2.0, 10.0).after(1e9, changed=True)
    assert found == pytest.approx(Belief(2.0, 10.0))


def test_a_group_is_known_by_link_path_and_pattern_and_the_rest_counts_for_the_site() -> None:
    groups = PageGroups()
    assert [groups.number(7, 1), groups.number(7, 2), groups.number(7, 1)] == [1, 2, 1]
    assert groups.link_paths().tolist() == [0, 1, 1]
    again = PageGroups()
    again.load_state(to_state(groups))
    assert again.number(7, 2) == 2
    for pattern in range(MAX_GROUPS):
        groups.number(8, pattern)
    assert groups.number(9, 1) == 0


def test_groups_are_drawn_to_their_own_pages_and_a_new_group_to_its_link_path() -> None:
    groups = np.array([1] * 50 + [2] * 50)
    days = np.full(100, 100.0)
    counts = np.array([10.0] * 50 + [0.1] * 50)
    above, other = np.array([0, 1, 2, 1]), np.array([[0.2] * 100, counts])
    alone, found = fit(groups, above, other, np.array([days, days]), np.array([30.0, 30.0]))
    assert alone.tolist() == fit(groups, above, other[:1], days[None], np.array([30.0]))[0].tolist()
    site, busy, quiet, new = found
    assert busy == pytest.approx(10.0, rel=0.1)
    assert 300.0 < quiet < 1_000.0
    assert busy < site < quiet
    assert new == pytest.approx(busy, rel=0.1)


def test_one_list_that_changes_every_day_does_not_make_its_site_busy() -> None:
    counts = np.array([1_000.0, *[1.0] * 99])
    days = np.array([1_000.0, *[1_000.0] * 99])
    [[found]] = fit(np.zeros(100, np.intp), np.zeros(1, np.intp), counts[None], days[None], np.array([1e3]))
    assert found > 600.0  # all changes by all days would be 91
