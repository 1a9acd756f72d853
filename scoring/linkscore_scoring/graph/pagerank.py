"""PageRank of a link graph by power iteration, dangling mass spread evenly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_ITERATIONS = 200
"""A bound: with damping .85 the change falls below 1e-6 after some 85."""


class Ranks(NamedTuple):
    """PageRank in two parts: `flow`, (n,) float64, came along links; `rest` every page has alike."""

    flow: Floats
    rest: float

    @property
    def total(self) -> Floats:
        """The PageRank itself, (n,) float64, sum 1."""
        return self.flow + self.rest


def pagerank(
    sources: Ints,
    targets: Ints,
    n: int,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    start: Floats | None = None,
) -> Ranks:
    """Return the PageRank of `n` pages: PR(u) = (1 - d) / n + d (sum_{v -> u} PR(v) / out(v) + D / n).

    D is the rank of the pages without links. The error is at most d / (1 - d) times the tolerance. Cost
    O(n_links) an iteration, at most `MAX_ITERATIONS`.

    `sources`, `targets`: links, (n_links,) each, in [0, n); distinct pairs, no page to itself.
    `n`: pages, > 0.
    `damping`: d, [0, 1].
    `tolerance`: change of the ranks in one iteration, summed, below which it stops; > 0.
    `start`: ranks to start from, (n,), any positive sum; None starts evenly.

    References
    ----------
    Page, Brin, Motwani and Winograd 1999; Cho, Garcia-Molina and Page 1998 use d = 0.9.

    Examples
    --------
    >>> pagerank(np.array([0, 1, 2]), np.array([1, 0, 0]), 3).total.round(3).tolist()  # 0 <-> 1, 2 -> 0
    [0.486, 0.464, 0.05]
    """
    out = np.bincount(sources, minlength=n)
    weights, dangling = damping / out[sources], out == 0
    x = np.full(n, 1.0 / n) if start is None else start / start.sum()
    for _ in range(MAX_ITERATIONS):
        rest = (1.0 - damping + damping * float(x[dangling].sum())) / n
        flow: Floats = np.bincount(targets, weights=x[sources] * weights, minlength=n).astype(np.float64)
        change, x = float(np.abs(flow + rest - x).sum()), flow + rest
        if change < tolerance:
            break
    return Ranks(flow, rest)
