"""DBSCAN on L1-normalised TF-IDF of plain tag paths (Xu 2018, section 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linkscore_research.clusterers.eps import EpsMode, choose_eps, k_distances, pairwise_distances
from linkscore_research.clusterers.knn import NearestNeighbours
from linkscore_scoring.clustering.base import (
    OUTLIER,
    Clusterer,
    Clustering,
    ClusterModel,
    check_size,
    labelled,
)
from linkscore_scoring.clustering.tfidf import Vectorizer, fit_vectorizer, zero_rows
from linkscore_scoring.features.types import PathTrie, plain_bag


@dataclass(eq=False)
class DbscanModel(ClusterModel):
    """Frozen TF-IDF space with the labelled sample; new pages take the vote of their nearest neighbours."""

    vectorizer: Vectorizer
    neighbours: NearestNeighbours
    eps: float

    def nearest(self, trie: PathTrie) -> tuple[int, float]:
        """See `ClusterModel.nearest`: Euclidean, to the nearest page of the sample."""
        if not len(self.neighbours.vectors):
            return OUTLIER, 0.0
        vectors = self.vectorizer.transform([plain_bag(trie)])
        label = int(self.neighbours.classify(vectors)[0]) if vectors.any() else OUTLIER
        return label, float(pairwise_distances(vectors, self.neighbours.vectors).min())

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
    >>> from linkscore_scoring.testing.pages import trie_of
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
        check_size(tries)
        bags = list(map(plain_bag, tries))
        min_df = self.min_pts if len(bags) >= self.min_pts else 1
        vectorizer = fit_vectorizer(bags, min_df=min_df, norm="l1")
        vectors = vectorizer.transform(bags)
        zero = zero_rows(vectors)
        eps, groups = self._groups(vectors[~zero])
        labels, notes = labelled(groups, zero)
        neighbours = NearestNeighbours(vectors, labels, k=max(1, self.min_pts - 1))
        return Clustering(labels, DbscanModel(vectorizer, neighbours, eps=eps), vectors, notes)

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
