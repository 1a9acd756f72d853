"""Nearest-neighbour classification of new pages (Xu 2018, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_research.clusterers.eps import pairwise_distances

# Distances computed at a time, 32 MB of float64: a bound of memory.
_BATCH_CELLS = 4_000_000


@dataclass(eq=False)
class NearestNeighbours:
    """Majority of the k nearest pages of the sample; outliers vote, so a new page may come out as an outlier.

    Notes
    -----
    Neighbours are ordered by (distance, index). A label wins with most votes; on a tie the tied label with
    the nearest neighbour wins (three different labels: the nearest neighbour's). Cost of a batch of m pages:
    O(m x n_pages x n_paths), one matrix product for every few thousand pages.

    Source: Xu 2018, section 4.2. Differences from the paper: the tie rule is ours, the paper gives none.
    """

    vectors: NDArray[np.float64]
    labels: NDArray[np.int64]
    k: int = 3

    def classify(self, queries: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the label of every query row, (m,) int64; all -1 if the sample is empty."""
        if not len(self.labels):
            return np.full(len(queries), -1, dtype=np.int64)
        step = max(1, _BATCH_CELLS // len(self.labels))
        parts = [self._batch(queries[at : at + step]) for at in range(0, len(queries), step)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def _batch(self, queries: NDArray[np.float64]) -> NDArray[np.int64]:
        near = nearest(pairwise_distances(queries, self.vectors), self.k)
        return vote(self.labels[near])

    def __post_init__(self) -> None:
        if len(self.vectors) != len(self.labels):
            raise ValueError("vectors and labels must have the same length")


def nearest(distances: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the indices of the `k` nearest columns of every row, (m, k or n) int64, by (distance, index)."""
    k = min(k, distances.shape[1])
    bound = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    masked = np.where(distances <= bound, distances, np.inf)
    order: NDArray[np.int64] = np.argsort(masked, axis=1, kind="stable")[:, :k]
    return order


def vote(neighbours: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the majority of every row of labels (nearest first), ties to the label met first."""
    votes = (neighbours[:, :, None] == neighbours[:, None, :]).sum(axis=2)
    first = votes.argmax(axis=1)
    winners: NDArray[np.int64] = neighbours[np.arange(len(neighbours)), first]
    return winners
