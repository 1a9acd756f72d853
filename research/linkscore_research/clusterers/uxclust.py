"""Pages clustered by the links that point to them (Grigalis and Cenys 2014)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.base import (
    OUTLIER,
    Clusterer,
    Clustering,
    ClusterModel,
    check_size,
    large,
    or_one_cluster,
    renumbered,
)
from linkscore_scoring.clustering.sample import SamplePage
from linkscore_scoring.clustering.tfidf import normalised
from linkscore_scoring.features.bags import link_path_id
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.state import Sparse, Transient, stored_as


@dataclass(eq=False)
class UxClustModel(ClusterModel):
    """Where each link path leads; a new page takes the vote of those of the links known to lead to it.

    Parameters
    ----------
    link_paths
        link path ids, one for each row of `shares`, and their names; generic ones are left out.
    shares
        Share of the pages behind a link path that lie in each cluster, (n_link_paths, n_clusters) float64.
    """

    link_paths: Annotated[dict[int, str], stored_as("apaths")]
    shares: Sparse[NDArray[np.float64]]
    _row: Transient[dict[int, int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._row = {link_path: i for i, link_path in enumerate(self.link_paths)}

    def vectors(self, pages: Sequence[SamplePage]) -> NDArray[np.float64]:
        """See `ClusterModel.vectors`: the share of each link path in the links to a page."""
        counts = np.zeros((len(pages), len(self._row)))
        for row, page in zip(counts, pages, strict=True):
            for _, link_path in page.in_links:
                if link_path in self._row:
                    row[self._row[link_path]] += 1.0
        return normalised(counts, "l1")

    def classify(self, pages: Sequence[SamplePage]) -> NDArray[np.int64]:
        """See `ClusterModel.classify`; a page without links of a known link path is an outlier."""
        if not self.shares.shape[1]:
            return np.full(len(pages), OUTLIER, dtype=np.int64)
        votes = self.vectors(pages) @ self.shares
        return np.where(votes.max(axis=1) > 0.0, votes.argmax(axis=1), OUTLIER).astype(np.int64)

    def distances(self, pages: Sequence[SamplePage]) -> NDArray[np.float64]:
        """See `ClusterModel.distances`: 1 - share of the votes for the page's cluster."""
        if not self.shares.shape[1]:
            return np.zeros(len(pages))
        return np.asarray(1.0 - (self.vectors(pages) @ self.shares).max(axis=1))

    def path_names(self) -> list[str]:
        """See `ClusterModel.path_names`: Link paths of links that lead to the page."""
        return list(self.link_paths.values())


@dataclass(eq=False, kw_only=True)
class UxClust(Clusterer):
    """Grigalis and Cenys 2014: choose it to compare with, or where pages of a template differ in everything.

    Parameters
    ----------
    max_share
        link paths that lead to more than this share of the site, in (0, 1], are generic and merge nothing.

    Notes
    -----
    Pages that one page links to under one link path belong together, and so on transitively; pages that are
    known only as targets join others too. The site is all URLs seen, sampled or linked. Pages without a link
    to them but generic ones, and pages that stay alone, are outliers. Cost: near linear in the links.

    Source: Grigalis and Cenys 2014, of which the abstract is known: pages are clustered by the XPaths of the
    links that point to them. The grouping and the refusal of generic XPaths are inferred. Differences: an
    link path carries the class of its anchor only; a new page is not grouped with the links next to the one
    that leads to it but takes the cluster its link paths lead to most.

    Examples
    --------
    >>> from linkscore_scoring.features.types import PathTrie
    >>> keys = ["/", "/list/1", "/list/2", "/post/1", "/post/2", "/post/3"]
    >>> targets = {"/": [(1, "/list/1"), (1, "/list/2")], "/list/1": [(2, "/post/1"), (2, "/post/2")],
    ...            "/list/2": [(2, "/post/2"), (2, "/post/3")]}  # Link path, page it leads to
    >>> sample = [SamplePage(key, PathTrie(), [(link_path, link_path, SamplePage(to, PathTrie()).hash)
    ...                                        for link_path, to in targets.get(key, [])]) for key in keys]
    >>> UxClust(max_share=0.6).fit(sample).labels.tolist()
    [-1, 0, 0, 1, 1, 1]
    """

    name: ClassVar[str] = "uxclust"
    model: ClassVar[type[ClusterModel]] = UxClustModel
    reads_in_links: ClassVar[bool] = True

    max_share: float = 0.3

    def fit(self, sample: Sequence[SamplePage]) -> Clustering:
        """See `Clusterer.fit`."""
        check_size(sample)
        groups = _groups(sample)
        link_paths = self._specific(groups, frozenset(page.hash for page in sample))
        joined = _Joined()
        for (_, link_path), targets in groups.items():
            if link_path in link_paths:
                joined.join(targets)
        labels, notes = or_one_cluster(_labels(sample, joined), _unknown(sample))
        model = UxClustModel(_names(link_paths, sample), _shares(link_paths, sample, labels))
        return Clustering(labels, model, model.vectors(sample), notes)

    def _specific(
        self, groups: Mapping[tuple[int, int], Sequence[int]], pages: frozenset[int]
    ) -> dict[int, set[int]]:
        """Return the targets of every link path that is not generic, by link path id in ascending order."""
        reach: defaultdict[int, set[int]] = defaultdict(set)
        for (_, link_path), targets in groups.items():
            reach[link_path].update(targets)
        most = self.max_share * len(pages.union(*reach.values()))
        return {link_path: reach[link_path] for link_path in sorted(reach) if len(reach[link_path]) <= most}


