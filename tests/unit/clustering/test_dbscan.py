"""`_dbscan` gives the labels of DBSCAN as Ester (1996) walks it, in index order."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.clustering.base import OUTLIER
from linkscore_scoring.clustering.dbscan import _dbscan
from linkscore_scoring.clustering.eps import pairwise_distances


def on_a_line(*places: float) -> np.ndarray:
    return np.abs(np.subtract.outer(places, places))


def walked(distances: np.ndarray, eps: float, min_pts: int) -> list[int]:
    """DBSCAN from its paper: each core page that has no cluster yet grows one, from page to page."""
    near = [np.flatnonzero(row <= eps).tolist() for row in distances]
    labels = [OUTLIER] * len(near)
    cluster = 0
    for first in range(len(near)):
        if labels[first] != OUTLIER or len(near[first]) < min_pts:
            continue
        waiting = [first]
        while waiting:
            page = waiting.pop()
            if labels[page] == OUTLIER:
                labels[page] = cluster
                if len(near[page]) >= min_pts:
                    waiting.extend(near[page])
        cluster += 1
    return labels


@pytest.mark.parametrize(
    ("places", "labels"),
    [
        ((0, 1, 2, 10, 11, 12), [0, 0, 0, 1, 1, 1]),
        ((0, 1, 2, 5), [0, 0, 0, OUTLIER]),
        ((0, 5, 10), [OUTLIER, OUTLIER, OUTLIER]),
    ],
    ids=["two clusters", "a page too far", "no core page"],
)
def test_pages_in_reach_of_a_core_page_are_its_cluster(places: tuple[float, ...], labels: list[int]) -> None:
    assert _dbscan(on_a_line(*places), eps=1.0, min_pts=3).tolist() == labels


def test_a_border_page_between_two_clusters_joins_the_first() -> None:
    # The last page, at 3, has three in reach and is no core page; those at 2 and at 4 are, of two clusters.
    places = (4, 4.5, 5, 5, 2, 1.5, 1, 1, 3)
    assert _dbscan(on_a_line(*places), eps=1.0, min_pts=4).tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("seed", range(40))
def test_labels_are_those_of_the_walk_where_distances_equal_eps_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.integers(0, 4, (60, 3)).astype(float)
    distances = pairwise_distances(vectors, vectors)
    eps = float(rng.choice(distances[(distances > 0) & (distances < 2.5)]))
    min_pts = int(rng.integers(2, 12))
    assert _dbscan(distances, eps, min_pts).tolist() == walked(distances, eps, min_pts)
