"""The interface of page clusterers: labels for a sample, and a model that classifies further pages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import LimitExceeded
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.hashing import hash64
from linkscore_scoring.state import State, from_state, plain

OUTLIER = -1
"""Label of a page in no cluster."""

MAX_PAGES = 2_000
"""Most pages of a sample: clustering them takes seconds of one core, and memory quadratic in it."""


class ClusterModel(ABC):
    """What a clusterer leaves behind: the feature space of the sample and a rule for new pages.

    Of a page it reads `SamplePage.paths` or `SamplePage.in_links`, never the links of the page.
    """

    @abstractmethod
    def vectors(self, pages: Sequence[SamplePage]) -> NDArray[np.float64]:
        """Return the feature vectors of pages, (n_pages, n_paths) float64; a page without known
        features is zero.
        """

    @abstractmethod
    def classify(self, pages: Sequence[SamplePage]) -> NDArray[np.int64]:
        """Return the cluster of every page, (n_pages,) int64, -1 for outliers."""

    @abstractmethod
    def distances(self, pages: Sequence[SamplePage]) -> NDArray[np.float64]:
        """Return each page's distance to what `classify` compares it with, (n_pages,); 0 if to nothing."""

    @abstractmethod
    def path_names(self) -> list[str]:
        """Return the printed path of every column of `vectors`, for explanations."""

    def to_state(self) -> State:
        """Return the model, a dataclass, as plain values."""
        state: State = plain(self)
        return state


@dataclass(frozen=True)
class Clustering:
    """Result of a fit."""

    labels: NDArray[np.int64]  # cluster of every page, (n_pages,) int64, 0, 1, ... in order of first page
    model: ClusterModel  # classifier for further pages
    vectors: NDArray[np.float64]  # `ClusterModel.vectors` of the sample
    notes: list[str] = field(default_factory=list)  # what was unusual, e.g. ``no_clusters``, for the log


class Clusterer(ABC):
    """Family of clusterers; parameters are fields of a dataclass, `fit` imports heavy libraries.

    A subclass names itself and the dataclass of its `model`, and says whether `fit` reads
    `SamplePage.in_links`, and with which parameters it does what its paper says to the letter.

    At most `MAX_PAGES` pages are accepted: cost and memory are quadratic in the pages of a sample.
    """

    name: ClassVar[str]
    model: ClassVar[type[ClusterModel]]
    reads_in_links: ClassVar[bool] = False
    paper_params: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    @abstractmethod
    def fit(self, sample: Sequence[SamplePage]) -> Clustering:
        """Cluster a sample of pages of one site.

        Raises LimitExceeded if the sample holds more than `MAX_PAGES` pages.
        """

    @classmethod
    def load(cls, state: State) -> ClusterModel:
        """Rebuild the model this clusterer made from its `to_state`.

        Raises CorruptState if the state is not one of this clusterer's.
        """
        return from_state(cls.model, state)


def check_size(sample: Sequence[SamplePage]) -> None:
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


Link = tuple[int, int, int]
"""Link path id, class-free link path id, identity hash of the target."""

InLink = tuple[int, int]
"""Identity hash of the linking page, link path id."""


@dataclass(frozen=True, slots=True)
class SamplePage:
    """A page to cluster or to classify."""

    key: str
    paths: PathTrie
    links: Sequence[Link] = ()
    in_links: Sequence[InLink] = ()

    @property
    def hash(self) -> int:
        """Identity hash, by which links name their targets."""
        return hash64(self.key)


def with_in_links(pages: Sequence[SamplePage], sources: Sequence[SamplePage]) -> list[SamplePage]:
    """Return the pages with the links of `sources` that lead to them added to what is known."""
    found: defaultdict[int, dict[InLink, None]] = defaultdict(dict)
    hashes = [page.hash for page in pages]
    wanted = frozenset(hashes)
    for source in sources:
        origin = source.hash
        for link_path, _, target in source.links:
            if target in wanted and target != origin:
                found[target][origin, link_path] = None
    return [
        replace(page, in_links=list(dict.fromkeys([*page.in_links, *found[hash_]])))
        for page, hash_ in zip(pages, hashes, strict=True)
    ]


_Node = tuple[int, str, str]
"""Parent, tag, class tokens."""


class SampleTrie:
    """Tag paths of a sample; pages of a site share most of theirs."""

    def __init__(self, tries: Sequence[PathTrie]) -> None:
        known: defaultdict[_Node, int] = defaultdict(count().__next__)
        self.pages: list[list[int]] = []
        self.leaves: list[list[tuple[int, int]]] = []
        self.classes = [set(trie.classes) for trie in tries]
        for trie in tries:
            at: list[int] = []
            for parent, tag, classes in zip(trie.parents, trie.tags, trie.classes, strict=True):
                at.append(known[at[parent] if parent >= 0 else -1, tag, classes])
            self.pages.append(at)
            self.leaves.append([(node, n) for node, n in zip(at, trie.leaves, strict=True) if n])
        self.nodes = list(known)

    def __len__(self) -> int:
        return len(self.pages)

    def paths(self, element_of: Callable[[str, str], str], separator: str) -> list[str]:
        """Return the path of every node: names of its elements, from the root on.

        `element_of`: (tag, class tokens) -> name of an element; asked once for each that is different.
        `separator`: stands between names.
        """
        elements: dict[tuple[str, str], str] = {}
        paths: list[str] = []
        for parent, tag, classes in self.nodes:
            element = elements.get((tag, classes))
            if element is None:
                element = elements[tag, classes] = element_of(tag, classes)
            paths.append(f"{paths[parent]}{separator}{element}" if parent >= 0 else element)
        return paths

    def bags(self, paths: Sequence[str]) -> list[dict[str, int]]:
        """Return the bag of each page, path -> displayed leaves, of paths given by node."""
        bags = []
        for leaves in self.leaves:
            bag: dict[str, int] = {}
            for node, n in leaves:
                path = paths[node]
                bag[path] = bag.get(path, 0) + n
            bags.append(bag)
        return bags
