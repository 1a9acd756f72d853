"""What page clusterers share: labels for a sample, a model that classifies further pages, and TF-IDF weights
of bags of paths (Xu 2018, equations 1 and 2)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.features.types import PathTrie

OUTLIER = -1
"""Label of a page in no cluster."""


class ClusterModel(ABC):
    """What a clusterer leaves behind: the feature space of the sample and a rule for new pages."""

    @abstractmethod
    def nearest(self, trie: PathTrie) -> int:
        """Return the cluster of a page, -1 if it is an outlier."""

    @abstractmethod
    def path_names(self) -> list[str]:
        """Return the printed path of every column of `Clustering.vectors`, for explanations."""


@dataclass(frozen=True)
class Clustering:
    """Result of a fit."""

    labels: NDArray[np.int64]  # cluster of every page, (n_pages,) int64, 0, 1, ... in order of first page
    model: ClusterModel  # classifier for further pages
    vectors: NDArray[np.float64]  # (n_pages, n_paths); a page without known features is zero


class Clusterer(ABC):
    """Family of clusterers; parameters are fields of a dataclass, `fit` imports heavy libraries.

    A subclass names itself and the dataclass of its `model`, and says with which parameters it does what its
    paper says to the letter. Cost and memory are quadratic in the pages, of which `site.learning.MAX_SAMPLE`
    come at most.
    """

    name: ClassVar[str]
    model: ClassVar[type[ClusterModel]]
    paper_params: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    @abstractmethod
    def fit(self, tries: Sequence[PathTrie]) -> Clustering:
        """Cluster a sample of pages of one site, by their tag paths."""


def large(groups: NDArray[np.int64], least: int = 2) -> NDArray[np.int64]:
    """Return the groups of at least so many pages; pages of others, and of negative groups, are outliers."""
    sizes = np.bincount(groups[groups >= 0], minlength=1)
    return np.where((groups >= 0) & (sizes[groups] >= least), groups, OUTLIER).astype(np.int64)


def labelled(groups: NDArray[np.int64], zero: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return labels of a sample from the groups of its pages that are not `zero`: counted 0, 1, ... by first
    appearance, negative ones -1; if all are, these pages are one cluster.
    """
    labels = np.full(len(zero), OUTLIER, dtype=np.int64)
    labels[~zero] = groups if (groups >= 0).any() else 0
    seen: dict[int, int] = {}
    return np.array([seen.setdefault(x, len(seen)) if x >= 0 else OUTLIER for x in labels.tolist()], np.int64)


def means_of(vectors: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean vector of every cluster 0, 1, ..., (n_clusters, n_paths)."""
    n_clusters = int(labels.max(initial=OUTLIER)) + 1
    if not n_clusters:
        return np.zeros((0, vectors.shape[1]))
    return np.stack([vectors[labels == cluster].mean(axis=0) for cluster in range(n_clusters)])


Norm = Literal["l1", "l2"]


@dataclass(frozen=True)
class Vectorizer:
    """Frozen TF-IDF space: new pages are weighted with the document frequencies of the learned sample.

    Source: Xu 2018, section 3.2, equations 1 and 2. Differences from the paper: the paper does not say how a
    page outside the sample is weighted; here unseen paths are dropped *before* normalising, so a page of
    known paths has norm 1 whatever else it carries. The ``l2`` variant is ours.
    """

    vocabulary: tuple[str, ...]
    df: tuple[int, ...]
    n_pages: int
    norm: Norm = "l1"

    @cached_property
    def _column(self) -> dict[str, int]:
        return {path: i for i, path in enumerate(self.vocabulary)}

    @cached_property
    def idf(self) -> NDArray[np.float64]:
        """Inverse document frequencies, (n_paths,) float64, never below ln 2."""
        return np.log(self.n_pages / np.asarray(self.df, dtype=np.float64) + 1.0)

    def transform(self, bags: Sequence[Mapping[str, int]]) -> NDArray[np.float64]:
        """Return the weights, shape (n_bags, n_paths) float64; a bag without known paths is a zero row.

        Cost O(total bag size + n_bags x n_paths).
        """
        column_of, weights = self._column.get, np.zeros((len(bags), len(self.vocabulary)), dtype=np.float64)
        for row, bag in zip(weights, bags, strict=True):
            held, leaves = list[int](), list[int]()
            for path, count in bag.items():
                column = column_of(path)
                if column is not None:
                    held.append(column)
                    leaves.append(count)
            columns, tf = np.array(held, dtype=np.intp), np.array(leaves, dtype=np.float64)
            row[columns] = np.log(tf + 1.0) * self.idf[columns]  # eq. 1; a path that is not there weighs 0
        return normalised(weights, self.norm)


def fit_vectorizer(
    bags: Sequence[Mapping[str, int]], *, min_df: int = 4, norm: Norm = "l1", max_paths: int = 4_000
) -> Vectorizer:
    """Learn the TF-IDF space of a sample."""
    df = Counter(path for bag in bags for path in bag)
    frequent = sorted((path for path, count in df.items() if count >= min_df), key=lambda p: (-df[p], p))
    vocabulary = tuple(sorted(frequent[:max_paths]))
    return Vectorizer(vocabulary, tuple(df[path] for path in vocabulary), len(bags), norm)


def normalised(weights: NDArray[np.float64], norm: Norm) -> NDArray[np.float64]:
    """Return rows scaled to norm 1; zero rows stay zero (they are outliers, see `zero_rows`)."""
    if norm == "l1":
        size = weights.sum(axis=1, keepdims=True)
    else:
        size = np.sqrt((weights * weights).sum(axis=1, keepdims=True))
    return weights / np.where(size > 0.0, size, 1.0)  # eq. 2


def zero_rows(matrix: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which pages kept no feature, (n,) bool; at mutual distance 0 they would fake a cluster."""
    return np.asarray(~matrix.any(axis=1), dtype=np.bool_)