class _Joined:
    """Disjoint sets of pages."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def root(self, page: int) -> int:
        """Return the page that stands for the set of `page`."""
        parent = self._parent
        at = parent.setdefault(page, page)
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    def join(self, pages: Iterable[int]) -> None:
        """Make one set of the sets of all these pages."""
        roots = [self.root(page) for page in pages]
        for root in roots[1:]:
            self._parent[self.root(root)] = self.root(roots[0])


def _groups(sample: Sequence[SamplePage]) -> dict[tuple[int, int], list[int]]:
    """Return the targets of every (linking page, link path), links of a page to itself left out."""
    groups: dict[tuple[int, int], list[int]] = {}
    for page in sample:
        origin = page.hash
        for link_path, _, target in page.links:
            if target != origin:
                groups.setdefault((origin, link_path), []).append(target)
    return groups


def _labels(sample: Sequence[SamplePage], joined: _Joined) -> NDArray[np.int64]:
    roots = [joined.root(page.hash) for page in sample]
    numbers: dict[int, int] = {}
    labels = np.array([numbers.setdefault(root, len(numbers)) for root in roots], dtype=np.int64)
    return renumbered(large(labels))


def _unknown(sample: Sequence[SamplePage]) -> NDArray[np.bool_]:
    """Return which pages nothing is known of: neither content nor a link."""
    return np.array([not page.paths.parents and not page.in_links for page in sample], dtype=np.bool_)


def _shares(
    link_paths: Mapping[int, set[int]], sample: Sequence[SamplePage], labels: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how the clustered pages behind each link path spread over clusters; rows of none are zero."""
    cluster = {page.hash: int(label) for page, label in zip(sample, labels, strict=True) if label >= 0}
    counts = np.zeros((len(link_paths), int(labels.max(initial=OUTLIER)) + 1))
    for row, targets in zip(counts, link_paths.values(), strict=True):
        for target in targets & cluster.keys():
            row[cluster[target]] += 1.0
    return normalised(counts, "l1")


def _names(link_paths: Iterable[int], sample: Sequence[SamplePage]) -> dict[int, str]:
    """Return the text of each link path, read off the pages of the sample; its number if none shows it."""
    texts = {
        link_path_id(text): text for text in sorted({t for page in sample for t in _link_paths(page.paths)})
    }
    return {link_path: texts.get(link_path, f"{link_path:016x}") for link_path in link_paths}


def _link_paths(trie: PathTrie) -> set[str]:
    """Return the raw link paths of the anchors of a page."""
    paths: list[str] = []
    found = set()
    for parent, tag, classes, leaves in zip(trie.parents, trie.tags, trie.classes, trie.leaves, strict=True):
        paths.append(f"{paths[parent]}/{tag}" if parent >= 0 else tag)
        if leaves and tag != "text()":
            found.add(f"{paths[-1]}[{classes}]")
    return found
