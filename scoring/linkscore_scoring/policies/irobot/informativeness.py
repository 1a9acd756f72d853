"""Which kinds of pages of a site are worth crawling: iRobot's informativeness (Cai 2008)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Vector = NDArray[np.float64]


def informativeness(sizes: ArrayLike, mean_chars: ArrayLike, unique: ArrayLike) -> Vector:
    """Return how informative each kind of page is, (n,) float64: many pages, long texts, few duplicates.

    I(v) = z(ln |v|) + z(ln (1 + mean characters)) + z(share of pages that are no duplicates), where z is the
    standard score over the kinds, 0 where all are alike.

    Parameters
    ----------
    sizes
        Pages of each kind, >= 1.
    mean_chars
        Mean characters of long text on its pages, >= 0.
    unique
        Share of its pages that are no duplicates, [0, 1].

    Notes
    -----
    The paper names the three terms; formula and equal weights are ours, as its own are not published.
    """
    logs = np.log(np.asarray(sizes, dtype=np.float64)), np.log1p(np.asarray(mean_chars, dtype=np.float64))
    return _z(logs[0]) + _z(logs[1]) + _z(np.asarray(unique, dtype=np.float64))


def most_informative(info: Vector, sizes: Sequence[int], coverage: float) -> set[int]:
    """Return the most informative kinds that together hold a share `coverage` of all pages."""
    chosen: set[int] = set()
    covered, asked = 0, coverage * sum(sizes)
    for kind in np.argsort(-info, kind="stable").tolist():
        if covered >= asked:
            break
        chosen.add(kind)
        covered += sizes[kind]
    return chosen


def _z(values: Vector) -> Vector:
    spread = float(values.std()) if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 1e-12 else np.zeros_like(values)
