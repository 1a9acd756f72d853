"""Merging of sibling patterns that people come to and leave in the same ways (Liu 2011, section 3.2)."""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_scoring.browse_logs.patterns import PatternTree

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

_ALIKE = 0.9
"""Transit similarity above which siblings become one; the paper gives none. Chosen."""


def cut_by_transits(counts: BrowseCounts, tree: PatternTree, leaf: Ids) -> tuple[PatternTree, Ids]:
    """Return a tree in which siblings that people come to and leave alike are one, and each page's leaf."""
    tree, ids = tree.pruned(transit_cut(tree.parents(), tree.leaves(), *between(counts, leaf)))
    return tree, ids[leaf]


def between(counts: BrowseCounts, patterns: Ids) -> tuple[Ids, Ids, Floats]:
    """Return the transits between patterns, -1 for the outside."""
    sources = np.where(counts.from_urls == OUTSIDE, OUTSIDE, patterns[counts.from_urls])
    return sources, patterns[counts.to_urls], counts.transits.astype(np.float64)


def transit_cut(
    parents: Ids, leaves: NDArray[np.bool_], sources: Ids, targets: Ids, transits: Floats
) -> NDArray[np.bool_]:
    """Return the cut after merging, (n_nodes,) bool."""
    merging = _Merging(parents, np.array(leaves), np.array(sources), np.array(targets), transits)
    queue = [(-int(merging.depth[at]), at) for at in merging.ready()]
    heapq.heapify(queue)
    while queue:
        _, at = heapq.heappop(queue)
        if merging.likeness(at) > _ALIKE:
            merging.merge(at)
            above = int(parents[at])
            if above >= 0 and merging.leaves[merging.children(above)].all():
                heapq.heappush(queue, (-int(merging.depth[above]), above))
    return merging.leaves


def propagation(parents: Ids, leaves: NDArray[np.bool_]) -> csr_matrix:
    """Return P of eq. 6, (n_nodes, n_nodes) float64; rows of nodes that are no leaves are empty."""
    depth = depths(parents)
    height = max(int(depth[leaves].max(initial=0)), 1)
    rows, columns, weights = [], [], []
    for leaf in np.flatnonzero(leaves).tolist():
        at, weight = leaf, 1.0
        while at >= 0 and weight > 0.0:
            rows.append(leaf)
            columns.append(at)
            weights.append(weight)
            at = int(parents[at])
            weight *= depth[at] / height if at >= 0 else 0.0  # eq. 6
    return csr_matrix((weights, (rows, columns)), shape=(len(parents), len(parents)))


def depths(parents: Ids) -> Ids:
    """Return the depth of each node, (n_nodes,) int64, 0 for the root."""
    depth = np.zeros(len(parents), dtype=np.int64)
    for at in range(1, len(parents)):
        depth[at] = depth[parents[at]] + 1
    return depth


def cosines(rows: Floats) -> Floats:
    """Return the cosine of every two rows, (n, n) float64: 1 of two zero rows, 0 of one."""
    norms = np.linalg.norm(rows, axis=1)
    zero = norms == 0.0
    unit = rows / np.where(zero, 1.0, norms)[:, None]
    return np.asarray(unit @ unit.T + np.outer(zero, zero), dtype=np.float64)


class _Merging:
    """A cut under way."""

    def __init__(
        self, parents: Ids, leaves: NDArray[np.bool_], sources: Ids, targets: Ids, transits: Floats
    ) -> None:
        self.parents, self.leaves, self.depth = parents, leaves, depths(parents)
        self.sources, self.targets, self.transits = sources, targets, transits
        self._below = np.argsort(parents[1:], kind="stable") + 1
        self._starts = np.searchsorted(parents[self._below], np.arange(len(parents) + 1))
        self._P = propagation(parents, leaves)

    def children(self, at: int) -> Ids:
        """Return the children of a node."""
        return self._below[self._starts[at] : self._starts[at + 1]]

    def ready(self) -> list[int]:
        """Return the nodes above the cut whose children are all leaves."""
        above = np.unique(self.parents[self.leaves])
        return [int(at) for at in above if at >= 0 and self.leaves[self.children(at)].all()]

    def likeness(self, at: int) -> float:
        """Return the transit similarity of the two children that are least alike (eq. 8)."""
        children = self.children(at)
        if len(children) < 2:
            return np.inf
        coming = cosines(self._spread(children, self.targets, self.sources))
        leaving = cosines(self._spread(children, self.sources, self.targets))
        return float(np.min((coming + leaving) / 2.0))

    def merge(self, at: int) -> None:
        """Make a node a leaf in place of its children."""
        children = self.children(at)
        self.leaves[children], self.leaves[at] = False, True
        self.sources[np.isin(self.sources, children)] = at
        self.targets[np.isin(self.targets, children)] = at
        self._P = propagation(self.parents, self.leaves)

    def _spread(self, of: Ids, ends: Ids, others: Ids) -> Floats:
        """Return the transits of some leaves by their other end, spread over the tree (eq. 7), (n,
        n_nodes)."""
        row = np.full(len(self.parents), -1, dtype=np.int64)
        row[of] = np.arange(len(of))
        mine = (row[ends] >= 0) & (ends >= 0) & (others >= 0)
        cells = (self.transits[mine], (row[ends[mine]], others[mine]))
        counts = csr_matrix(cells, shape=(len(of), len(self.parents)))
        return np.asarray((counts @ self._P).todense(), dtype=np.float64)
