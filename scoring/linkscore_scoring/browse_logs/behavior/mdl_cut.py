"""The cut of a pattern tree that describes visits in fewest nats (Liu 2011, section 3.2.1)."""

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

    A node is cut where its own length is not above the sum of the best lengths below: bottom-up dynamic
    programming, the parent on a tie. Without two visits the cut is the root.

    Parameters
    ----------
    parents
        (n_nodes,) int64, each smaller than its node, -1 for the root, which is node 0.
    sizes, visits
        URLs |P| and visits F_in of each node, subtrees included (`totals`); sizes >= 1.

    References
    ----------
    Liu et al. 2011, eqs. 1 to 4. Differences from the paper: eq. 3 as printed lacks the logarithm and the
    visits of each URL as its weight. Without the weight merging never costs anything, and the root alone
    would always be best; see `description_length`.
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


def description_length(sizes: Floats, visits: Floats, *, weighted: bool = True) -> float:
    """Return L(cut) + L(URLs | cut) in nats of the patterns of a cut (eqs. 1 to 4).

    Parameters
    ----------
    sizes, visits
        URLs and visits of each pattern of the cut, (n_patterns,).
    weighted
        Each URL counts as often as it was visited. False is the paper's eq. 3 with the missing logarithm put
        back: the root alone minimises it on every tree.
    """
    root_visits = float(visits.sum())
    model = (len(sizes) - 1) / 2.0 * np.log(root_visits)  # eq. 2
    if weighted:
        return float(model + _data_length(sizes, visits, root_visits).sum())  # eq. 3
    return float(model + (sizes * np.log(sizes * root_visits / visits)).sum())


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
