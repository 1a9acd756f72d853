"""Classes of pages with close link schemas, merged while the description gets shorter (Crescenzi 2005).

The measure is how long it takes to write down page classes and their pages (`Partition.length`). All lengths
are in bits. A path costs log2 P with P distinct paths, a class log2 k with k classes.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    labelled,
    large,
)
from linkscore_scoring.clustering.sample import SamplePage
from linkscore_scoring.clustering.tfidf import fit_vectorizer
from linkscore_scoring.features.bags import link_path_id, plain_bag
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.state import Sparse, Transient, stored_as

# Nearest classes each class looks at in a round, and rounds at most: bounds of work (rounds are about log2 of
# the classes, of which there are 2,000 at most).
_NEAREST, _ROUNDS = 16, 30


@dataclass(eq=False)
class CrescenziModel(ClusterModel):
    """The schema of every class; a new page joins the class it deviates least from."""

    paths: Annotated[tuple[str, ...], stored_as("link_paths")]
    schemas: Sparse[NDArray[np.float64]]
    _column: Transient[dict[str, int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._column = {path: i for i, path in enumerate(self.paths)}

    def vectors(self, pages: Sequence[SamplePage]) -> NDArray[np.float64]:
        """See `ClusterModel.vectors`: 1 for every link path of the page."""
        return presence([link_paths(page.paths) for page in pages], self._column)

    def classify(self, pages: Sequence[SamplePage]) -> NDArray[np.int64]:
        """See `ClusterModel.classify`; a page joins if that is shorter to write than a class of its own."""
        if not len(self.schemas):
            return np.full(len(pages), OUTLIER, dtype=np.int64)
        deviations, sizes = self._deviations(pages)
        least = deviations.min(axis=1)
        shorter = (least < sizes) | (least == 0)
        shorter &= np.array([bool(page.paths.parents) for page in pages], dtype=np.bool_)
        return np.where(shorter, deviations.argmin(axis=1), OUTLIER).astype(np.int64)

    def distances(self, pages: Sequence[SamplePage]) -> NDArray[np.float64]:
        """See `ClusterModel.distances`: paths that differ from the nearest schema, over paths of either."""
        if not len(self.schemas):
            return np.zeros(len(pages))
        deviations, sizes = self._deviations(pages)
        best = deviations.argmin(axis=1)
        least = deviations[np.arange(len(pages)), best]
        either = (
            sizes + self.schemas.sum(axis=1)[best] + least
        ) / 2.0  # |a or b| = (|a| + |b| + |a xor b|) / 2
        return np.asarray(np.where(either > 0, least / np.maximum(either, 1.0), 0.0))

    def _deviations(self, pages: Sequence[SamplePage]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return |page xor schema|, (n_pages, n_classes), and the link paths of each page, (n_pages,)."""
        held = [link_paths(page.paths) for page in pages]
        sizes = np.array([len(paths) for paths in held], dtype=np.float64)
        both = presence(held, self._column) @ self.schemas.T
        return sizes[:, None] + self.schemas.sum(axis=1)[None, :] - 2.0 * both, sizes

    def path_names(self) -> list[str]:
        """See `ClusterModel.path_names`."""
        return list(self.paths)


