"""The interface of page clusterers: labels for a sample, and a model that classifies further pages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

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
