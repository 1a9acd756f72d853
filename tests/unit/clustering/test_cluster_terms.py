"""Equations 9 to 12 of Xu 2018, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.clustering.cluster_terms import FLOOR, balance, dsim, info, link_scores, score


def test_info_mixes_authority_and_hub() -> None:
    assert info(np.array([1.0, 0.0]), np.array([0.0, 1.0]), alpha=0.8) == pytest.approx([0.8, 0.2])


def test_dsim_is_the_mean_distance_to_the_centroid() -> None:
    vectors = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0], [9.0, 9.0]])
    # centroid (2, 1): distances sqrt 5, sqrt 5, 2
    assert dsim(vectors, np.array([0, 0, 0, 1]), np.array([0])) == pytest.approx([(2 * 5**0.5 + 2) / 3])


def test_dsim_of_single_missing_or_equal_pages_is_zero() -> None:
    vectors = np.array([[1.0, 2.0], [3.0, 4.0], [3.0, 4.0]])
    assert dsim(vectors, np.array([0, 1, 1]), np.array([0, 1, 7])).tolist() == [0.0, 0.0, 0.0]


def test_balance_is_one_minus_the_share_crawled() -> None:
    assert balance(np.array([3, 1]), 5) == pytest.approx([0.4, 0.8])
    assert balance(np.array([0, 0]), 0).tolist() == [1.0, 1.0]


def test_score_is_the_product_with_floors() -> None:
    got = score(np.array([0.5, 0.5, 0.5]), np.array([0.2, 0.0, 0.2]), np.array([0.5, 1.0, 0.0]))
    assert got == pytest.approx([0.05, 0.5 * FLOOR, 0.1 * FLOOR])


def test_single_cluster_site_keeps_a_positive_score() -> None:
    assert score(np.array([1.0]), np.array([0.0]), balance(np.array([9]), 9))[0] > 0.0


def test_link_score_is_the_expected_value_of_its_destination() -> None:
    got = link_scores(np.array([[0.25, 0.75], [0.0, 0.0]]), np.array([2.0, 4.0]))
    assert got == pytest.approx([3.5, 0.0])