@dataclass(eq=False, kw_only=True)
class CrescenziMdl(Clusterer):
    """Crescenzi 2005: choose it to compare with; it swallows small templates that resemble a large one.

    Parameters
    ----------
    threshold
        Schemas at this distance or farther are never merged, in (0, 1]; dt in the paper.
    max_paths
        Bound of the link paths looked at: those on most pages are kept.

    Notes
    -----
    The schema of a page is the set of tag paths, without classes, that end at its anchors; the distance of
    two schemas is |a xor b| / |a or b|. Pages of one schema start as a class. Pairs of classes nearer than
    the threshold are merged, the largest saving of description length first, until none saves. A class of one
    page is an outlier. Each round costs O(k^2 n_paths) for k classes; the rounds are about log k.

    Source: Crescenzi, Merialdo and Missier 2005 (Data and Knowledge Engineering 54(3)), of which the
    threshold and the measure are known; the code lengths (`Partition`) are inferred. Differences
    from the paper: a fixed sample is clustered and no links are fetched along the way; the schema of a class
    is the one that is cheapest to write, not the union of its pages; pairs are merged in rounds, with savings
    as of the start of the round, and each class looks at the 16 nearest; anchors that lead off the site count
    as links of the schema.

    Examples
    --------
    >>> from linkscore_scoring.testing.pages import trie_of
    >>> posts = [SamplePage(f"/post/{n}", trie_of(["html/body/div/h1/text()", *["html/body/p/text()"] * n]))
    ...          for n in range(5, 10)]
    >>> lists = [SamplePage(f"/list/{n}", trie_of(["html/body/ul/li/a"] * n)) for n in range(5, 10)]
    >>> CrescenziMdl().fit(posts + lists).labels.tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """

    name: ClassVar[str] = "crescenzi_mdl"
    model: ClassVar[type[ClusterModel]] = CrescenziModel

    threshold: float = 0.2
    max_paths: int = 4_000

    def fit(self, sample: Sequence[SamplePage]) -> Clustering:
        """See `Clusterer.fit`."""
        check_size(sample)
        held = [link_paths(page.paths) for page in sample]
        paths = fit_vectorizer(
            [dict.fromkeys(paths, 1) for paths in held], min_df=1, max_paths=self.max_paths
        )
        column = {path: i for i, path in enumerate(paths.vocabulary)}
        rows = presence(held, column).astype(np.int16)
        empty = np.array([not page.paths.parents for page in sample], dtype=np.bool_)
        classes = self._classes(rows[~empty], _arcs(sample, empty, column))
        labels, notes = labelled(large(classes), empty)
        model = CrescenziModel(paths.vocabulary, _schemas(rows, labels))
        return Clustering(labels, model, model.vectors(sample), notes)

    def _classes(self, rows: PathCounts, arcs: Counts) -> Counts:
        """Return the class of every page, (n_pages,) int64."""
        if not len(rows):
            return np.zeros(0, dtype=np.int64)
        _, alike = np.unique(rows.astype(np.bool_), axis=0, return_inverse=True)
        classes = alike.reshape(-1).astype(np.int64)
        partition = Partition(rows, np.ones(len(rows), dtype=np.int64), arcs).merged(classes)
        for _ in range(_ROUNDS):
            renamed = self._round(partition)
            if renamed is None:
                break
            partition, classes = partition.merged(renamed), renamed[classes]
        return classes

    def _round(self, partition: Partition) -> Counts | None:
        """Return new numbers of the classes after a round of merging; None if none saves.

        The best pairs first, the smaller class of a pair goes into the larger, unless that was itself merged
        away or the smaller has taken others in.
        """
        left, right = self._near_pairs(partition)
        if not len(left):
            return None
        savings = partition.savings(left, right)
        parent = np.arange(len(partition.sizes))
        grown: set[int] = set()
        for at in np.lexsort((right, left, -savings)):
            if savings[at] <= 0.0:
                break
            large, small = sorted((int(left[at]), int(right[at])), key=lambda i: (-partition.sizes[i], i))
            if parent[large] == large and parent[small] == small and small not in grown:
                parent[small] = large
                grown.add(large)
        if not grown:
            return None
        return np.unique(parent, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def _near_pairs(self, partition: Partition) -> tuple[Counts, Counts]:
        """Return the pairs (i, j), i < j, of classes nearer than the threshold."""
        distances = schema_distances(schemas_of(partition.counts, partition.sizes))
        np.fill_diagonal(distances, np.inf)
        nearest = np.argsort(distances, axis=1, kind="stable")[:, :_NEAREST]
        rows = np.repeat(np.arange(len(distances)), nearest.shape[1])
        columns = nearest.reshape(-1)
        near = distances[rows, columns] < self.threshold
        pairs = np.unique(np.sort(np.column_stack([rows[near], columns[near]]), axis=1), axis=0)
        return pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)


def link_paths(trie: PathTrie) -> frozenset[str]:
    """Return the tag paths of a page that end at an anchor: its schema."""
    return frozenset(path for path in plain_bag(trie) if path.endswith("/a"))


def presence(held: Sequence[frozenset[str]], column: dict[str, int]) -> NDArray[np.float64]:
    """Return which pages hold which paths, (n_pages, n_paths) of 0 and 1; other paths are passed over."""
    matrix = np.zeros((len(held), len(column)))
    for row, paths in zip(matrix, held, strict=True):
        row[[column[path] for path in paths if path in column]] = 1.0
    return matrix


def _arcs(sample: Sequence[SamplePage], empty: NDArray[np.bool_], column: dict[str, int]) -> Counts:
    """Return the links within the sample as rows (page, path, page led to), pages without content aside."""
    ids = {link_path_id(path): i for path, i in column.items()}
    pages = [page for page, without in zip(sample, empty, strict=True) if not without]
    place = {page.hash: i for i, page in enumerate(pages)}
    found = {
        (i, ids[classless], place[target])
        for i, page in enumerate(pages)
        for _, classless, target in page.links
        if classless in ids and target in place
    }
    return np.array(sorted(found), dtype=np.int64).reshape(-1, 3)


def _schemas(rows: PathCounts, labels: Counts) -> NDArray[np.float64]:
    n = int(labels.max(initial=OUTLIER)) + 1
    if not n:
        return np.zeros((0, rows.shape[1]))
    counts = np.stack([rows[labels == label].sum(axis=0, dtype=np.int16) for label in range(n)])
    return schemas_of(counts, np.bincount(labels[labels >= 0], minlength=n)).astype(np.float64)


Counts = NDArray[np.int64]
PathCounts = NDArray[np.int16]
Bits = NDArray[np.float64]

# Cells of the table of merged counts made at a time: a bound of memory.
_BATCH_CELLS = 4_000_000


