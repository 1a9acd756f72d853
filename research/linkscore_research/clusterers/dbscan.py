"""DBSCAN on L1-normalised TF-IDF of plain tag paths (Xu 2018, section 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linkscore_research.clusterers.eps import EpsMode, choose_eps, k_distances, pairwise_distances
from linkscore_scoring.clustering.base import (
    OUTLIER,
    Clusterer,
    Clustering,
    ClusterModel,
    Vectorizer,
    fit_vectorizer,
    labelled,
    zero_rows,
)
from linkscore_scoring.clustering.class_paths import plain_nodes
from linkscore_scoring.features.types import PathTrie

# Distances computed at a time, 32 MB of float64: a bound of memory.
_BATCH_CELLS = 4_000_000


@dataclass(eq=False)
class NearestNeighbours:
    """Majority of the k nearest pages of the sample; outliers vote, so a new page may come out as an outlier.

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


def nearest(distances: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the indices of the `k` nearest columns of every row, (m, k or n) int64, by (distance, index)."""
    k = min(k, distances.shape[1])
    bound = np.partition(distances, k - 1, axis=1)[:, k - 1 : k]
    masked = np.where(distances <= bound, distances, np.inf)
    return np.argsort(masked, axis=1, kind="stable")[:, :k]


def vote(neighbours: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the majority of every row of labels (nearest first), ties to the label met first."""
    votes = (neighbours[:, :, None] == neighbours[:, None, :]).sum(axis=2)
    first = votes.argmax(axis=1)
    return np.take_along_axis(neighbours, first[:, None], axis=1)[:, 0]


@dataclass(eq=False)
class DbscanModel(ClusterModel):
    """Frozen TF-IDF space with the labelled sample; new pages take the vote of their nearest neighbours."""

    vectorizer: Vectorizer
    neighbours: NearestNeighbours
    eps: float

    def nearest(self, trie: PathTrie) -> int:
        """See `ClusterModel.nearest`: Euclidean, to the nearest page of the sample."""
        if not len(self.neighbours.vectors):
            return OUTLIER
        vectors = self.vectorizer.transform([plain_nodes().bag(trie)])
        return int(self.neighbours.classify(vectors)[0]) if vectors.any() else OUTLIER

    def path_names(self) -> list[str]:
        return list(self.vectorizer.vocabulary)


@dataclass(eq=False, kw_only=True)
class Dbscan(Clusterer):
    """The paper's clusterer: choose it to reproduce Xu 2018; `cosine_linkage` is better on most sites.

    Notes
    -----
    Pages are processed in index order, border pages join the first core cluster that reaches them. Pages
    without a path left after the df filter are outliers. A sample below `min_pts` pages, or without any
    cluster, becomes one cluster. Cost O(n^2 n_paths).

    Source: Xu 2018, section 4.2 (DBSCAN: Ester 1996). Differences from the paper: eps, see `choose_eps`; the
    fall-back to one cluster.

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import trie_of
    >>> posts = [trie_of(["html/body/div/h1/text()", *["html/body/p/text()"] * n]) for n in range(5, 10)]
    >>> lists = [trie_of(["html/body/ul/li/a"] * n) for n in range(5, 10)]
    >>> Dbscan().fit(posts + lists).labels.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """

    name: ClassVar[str] = "dbscan"
    paper_params: ClassVar[Mapping[str, Any]] = {"eps_mode": "literal"}
    model: ClassVar[type[ClusterModel]] = DbscanModel

    min_pts: int = 4
    eps_mode: EpsMode = "windowed"
    guard: bool = True

    def fit(self, tries: Sequence[PathTrie]) -> Clustering:
        bags = list(map(plain_nodes().bag, tries))
        min_df = self.min_pts if len(bags) >= self.min_pts else 1
        vectorizer = fit_vectorizer(bags, min_df=min_df, norm="l1")
        vectors = vectorizer.transform(bags)
        zero = zero_rows(vectors)
        eps, groups = self._groups(vectors[~zero])
        labels = labelled(groups, zero)
        neighbours = NearestNeighbours(vectors, labels, k=max(1, self.min_pts - 1))
        return Clustering(labels, DbscanModel(vectorizer, neighbours, eps=eps), vectors)

    def _groups(self, vectors: NDArray[np.float64]) -> tuple[float, NDArray[np.int64]]:
        """Return eps and the groups; zero vectors take no part, or they would form a cluster of their own."""
        if len(vectors) < self.min_pts:
            return 0.0, np.full(len(vectors), OUTLIER, dtype=np.int64)
        distances = pairwise_distances(vectors, vectors)
        eps = choose_eps(
            k_distances(distances, self.min_pts - 1),
            n_features=vectors.shape[1],
            min_pts=self.min_pts,
            mode=self.eps_mode,
            guard=self.guard,
        ).value
        return eps, _dbscan(distances, eps, self.min_pts)


def _dbscan(distances: NDArray[np.float64], eps: float, min_pts: int) -> NDArray[np.int64]:
    from sklearn.cluster import DBSCAN  # seconds to import: only where learning happens

    fitted = DBSCAN(eps=eps, min_samples=min_pts, metric="precomputed").fit(distances)
    return np.asarray(fitted.labels_, dtype=np.int64)
