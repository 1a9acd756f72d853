"""The DBSCAN radius of a site, read from the histogram of its K-distances (Xu 2018, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

EpsMode = Literal["literal", "windowed", "percentile"]

MIN_EPS = 1e-9
"""Radius when all pages are equal, since DBSCAN wants a positive one."""

# Pages beyond the radius from which the guard widens it. Xu 2018 reports 1.3 to 5.5 % outliers; the literal
# rule gave 25 to 49 % on real sites.
_MAX_OUTLIER_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Eps:
    """A radius and the rule that gave it: `mode` differs from the one asked for when a guard stepped in."""

    value: float
    mode: EpsMode


def pairwise_distances(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Euclidean distances, (n_left, n_right) float64, by one matrix product; equal rows give exactly
    0.

    Cost O(n_left x n_right x n_features).
    """
    squares = (left * left).sum(axis=1)[:, None] + (right * right).sum(axis=1)[None, :]
    gap = squares - 2.0 * (left @ right.T)
    gap[gap <= 1e-12 * squares] = 0.0  # rounding of the product: what is below is noise
    return np.asarray(np.sqrt(gap), dtype=np.float64)


def k_distances(distances: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the distance of every page to its `k`-th nearest *other* page, (n,) float64.

    `k` is capped at n - 1; a single page has K-distance 0. DBSCAN counts the page itself, so minPts = 4 goes
    with k = 3.
    """
    n = len(distances)
    k = min(k, n - 1)
    if k < 1:
        return np.zeros(n)
    others = distances.copy()
    np.fill_diagonal(others, np.inf)
    return np.partition(others, k - 1, axis=1)[:, k - 1]


def n_bins(n_pages: int, n_features: int) -> int:
    """Return the number of histogram bins, ``w(|D|) x features`` with ``w(1000) = 4.8``, at least 1.

    The paper says only that w depends on |D|; w proportional to |D| keeps the expected pages of a bin
    constant.
    """
    return max(1, round(4.8 * n_pages / 1000.0 * n_features))


def scan(kd: NDArray[np.float64], *, bins: int, min_pts: int, window: int = 1) -> float:
    """Return the left edge of the first sparse bin past half of the pages; the largest K-distance if there is
    none.

    A bin is sparse when it and the `window - 1` bins after it hold fewer than `min_pts` pages; the pages
    before it must be more than half. ``window = 1`` is the paper's rule.
    """
    top = float(kd.max(initial=0.0))
    if top <= 0.0:
        return MIN_EPS
    counts, edges = np.histogram(kd, bins=bins, range=(0.0, top))
    cumulated = np.concatenate([[0], np.cumsum(counts)])
    ends = np.minimum(np.arange(bins) + window, bins)
    held = cumulated[ends] - cumulated[:-1]
    sparse = (held < min_pts) & (cumulated[:-1] > 0.5 * len(kd))
    found = np.flatnonzero(sparse)
    return max(float(edges[found[0]]), MIN_EPS) if len(found) else top


def choose_eps(
    kd: NDArray[np.float64],
    *,
    n_features: int,
    min_pts: int = 4,
    mode: EpsMode = "windowed",
    window: int = 20,
    guard: bool = True,
) -> Eps:
    """Choose the radius of DBSCAN for one site.

    Notes
    -----
    Source: Xu 2018, section 4.2 and figure 4. Differences from the paper: bins cover [0, max kd] (the range
    is not given); the radius is the left edge of the stopping bin; the ``windowed`` mode and the guard are
    ours, because at 4.8 bins per feature the mean bin holds less than a page and the literal rule stops at
    the median K-distance.
    """
    order: tuple[EpsMode, ...] = ("literal", "windowed", "percentile")
    rest = order[order.index(mode) :]
    for current in rest:
        value = _radius(kd, current, n_bins(len(kd), n_features), min_pts, window)
        if not guard or current == rest[-1] or np.mean(kd > value) <= _MAX_OUTLIER_SHARE:
            return Eps(value, current)
    raise AssertionError("the last mode always returns")


def _radius(kd: NDArray[np.float64], mode: EpsMode, bins: int, min_pts: int, window: int) -> float:
    if mode == "percentile":
        return max(float(np.percentile(kd, 98)), MIN_EPS) if len(kd) else MIN_EPS
    return scan(kd, bins=bins, min_pts=min_pts, window=window if mode == "windowed" else 1)