def schemas_of(counts: PathCounts, sizes: Counts) -> NDArray[np.bool_]:
    """Return the cheapest schema of every class, (n_classes, n_paths) bool.

    Parameters
    ----------
    counts
        Pages of each class that hold each path, (n_classes, n_paths) of a signed integer type.
    sizes
        Pages of each class, (n_classes,).

    Notes
    -----
    A path in the schema costs one mention, and one for every page without it; a path outside costs one for
    every page with it.
    """
    return np.asarray(counts > sizes[:, None] // 2, dtype=np.bool_)


def mentions(counts: PathCounts, sizes: Counts) -> Counts:
    """Return how many paths the schema of each class and its pages' deviations from it name, (n,) int64."""
    within = 1 + sizes.astype(counts.dtype)[:, None] - counts
    return np.asarray(np.minimum(counts, within).sum(axis=1, dtype=np.int64))


def schema_distances(schemas: NDArray[np.bool_]) -> Bits:
    """Return |a xor b| / |a or b| of all pairs of schemas, (n, n) float64; two empty ones are at 0."""
    rows = schemas.astype(np.float32)
    both = rows @ rows.T
    sizes = rows.sum(axis=1)
    either = sizes[:, None] + sizes[None, :] - both
    return np.asarray(np.where(either > 0, 1.0 - both / np.maximum(either, 1.0), 0.0), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Partition:
    """Page classes of a sample.

    Attributes
    ----------
    counts, sizes
        See `schemas_of`; counts are (n_classes, n_paths) int16, which at most 32,766 pages fit.
    arcs
        Distinct (class, path, class led to), (n_arcs, 3) int64.
    """

    counts: PathCounts
    sizes: Counts
    arcs: Counts

    @property
    def path_bits(self) -> float:
        """Bits of one path."""
        return float(np.log2(max(2, self.counts.shape[1])))

    def length(self) -> float:
        """Return the bits of all classes, their arcs and their pages."""
        class_bits = float(np.log2(max(1, len(self.sizes))))
        paths = int(mentions(self.counts, self.sizes).sum())
        pages = int(self.sizes.sum())
        return (paths + len(self.arcs)) * self.path_bits + (len(self.arcs) + pages) * class_bits

    def savings(self, left: Counts, right: Counts) -> Bits:
        """Return the bits saved by merging each pair of classes, (n_pairs,) float64.

        Exact but for arcs between the two classes themselves, which are counted as arcs of other classes are.
        """
        n = len(self.sizes)
        alone = mentions(self.counts, self.sizes)
        merged = self._mentions_merged(left, right)
        fewer_arcs = self._shared(left, right, source=0, target=2) + self._shared(
            left, right, source=2, target=0
        )
        fewer_names = (int(self.sizes.sum()) + len(self.arcs)) * np.log2(n / (n - 1))
        saved = alone[left] + alone[right] - merged + fewer_arcs
        return np.asarray(
            saved * self.path_bits + fewer_arcs * np.log2(n - 1) + fewer_names, dtype=np.float64
        )

    def _mentions_merged(self, left: Counts, right: Counts) -> Counts:
        step = max(1, _BATCH_CELLS // max(1, self.counts.shape[1]))
        found = np.zeros(len(left), dtype=np.int64)
        for at in range(0, len(left), step):
            one, other = left[at : at + step], right[at : at + step]
            counts = self.counts[one] + self.counts[other]
            found[at : at + step] = mentions(counts, self.sizes[one] + self.sizes[other])
        return found

    def _shared(self, left: Counts, right: Counts, *, source: int, target: int) -> Counts:
        """Return how many arcs of each pair become one when the pair does, seen from one of their ends."""
        from scipy.sparse import csr_matrix  # slow to import: only where learning happens

        if not len(self.arcs):
            return np.zeros(len(left), dtype=np.int64)
        columns = self.arcs[:, 1] * len(self.sizes) + self.arcs[:, target]
        cells = (np.ones(len(self.arcs), dtype=np.int32), (self.arcs[:, source], columns))
        ends = csr_matrix(cells, shape=(len(self.sizes), int(columns.max()) + 1))
        return np.asarray(ends[left].multiply(ends[right]).sum(axis=1), dtype=np.int64).ravel()

    def merged(self, classes: Counts) -> Partition:
        """Return the partition with class `i` renamed to `classes[i]`, numbered 0, 1, ..."""
        from scipy.sparse import csr_matrix

        n, before = int(classes.max(initial=-1)) + 1, np.arange(len(classes))
        holds = csr_matrix(
            (np.ones(len(classes), dtype=np.int16), (classes, before)), shape=(n, len(classes))
        )
        counts = holds @ self.counts
        sizes = np.bincount(classes, weights=self.sizes, minlength=n).astype(np.int64)
        codes = (classes[self.arcs[:, 0]] * counts.shape[1] + self.arcs[:, 1]) * n + classes[self.arcs[:, 2]]
        source_path, target = np.divmod(np.unique(codes), max(1, n))
        source, path = np.divmod(source_path, max(1, counts.shape[1]))
        return Partition(counts, sizes, np.column_stack([source, path, target]))
