"""Means with the interval their runs allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and its 95 % confidence interval.

    Attributes
    ----------
    mean
        Of the observations.
    half
        Half the width of the interval; None for a single observation, which tells nothing of the spread.
    n
        Observations.
    """

    mean: float
    half: float | None
    n: int

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.half is None else self.mean - self.half

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.half is None else self.mean + self.half


def estimate(values: Sequence[float]) -> Estimate | None:
    """Return the mean of `values` and t(n - 1) s / sqrt(n), s the sample deviation; None without values."""
    if not values:
        return None
    rows = np.asarray(values, dtype=np.float64)[:, None]
    half = half_width(rows)
    return Estimate(float(rows.mean()), None if half is None else float(half[0]), len(values))


def half_width(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Return half the width of the interval of the mean of each column; None for fewer than two rows.

    Shapes: `rows` (n, k), result (k,).
    """
    n = len(rows)
    if n < 2:
        return None
    quantile = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2))
    half: npt.NDArray[np.float64] = rows.std(axis=0, ddof=1) * (quantile / math.sqrt(n))
    return half
