"""Sums by group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def tally(groups: NDArray[np.int64], weights: NDArray[Any], n_groups: int) -> NDArray[np.float64]:
    """Return the sum of the weights of each group, (n_groups,) float64; groups in [0, n_groups)."""
    return np.bincount(groups, weights.astype(np.float64), n_groups).astype(np.float64)
