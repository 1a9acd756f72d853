"""Equations 1 and 2 of Xu 2018, by hand."""

from __future__ import annotations

import math

import pytest

from linkscore_scoring.clustering.base import fit_vectorizer, zero_rows

BAGS = [{"a": 1, "b": 3}, {"a": 1}, {"a": 2, "c": 1}, {"a": 1, "b": 1}]


def test_weights_follow_equation_1_then_l1() -> None:
    got = fit_vectorizer(BAGS, min_df=1).transform([BAGS[0]])[0]
    a = math.log(1 + 1) * math.log(4 / 4 + 1)
    b = math.log(3 + 1) * math.log(4 / 2 + 1)
    assert got == pytest.approx([a / (a + b), b / (a + b), 0.0])


def test_rare_paths_and_those_beyond_the_bound_are_dropped() -> None:
    assert fit_vectorizer(BAGS, min_df=2).vocabulary == ("a", "b")
    assert fit_vectorizer(BAGS, min_df=1, max_paths=2).vocabulary == ("a", "b")


def test_page_without_known_paths_is_a_flagged_zero_row() -> None:
    matrix = fit_vectorizer(BAGS, min_df=1).transform([{"new": 1}, {}, {"a": 1}])
    assert zero_rows(matrix).tolist() == [True, True, False]
    assert not matrix[:2].any()
