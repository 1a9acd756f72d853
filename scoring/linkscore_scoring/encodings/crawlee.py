"""Crawlee `forefront`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.encodings.scale import LEVELS, PriorityScale

NAME = "crawlee"


def encode(scores: NDArray[np.float64], scale: PriorityScale) -> NDArray[np.float64]:
    """Return priorities, (n,) float64: 1 for the better half of the levels, else 0."""
    return (scale.levels(scores) >= LEVELS / 2).astype(np.float64)
