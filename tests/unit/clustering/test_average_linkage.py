"""Average linkage gives the groups of scipy, ties included."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from linkscore_scoring.clustering.cosine_linkage import linkage_groups


def _distances(points: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt(((points[:, None] - points) ** 2).sum(axis=-1))


def _by_scipy(distances: NDArray[np.float64], cut: float) -> NDArray[np.int64]:
    tree = linkage(squareform(distances, checks=False), method="average")
    return fcluster(tree, cut, criterion="distance").astype(np.int64)


@settings(deadline=None, max_examples=60)
@given(
    points=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=30),
    cut=st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 9.0]),
)
def test_points_of_a_grid_full_of_ties_are_grouped_as_by_scipy(
    points: list[tuple[int, int]], cut: float
) -> None:
    distances = _distances(np.array(points, dtype=np.float64))
    ours, theirs = linkage_groups(distances, cut), _by_scipy(distances, cut)
    assert np.array_equal(ours[:, None] == ours, theirs[:, None] == theirs)
