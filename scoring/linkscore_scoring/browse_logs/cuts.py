"""The cut of a pattern tree by how people browse: patterns that describe the visits in fewest nats (Liu 2011,
section 3.2). The paper then merges siblings by transits, which changes nothing by measure.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


def totals(parents: Ids, own: Floats) -> Floats:
    """Return the sum over each node's subtree, (n_nodes,) float64; parents stand before their children."""
    sums = np.array(own, dtype=np.float64)
    for at in range(len(parents) - 1, 0, -1):
        sums[parents[at]] += sums[at]
    return sums


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
