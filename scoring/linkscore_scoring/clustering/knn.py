"""Nearest-neighbour classification of new pages (Xu 2018, section 4.2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.eps import pairwise_distances
from linkscore_scoring.errors import CorruptState, reading_state
from linkscore_scoring.state import State, pack_array, pack_sparse, unpack_array, unpack_sparse

# Distances computed at a time, 32 MB of float64: a bound of memory.
_BATCH_CELLS = 4_000_000


class NearestNeighbours:
    """Majority of the k nearest pages of the sample; outliers vote, so a new page may come out as an outlier.

    Parameters
    ----------
    vectors
        Weights of the sample, (n_pages, n_paths) float64.
    labels
        Cluster of every sampled page, -1 for outliers, (n_pages,) int64.
    k
        Neighbours asked, minPts - 1 = 3 in the paper; capped at n_pages.

    Notes
    -----
    Neighbours are ordered by (distance, index). A label wins with most votes; on a tie the tied label with
    the nearest neighbour wins (three different labels: the nearest neighbour's). Cost of a batch of m pages:
    O(m x n_pages x n_paths), one matrix product for every few thousand pages.

    Source: Xu 2018, section 4.2. Differences from the paper: the tie rule is ours, the paper gives none.
    """

    def __init__(self, vectors: NDArray[np.float64], labels: NDArray[np.int64], *, k: int = 3) -> None:
        self.vectors = vectors
        self.labels = labels
        self.k = k

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

    def to_state(self) -> State:
        """Return the sample as plain values."""
        return {"vectors": pack_sparse(self.vectors), "labels": pack_array(self.labels), "k": self.k}

    @classmethod
    def from_state(cls, state: State) -> NearestNeighbours:
        """Rebuild the classifier.

        Raises
        ------
        CorruptState
            If a field is missing or vectors and labels differ in length.
        """
        with reading_state("neighbour state"):
            made = cls(unpack_sparse(state["vectors"]), unpack_array(state["labels"]), k=int(state["k"]))
        if len(made.vectors) != len(made.labels):
            raise CorruptState("neighbour state: vectors and labels must have the same length")
        return made


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
