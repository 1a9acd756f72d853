"""Nearest neighbours: order, ties, outliers, batches."""

from __future__ import annotations

import numpy as np

from linkscore_scoring.clustering.others.knn import NearestNeighbours, nearest, vote


def _line(positions: list[float], labels: list[int], k: int = 3) -> NearestNeighbours:
    return NearestNeighbours(np.array(positions)[:, None], np.array(labels), k=k)


def test_majority_of_three_beats_the_nearest() -> None:
    assert _line([0.0, 1.0, 2.0, 9.0], [0, 1, 1, 0]).classify(np.array([[0.1]])).tolist() == [1]


def test_three_different_labels_give_the_nearest_label() -> None:
    assert _line([0.0, 1.0, 2.0], [2, 1, 0]).classify(np.array([[0.1]])).tolist() == [2]


def test_equal_distances_are_taken_by_index() -> None:
    assert nearest(np.array([[1.0, 0.5, 1.0, 1.0]]), 3).tolist() == [[1, 0, 2]]


def test_two_against_two_goes_to_the_label_met_first() -> None:
    assert vote(np.array([[5, 3, 3, 5]])).tolist() == [5]


def test_outliers_vote() -> None:
    assert _line([0.0, 1.0, 2.0], [-1, -1, 0]).classify(np.array([[0.0]])).tolist() == [-1]


def test_k_is_capped_at_the_sample() -> None:
    assert _line([0.0], [4]).classify(np.array([[7.0]])).tolist() == [4]


def test_empty_sample_gives_outliers() -> None:
    model = NearestNeighbours(np.zeros((0, 2)), np.zeros(0, dtype=np.int64))
    assert model.classify(np.zeros((2, 2))).tolist() == [-1, -1]


def test_batch_equals_pages_one_by_one() -> None:
    rng = np.random.default_rng(3)
    model = NearestNeighbours(rng.random((30, 4)), rng.integers(-1, 3, 30))
    queries = rng.random((12, 4))
    alone = [int(model.classify(query[None, :])[0]) for query in queries]
    assert model.classify(queries).tolist() == alone
