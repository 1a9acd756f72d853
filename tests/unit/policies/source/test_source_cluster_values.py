"""Equations 9, 11 and 12 of Xu 2018, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.policies.source.structure import FLOOR, balance, cluster_value, info, link_scores


def test_info_mixes_authority_and_hub() -> None:
    assert info(np.array([1.0, 0.0]), np.array([0.0, 1.0]), alpha=0.8) == pytest.approx([0.8, 0.2])


def test_balance_is_one_minus_the_share_crawled() -> None:
    assert balance(np.array([3, 1]), 5) == pytest.approx([0.4, 0.8])
    assert balance(np.array([0, 0]), 0).tolist() == [1.0, 1.0]


def test_the_value_of_a_cluster_is_the_product_with_floors() -> None:
    got = cluster_value(np.array([0.5, 0.5, 0.5]), np.array([0.2, 0.0, 0.2]), np.array([0.5, 1.0, 0.0]))
    assert got == pytest.approx([0.05, 0.5 * FLOOR, 0.1 * FLOOR])


def test_single_cluster_site_keeps_a_positive_score() -> None:
    assert cluster_value(np.array([1.0]), np.array([0.0]), balance(np.array([9]), 9))[0] > 0.0


def test_link_score_is_the_expected_value_of_its_destination() -> None:
    got = link_scores(np.array([[0.25, 0.75], [0.0, 0.0]]), np.array([2.0, 4.0]))
    assert got == pytest.approx([3.5, 0.0])
