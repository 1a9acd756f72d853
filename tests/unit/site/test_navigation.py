"""Equations 4 to 6 of Xu 2018, the fall-back chain, smoothing and bounds."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.site.navigation import NavigationTable

X, Y, BARE = 11, 12, 99


def _table() -> NavigationTable:
    """Cluster 0 shows 10 links under X: three were crawled, two led to 1 and one to an outlier."""
    table = NavigationTable(paper=True)
    table.observe_links(0, {X: 10})
    for destination in (1, 1, -1):
        table.observe_destination(0, X, BARE, destination)
    return table


def _row(table: NavigationTable, source: int, link_path: int, bare: int = BARE) -> list[float]:
    return table.probabilities([source], [link_path], [bare], [0, 1, -1])[0].tolist()


def test_paper_mode_is_equation_5() -> None:
    assert _row(_table(), 0, X) == pytest.approx([0.0, 2 / 3, 1 / 3])


def test_adjacency_counts_all_links_fetched_or_not() -> None:
    A = _table().adjacency([0, 1])
    assert pytest.approx(np.array([[0.0, 10 * 2 / 3], [0.0, 0.0]])) == A


def test_unseen_cluster_and_class_fall_back_to_the_bare_path_anywhere() -> None:
    table = _table()
    table.observe_destination(5, Y, BARE, 0)
    assert _row(table, 8, 777) == pytest.approx([1 / 4, 2 / 4, 1 / 4])


def test_unknown_path_gets_a_tenth_of_the_site_prior() -> None:
    assert _row(_table(), 8, 777, 888) == pytest.approx([0.0, 0.1 * 2 / 3, 0.1 / 3])


def test_online_rows_are_smoothed_towards_the_more_general_row() -> None:
    table = NavigationTable()
    table.observe_destination(5, Y, BARE, 0)
    table.observe_destination(0, X, BARE, 1)
    prior = 0.5
    any_bare = (1 + prior / 2) / 2.5
    any_x = (0 + any_bare / 2) / 1.5
    bare = (0 + any_x / 2) / 1.5
    assert _row(table, 0, X)[0] == pytest.approx((0 + bare / 2) / 1.5)


def test_least_used_rows_go_when_the_table_is_full() -> None:
    table = NavigationTable(paper=True, max_rows=40)
    for _ in range(5):
        table.observe_destination(0, X, BARE, 1)
    for link_path in range(1_000, 1_100):
        table.observe_destination(2, link_path, link_path, 0)
    assert 0 < len(table.entries()) <= 40
    assert _row(table, 0, X) == pytest.approx([0.0, 1.0, 0.0])


def test_clusters_beyond_the_bound_count_as_outliers() -> None:
    table = NavigationTable(paper=True, max_clusters=2)
    table.observe_destination(0, X, BARE, 1)
    table.observe_destination(0, X, BARE, 7)
    assert table.probabilities([0], [X], [BARE], [1, 7, -1])[0].tolist() == [0.5, 0.0, 0.5]
