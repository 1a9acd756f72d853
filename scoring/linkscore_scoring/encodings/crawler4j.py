"""crawler4j priority."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.encodings.scale import LEVELS, PriorityScale

NAME = "crawler4j"


def encode(scores: NDArray[np.float64], scale: PriorityScale) -> NDArray[np.float64]:
    """Return priorities, (n,) float64: whole numbers -128..120, lower first, 8 apart."""
    return -128.0 + 8.0 * (LEVELS - 1 - scale.levels(scores))
