"""Heritrix precedence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.encodings.scale import LEVELS, PriorityScale

NAME = "heritrix"


def encode(scores: NDArray[np.float64], scale: PriorityScale) -> NDArray[np.float64]:
    """Return priorities, (n,) float64: whole numbers 1..127, lower first, 4 apart."""
    return 1.0 + 4.0 * (LEVELS - 1 - scale.levels(scores))
