"""Pages clustered by their repetitive regions (Cai 2008, iRobot)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from linkscore_research.clusterers.eps import pairwise_distances
from linkscore_scoring.clustering.base import (
    OUTLIER,
    Clusterer,
    Clustering,
    ClusterModel,
    fit_vectorizer,
    labelled,
    large,
    means_of,
    normalised,
    zero_rows,
)
from linkscore_scoring.features.types import PathTrie, normal_tokens


@dataclass(eq=False)
class IRobotModel(ClusterModel):
    """The centre of every cluster; a new page joins the nearest within the threshold."""

    regions: tuple[str, ...]
    centres: NDArray[np.float64]
    min_depth: int
    min_share: float
    epsilon: float

    @cached_property
    def _column(self) -> dict[str, int]:
        return {region: i for i, region in enumerate(self.regions)}

    def vectors(self, tries: Sequence[PathTrie]) -> NDArray[np.float64]:
        """Return the shares of the regions of pages, rows of L2 norm 1."""
        shares = np.zeros((len(tries), len(self.regions)))
        for row, trie in zip(shares, tries, strict=True):
            found = regions_of(trie, min_depth=self.min_depth, min_share=self.min_share)
            for region in found.keys() & self._column.keys():
                row[self._column[region]] = found[region]
        return normalised(shares, "l2")

    def nearest(self, trie: PathTrie) -> int:
        """See `ClusterModel.nearest`: Euclidean, to the nearest centre."""
        if not len(self.centres):
            return OUTLIER
        vectors = self.vectors([trie])
        distances = pairwise_distances(vectors, self.centres)[0]
        is_far = distances.min() > self.epsilon or not vectors.any()
        return OUTLIER if is_far else int(distances.argmin())

    def path_names(self) -> list[str]:
        """See `ClusterModel.path_names`: locations of regions."""
        return list(self.regions)


@dataclass(eq=False, kw_only=True)
class IRobotRegions(Clusterer):
    """Cai 2008: choose it to compare with; few features part few templates.

    Notes
    -----
    A page is its regions, weighted by the share of displayed leaves they cover; rows are scaled to norm 1 and
    joined by single linkage up to `epsilon`. A page that joins no other is an outlier. Cost O(n^2 n_regions).

    Source: Cai et al. 2008 as rebuilt by Xu 2018, section 5.2, whose three thresholds are the defaults; the
    features follow US8051083. Weights, distance and linkage are inferred. Differences: regions are read off
    repeated leaf paths and not off the document, so two lists with equal tag paths are one region, weights
    count leaves instead of characters, and order, rows and columns of regions are not known; pages without a
    region resemble each other; clusters are not split by URL pattern, since URLs say nothing of layout.

    Examples
    --------
    >>> from linkscore_scoring.testing.crawl import trie_of
    >>> posts = [trie_of(["html/body/div/h1/text()", *["html/body/p/text()"] * n]) for n in range(5, 10)]
    >>> lists = [trie_of(["html/body/ul/li/a"] * n) for n in range(5, 10)]
    >>> IRobotRegions().fit(posts + lists).labels.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """

    name: ClassVar[str] = "irobot_regions"
    model: ClassVar[type[ClusterModel]] = IRobotModel

    min_depth: int = 3
    min_share: float = 0.3
    epsilon: float = 0.5
    max_regions: int = 4_000

    def fit(self, tries: Sequence[PathTrie]) -> Clustering:
        found = [regions_of(trie, min_depth=self.min_depth, min_share=self.min_share) for trie in tries]
        space = fit_vectorizer([dict.fromkeys(r, 1) for r in found], min_df=1, max_paths=self.max_regions)
        empty = self._model(space.vocabulary, np.zeros((0, len(space.vocabulary))))
        vectors = empty.vectors(tries)
        zero = zero_rows(vectors)
        labels = labelled(self._linked(vectors[~zero]), zero)
        model = self._model(space.vocabulary, means_of(vectors, labels))
        return Clustering(labels, model, vectors)

    def _model(self, regions: Sequence[str], centres: NDArray[np.float64]) -> IRobotModel:
        return IRobotModel(
            tuple(regions), centres, min_depth=self.min_depth, min_share=self.min_share, epsilon=self.epsilon
        )

    def _linked(self, vectors: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the group of every page by single linkage; of pages alone -1."""
        from scipy.sparse import csr_matrix  # slow to import: only where learning happens
        from scipy.sparse.csgraph import connected_components

        if not len(vectors):
            return np.zeros(0, dtype=np.int64)
        near = csr_matrix(pairwise_distances(vectors, vectors) <= self.epsilon)
        groups = np.asarray(connected_components(near, directed=False)[1], dtype=np.int64)
        return large(groups)


NO_REGION = "no region"
"""Feature of a page that has displayed leaves and no region that counts."""


def regions_of(
    trie: PathTrie,
    *,
    min_depth: int = IRobotRegions.min_depth,
    min_share: float = IRobotRegions.min_share,
    min_repeats: int = 3,
) -> dict[str, float]:
    """Return the regions of a page: location -> share of the page's displayed leaves, in (0, 1].

    Notes
    -----
    A node of the trie is repetitive when half or more of the distinct leaf paths below it are repeated, so
    that rows may have parts which others lack. A region is an outermost repetitive node that is deep enough;
    its location is the tag path with the classes of the last element, digits as ``#``. A page with leaves and
    without region has `NO_REGION` with share 1, an empty page nothing. Cost O(nodes).
    """
    leaves, paths, repeated = _totals(trie, min_repeats)
    total = sum(trie.leaves)
    depths: list[int] = []
    inside: list[bool] = []
    found: dict[str, float] = {}
    for node, parent in enumerate(trie.parents):
        depths.append(depths[parent] + 1 if parent >= 0 else 1)
        covered = parent >= 0 and inside[parent]
        starts = not covered and depths[node] >= min_depth and 2 * repeated[node] >= paths[node] > 0
        inside.append(covered or starts)
        if starts and leaves[node] >= min_share * total:
            name = _location(trie, node)
            found[name] = found.get(name, 0.0) + leaves[node] / total
    return found or ({NO_REGION: 1.0} if total else {})


def _totals(trie: PathTrie, min_repeats: int) -> tuple[list[int], list[int], list[int]]:
    """Return for every node: displayed leaves, distinct leaf paths, and repeated ones, at it and below."""
    leaves = list(trie.leaves)
    paths = [int(n > 0) for n in trie.leaves]
    repeated = [int(n >= min_repeats) for n in trie.leaves]
    for node in range(len(leaves) - 1, 0, -1):
        parent = trie.parents[node]
        for column in (leaves, paths, repeated):
            column[parent] += column[node]
    return leaves, paths, repeated


def _location(trie: PathTrie, node: int) -> str:
    tags = []
    at = node
    while at >= 0:
        tags.append(trie.tags[at])
        at = trie.parents[at]
    return ".".join(["/".join(reversed(tags)), *normal_tokens(trie.classes[node])])
