"""Pages clustered by the links that point to them (Grigalis and Cenys 2014)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.base import (
    OUTLIER,
    Clusterer,
    Clustering,
    ClusterModel,
    check_size,
    or_one_cluster,
    renumbered,
)
from linkscore_scoring.clustering.sample import SamplePage
from linkscore_scoring.clustering.tfidf import normalised
from linkscore_scoring.features.bags import apath_id
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.state import Sparse, Transient


@dataclass(eq=False)
class UxClustModel(ClusterModel):
    """Where each Apath leads; a new page takes the vote of the Apaths of the links known to lead to it.

    Parameters
    ----------
    apaths
        Apath ids, one for each row of `shares`, and their names; generic ones are left out.
    shares
        Share of the pages behind an Apath that lie in each cluster, (n_apaths, n_clusters) float64.
    """

    apaths: dict[int, str]
    shares: Sparse[NDArray[np.float64]]
    _row: Transient[dict[int, int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._row = {apath: i for i, apath in enumerate(self.apaths)}

    def vectors(self, pages: Sequence[SamplePage]) -> NDArray[np.float64]:
        """See `ClusterModel.vectors`: the share of each Apath in the links to a page."""
        counts = np.zeros((len(pages), len(self._row)))
        for row, page in zip(counts, pages, strict=True):
            for _, apath in page.in_links:
                if apath in self._row:
                    row[self._row[apath]] += 1.0
        return normalised(counts, "l1")

    def classify(self, pages: Sequence[SamplePage]) -> NDArray[np.int64]:
        """See `ClusterModel.classify`; a page without links of a known Apath is an outlier."""
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
        """See `ClusterModel.path_names`: Apaths of links that lead to the page."""
        return list(self.apaths.values())


class UxClust(Clusterer):
    """Grigalis and Cenys 2014: choose it to compare with, or where pages of a template differ in everything.

    Parameters
    ----------
    max_share
        Apaths that lead to more than this share of the site, in (0, 1], are generic and merge nothing.

    Notes
    -----
    Pages that one page links to under one Apath belong together, and so on transitively; pages that are known
    only as targets join others too. The site is all URLs seen, sampled or linked. Pages without a link to
    them but generic ones, and pages that stay alone, are outliers. Cost: near linear in the links.

    Source: Grigalis and Cenys 2014, of which the abstract is known: pages are clustered by the XPaths of the
    links that point to them. The grouping and the refusal of generic XPaths are inferred. Differences: an
    Apath carries the class of its anchor only; a new page is not grouped with the links next to the one that
    leads to it but takes the cluster its Apaths lead to most.

    Examples
    --------
    >>> from linkscore_scoring.features.types import PathTrie
    >>> keys = ["/", "/list/1", "/list/2", "/post/1", "/post/2", "/post/3"]
    >>> targets = {"/": [(1, "/list/1"), (1, "/list/2")], "/list/1": [(2, "/post/1"), (2, "/post/2")],
    ...            "/list/2": [(2, "/post/2"), (2, "/post/3")]}  # Apath, page it leads to
    >>> sample = [SamplePage(key, PathTrie(), [(apath, apath, SamplePage(to, PathTrie()).hash)
    ...                                        for apath, to in targets.get(key, [])]) for key in keys]
    >>> UxClust(max_share=0.6).fit(sample).labels.tolist()
    [-1, 0, 0, 1, 1, 1]
    """

    name: ClassVar[str] = "uxclust"
    model: ClassVar[type[ClusterModel]] = UxClustModel
    reads_in_links: ClassVar[bool] = True

    def __init__(self, *, max_share: float = 0.3) -> None:
        self.max_share = max_share

    def fit(self, sample: Sequence[SamplePage]) -> Clustering:
        """See `Clusterer.fit`."""
        check_size(sample)
        groups = _groups(sample)
        apaths = self._specific(groups, frozenset(page.hash for page in sample))
        joined = _Joined()
        for (_, apath), targets in groups.items():
            if apath in apaths:
                joined.join(targets)
        labels, notes = or_one_cluster(_labels(sample, joined), _unknown(sample))
        model = UxClustModel(_names(apaths, sample), _shares(apaths, sample, labels))
        return Clustering(labels, model, model.vectors(sample), notes)

    def _specific(
        self, groups: Mapping[tuple[int, int], Sequence[int]], pages: frozenset[int]
    ) -> dict[int, set[int]]:
        """Return the targets of every Apath that is not generic, by Apath id in ascending order."""
        reach: defaultdict[int, set[int]] = defaultdict(set)
        for (_, apath), targets in groups.items():
            reach[apath].update(targets)
        most = self.max_share * len(pages.union(*reach.values()))
        return {apath: reach[apath] for apath in sorted(reach) if len(reach[apath]) <= most}


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
    """Return the targets of every (linking page, Apath), links of a page to itself left out."""
    groups: dict[tuple[int, int], list[int]] = {}
    for page in sample:
        origin = page.hash
        for apath, _, target in page.links:
            if target != origin:
                groups.setdefault((origin, apath), []).append(target)
    return groups


def _labels(sample: Sequence[SamplePage], joined: _Joined) -> NDArray[np.int64]:
    roots = [joined.root(page.hash) for page in sample]
    numbers: dict[int, int] = {}
    labels = np.array([numbers.setdefault(root, len(numbers)) for root in roots], dtype=np.int64)
    sizes = np.bincount(labels, minlength=1)
    return renumbered(np.where(sizes[labels] > 1, labels, OUTLIER).astype(np.int64))


def _unknown(sample: Sequence[SamplePage]) -> NDArray[np.bool_]:
    """Return which pages nothing is known of: neither content nor a link."""
    return np.array([not page.paths.parents and not page.in_links for page in sample], dtype=np.bool_)


def _shares(
    apaths: Mapping[int, set[int]], sample: Sequence[SamplePage], labels: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return how the clustered pages behind every Apath spread over the clusters; rows of none are zero."""
    cluster = {page.hash: int(label) for page, label in zip(sample, labels, strict=True) if label >= 0}
    counts = np.zeros((len(apaths), int(labels.max(initial=OUTLIER)) + 1))
    for row, targets in zip(counts, apaths.values(), strict=True):
        for target in targets & cluster.keys():
            row[cluster[target]] += 1.0
    return normalised(counts, "l1")


def _names(apaths: Iterable[int], sample: Sequence[SamplePage]) -> dict[int, str]:
    """Return the text of every Apath, read off the pages of the sample; its number if no page shows it."""
    texts = {apath_id(text): text for text in sorted({t for page in sample for t in _apaths(page.paths)})}
    return {apath: texts.get(apath, f"{apath:016x}") for apath in apaths}


def _apaths(trie: PathTrie) -> set[str]:
    """Return the raw Apaths of the anchors of a page."""
    paths: list[str] = []
    found = set()
    for parent, tag, classes, leaves in zip(trie.parents, trie.tags, trie.classes, trie.leaves, strict=True):
        paths.append(f"{paths[parent]}/{tag}" if parent >= 0 else tag)
        if leaves and tag != "text()":
            found.add(f"{paths[-1]}[{classes}]")
    return found
