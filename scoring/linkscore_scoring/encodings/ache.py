"""ACHE relevance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.encodings.scale import PriorityScale

NAME = "ache"


def encode(scores: NDArray[np.float64], scale: PriorityScale) -> NDArray[np.float64]:
    """Return priorities, (n,) float64: the scores, higher first, at least 1e-9 because ACHE drops 0."""
    return np.maximum(scores, 1e-9)
