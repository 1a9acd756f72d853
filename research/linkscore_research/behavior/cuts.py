"""Cuts of a pattern tree by how people browse (Liu 2011, section 3.2).

`mdl_cut` takes the patterns that describe the visits in fewest nats; `transit_cut` then merges siblings
that people come to and leave in the same ways.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from linkscore_scoring.browse_logs.behavior import tally, totals
from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_scoring.browse_logs.patterns import PatternNode, PatternTree

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

_ALIKE = 0.9
"""Transit similarity above which siblings become one; the paper gives none. Chosen."""


def cut_by_visits(counts: BrowseCounts, tree: PatternTree, leaf: Ids) -> tuple[PatternTree, Ids]:
    """Return a tree cut by description length, and the leaf of each page of the log, (n_urls,)."""
    parents, n = tree.parents(), len(tree)
    sizes, visits = (tally(leaf, x, n) for x in (np.ones(len(leaf)), counts.visits()))
    tree, ids = pruned(tree, mdl_cut(parents, totals(parents, sizes), totals(parents, visits)))
    return tree, ids[leaf]


def cut_by_transits(counts: BrowseCounts, tree: PatternTree, leaf: Ids) -> tuple[PatternTree, Ids]:
    """Return a tree in which siblings that people come to and leave alike are one, and each page's leaf."""
    tree, ids = pruned(tree, transit_cut(tree.parents(), tree.leaves(), *between(counts, leaf)))
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


def mdl_cut(parents: Ids, sizes: Floats, visits: Floats) -> NDArray[np.bool_]:
    """Return the cut with the least description length, (n_nodes,) bool; exact, cost O(n_nodes).

    Liu et al.
    """
    n, root_visits = len(parents), float(visits[0])
    cut = np.zeros(n, dtype=np.bool_)
    if root_visits <= 1.0:
        cut[0] = True
        return cut
    own = _data_length(sizes, visits, root_visits) + 0.5 * np.log(root_visits)  # eqs. 2 and 3, one pattern
    below = np.zeros(n)
    inner = np.bincount(parents[1:], minlength=n) > 0
    best = own.copy()
    for at in range(n - 1, -1, -1):
        if inner[at] and below[at] < own[at]:
            best[at] = below[at]
        else:
            cut[at] = True
        if at:
            below[parents[at]] += best[at]
    return topmost(parents, cut)


def topmost(parents: Ids, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the marked nodes without a marked one above them, (n_nodes,) bool."""
    covered, top = np.zeros(len(parents), dtype=np.bool_), np.array(marked)
    for at in range(1, len(parents)):
        covered[at] = covered[parents[at]] or marked[parents[at]]
    top[covered] = False
    return top


def _data_length(sizes: Floats, visits: Floats, root_visits: float) -> Floats:
    """Return - F_k log p(u | cut) with p = F_k / (|P_k| F_root) (eq. 4); 0 for a pattern without visits."""
    seen = np.maximum(visits, 1e-300)
    return np.asarray(np.where(visits > 0.0, visits * np.log(sizes * root_visits / seen), 0.0))


def pruned(tree: PatternTree, leaves: NDArray[np.bool_]) -> tuple[PatternTree, Ids]:
    """Return the tree above a cut, and the new id of each old node: for those below, their leaf's."""
    ids, nodes = np.zeros(len(tree.nodes), dtype=np.int64), list[PatternNode]()
    below = np.zeros(len(tree.nodes), dtype=np.bool_)
    for at, node in enumerate(tree.nodes):
        if node.parent >= 0 and (below[node.parent] or leaves[node.parent]):
            below[at], ids[at] = True, ids[node.parent]
            continue
        ids[at] = len(nodes)
        parent = int(ids[node.parent]) if node.parent >= 0 else -1
        nodes.append(PatternNode(parent, node.fixed, "" if leaves[at] else node.key))
    for at, node in enumerate(tree.nodes):
        if not below[at] and not leaves[at]:
            nodes[ids[at]].children = {label: int(ids[x]) for label, x in node.children.items()}
    return PatternTree(nodes), ids
