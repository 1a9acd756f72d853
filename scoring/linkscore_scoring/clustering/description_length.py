"""How long it takes to write down page classes and their pages: the measure `crescenzi_mdl` minimises.

All lengths are in bits. A path costs log2 P with P distinct paths, a class log2 k with k classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
PathCounts = NDArray[np.int16]
Bits = NDArray[np.float64]

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
