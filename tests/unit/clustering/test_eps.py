"""The radius of DBSCAN: both modes, the guard and degenerate samples."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.clustering.others.eps import (
    MIN_EPS,
    choose_eps,
    k_distances,
    n_bins,
    pairwise_distances,
    scan,
)


def _kd() -> np.ndarray:
    """Of 40 pages, 21 at 0, one each at .2, .3, ... .7 + tail: bins of .1 hold 21 0 1 1 1 1 1 1 6 7."""
    return np.array([0.0] * 21 + [0.25, 0.35, 0.45, 0.55, 0.65, 0.75] + [0.85] * 6 + [1.0] * 7)


def test_literal_stops_at_the_first_sparse_bin_past_half_of_the_pages() -> None:
    assert scan(_kd(), bins=10, min_pts=4) == pytest.approx(0.1)


def test_windowed_steps_over_gaps_that_the_window_bridges() -> None:
    assert scan(_kd(), bins=10, min_pts=4, window=4) == pytest.approx(0.1)
    assert scan(_kd(), bins=10, min_pts=4, window=6) == pytest.approx(1.0)


def test_sparse_bins_before_half_of_the_pages_do_not_stop_the_scan() -> None:
    kd = np.array([0.05] * 5 + [0.55] * 5 + [1.0])
    assert scan(kd, bins=10, min_pts=4) == pytest.approx(0.6)


def test_largest_k_distance_falls_in_the_last_bin() -> None:
    assert scan(np.array([1.0] * 8), bins=10, min_pts=4) == pytest.approx(1.0)


def test_identical_pages_give_a_tiny_positive_radius() -> None:
    assert choose_eps(np.zeros(10), n_features=5).value == MIN_EPS


def test_guard_steps_on_while_a_fifth_of_the_pages_is_beyond() -> None:
    kd = np.concatenate([np.linspace(0, 0.1, 60), np.linspace(0.11, 1.0, 40)])
    literal = choose_eps(kd, n_features=300, mode="literal", guard=False)
    guarded = choose_eps(kd, n_features=300, mode="literal")
    assert np.mean(kd > literal.value) > 0.2
    assert np.mean(kd > guarded.value) <= 0.2
    assert (literal.mode, guarded.mode) == ("literal", "windowed")


def test_bins_grow_with_pages_and_features_and_are_at_least_one() -> None:
    assert n_bins(1_000, 250) == 1_200
    assert n_bins(200, 250) == 240
    assert n_bins(3, 0) == 1


def test_k_distance_leaves_the_page_itself_out_and_caps_k() -> None:
    x = np.array([[0.0], [1.0], [3.0]])
    distances = pairwise_distances(x, x)
    assert k_distances(distances, 1).tolist() == [1.0, 1.0, 2.0]
    assert k_distances(distances, 9).tolist() == [3.0, 2.0, 3.0]
    assert k_distances(distances[:1, :1], 3).tolist() == [0.0]


def test_equal_rows_are_at_distance_exactly_zero() -> None:
    rows = np.random.default_rng(1).random((1, 300)).repeat(5, axis=0)
    assert not pairwise_distances(rows, rows).any()
