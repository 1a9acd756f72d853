"""Hub and authority scores of clusters (HITS; Xu 2018, equations 7 and 8)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def hits(A: NDArray[np.float64], *, tolerance: float = 1e-9, max_rounds: int = 100) -> tuple[Vector, Vector]:
    """Return hub and authority scores, two (n,) float64 vectors of L2 norm 1.

    `A`: adjacency of the clusters, (n, n), ``A[i, j]`` = expected links from cluster i to cluster j (eq. 6).
    Outliers take no part: leave their row and column out. `tolerance`: stop when authorities and hubs
    together change by less (L1). `max_rounds`: bound for graphs whose two largest eigenvalues nearly agree.

    Cost O(rounds x n^2). Source: Xu 2018, equations 7 and 8. Differences from the paper: the uniform start
    ``1/sqrt(n)``, the L2 norm and the stop rule are ours (the paper says "until convergence"); the fixed
    start makes the result of a disconnected graph deterministic; without any link both vectors stay uniform.

    Examples
    --------
    >>> hubs, authorities = hits(np.array([[0.0, 5.0], [0.0, 0.0]]))  # cluster 0 links to cluster 1
    >>> hubs.round(3).tolist(), authorities.round(3).tolist()
    ([1.0, 0.0], [0.0, 1.0])
    """
    n = len(A)
    start = np.full(n, 1.0 / np.sqrt(n)) if n else np.zeros(0)
    h, a = start, start
    if not A.any():
        return h, a
    for _ in range(max_rounds):
        h_new = _unit(A @ a)  # eq. 7
        a_new = _unit(A.T @ h_new)  # eq. 8
        change = np.abs(a_new - a).sum() + np.abs(h_new - h).sum()
        h, a = h_new, a_new
        if change < tolerance:
            break
    return h, a


def target_hits(A: NDArray[np.float64], target: int) -> tuple[Vector, Vector]:
    """Return hubs and authorities of crawling-for-target: authority is pinned to one cluster.

    With `a` pinned, eq. 7 reaches its fixed point after one step: h is column `target` of A, scaled to L2
    norm 1. Clusters two or more hops away score 0; see `multi_hop_hubs`.

    Source: Xu 2018, section 4.4.2. Differences from the paper: h is normalised (raw counts would swamp a).
    """
    a = np.zeros(len(A))
    a[target] = 1.0
    return _unit(A @ a), a  # eq. 7


def multi_hop_hubs(A: NDArray[np.float64], target: int, *, beta: float = 0.5, hops: int = 20) -> Vector:
    """Return how readily each cluster leads to the target within several hops, (n,) float64 in [0, 1 / (1 -
    beta)].

    The sum over t >= 1 of ``beta^(t-1) Pbar^t e_target`` with Pbar the row-normalised adjacency, cut after
    `hops`. Not in the paper: its one-step hubs leave everything two hops away at 0.
    """
    rows = A.sum(axis=1, keepdims=True)
    step = A / np.where(rows > 0.0, rows, 1.0)
    reach = np.zeros(len(A))
    reach[target] = 1.0
    total = np.zeros(len(A))
    for t in range(hops):
        reach = step @ reach
        total += beta**t * reach
    return total


def _unit(vector: Vector) -> Vector:
    size = float(np.sqrt(vector @ vector))
    return vector / size if size > 0.0 else vector
