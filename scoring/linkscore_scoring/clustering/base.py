"""The interface of page clusterers: labels for a sample, and a model that classifies further pages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import LimitExceeded
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.state import State, plain

OUTLIER = -1
"""Label of a page in no cluster."""

MAX_PAGES = 2_000
"""Most pages of a sample: clustering them takes seconds of one core, and memory quadratic in it."""


class ClusterModel(ABC):
    """What a clusterer leaves behind: the feature space of the sample and a rule for new pages."""

    @abstractmethod
    def nearest(self, trie: PathTrie) -> tuple[int, float]:
        """Return the cluster of a page, -1 if it is an outlier, and its distance to what it is compared with
        (0 if to nothing).
        """

    @abstractmethod
    def path_names(self) -> list[str]:
        """Return the printed path of every column of `Clustering.vectors`, for explanations."""

    def to_state(self) -> State:
        """Return the model, a dataclass, as plain values."""
        state: State = plain(self)
        return state


@dataclass(frozen=True)
class Clustering:
    """Result of a fit."""

    labels: NDArray[np.int64]  # cluster of every page, (n_pages,) int64, 0, 1, ... in order of first page
    model: ClusterModel  # classifier for further pages
    vectors: NDArray[np.float64]  # (n_pages, n_paths); a page without known features is zero
    notes: list[str] = field(default_factory=list)  # what was unusual, e.g. ``no_clusters``, for the log


class Clusterer(ABC):
    """Family of clusterers; parameters are fields of a dataclass, `fit` imports heavy libraries.

    A subclass names itself and the dataclass of its `model`, and says with which parameters it does what its
    paper says to the letter. At most `MAX_PAGES` pages are accepted: cost and memory are quadratic in them.
    """

    name: ClassVar[str]
    model: ClassVar[type[ClusterModel]]
    paper_params: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    @abstractmethod
    def fit(self, tries: Sequence[PathTrie]) -> Clustering:
        """Cluster a sample of pages of one site, by their tag paths.

        Raises LimitExceeded if the sample holds more than `MAX_PAGES` pages.
        """


def check_size(sample: Sequence[PathTrie]) -> None:
    """Refuse samples beyond the bound."""
    if len(sample) > MAX_PAGES:
        raise LimitExceeded(f"sample: at most {MAX_PAGES} pages can be clustered, got {len(sample)}")


def large(groups: NDArray[np.int64], least: int = 2) -> NDArray[np.int64]:
    """Return the groups of at least so many pages; pages of others, and of negative groups, are outliers."""
    sizes = np.bincount(groups[groups >= 0], minlength=1)
    return np.where((groups >= 0) & (sizes[groups] >= least), groups, OUTLIER).astype(np.int64)


def labelled(groups: NDArray[np.int64], zero: NDArray[np.bool_]) -> tuple[NDArray[np.int64], list[str]]:
    """Return labels and notes of a sample from the groups of its pages that are not `zero`."""
    labels = np.full(len(zero), OUTLIER, dtype=np.int64)
    labels[~zero] = groups
    return or_one_cluster(renumbered(labels), zero)


def means_of(vectors: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean vector of every cluster 0, 1, ..., (n_clusters, n_paths)."""
    n_clusters = int(labels.max(initial=OUTLIER)) + 1
    if not n_clusters:
        return np.zeros((0, vectors.shape[1]))
    return np.stack([vectors[labels == cluster].mean(axis=0) for cluster in range(n_clusters)])


def renumbered(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return labels counted 0, 1, ... by first appearance; negative labels become -1."""
    seen: dict[int, int] = {}
    numbers = [seen.setdefault(int(x), len(seen)) if x >= 0 else OUTLIER for x in labels]
    return np.array(numbers, dtype=np.int64)


def or_one_cluster(labels: NDArray[np.int64], zero: NDArray[np.bool_]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the labels, or one cluster of all non-zero pages when there is none, with a note."""
    if len(labels) and (labels < 0).all() and not zero.all():
        return np.where(zero, OUTLIER, 0).astype(np.int64), ["no_clusters"]
    return labels, []
