"""URLFrontier next fetch date."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.encodings.scale import PriorityScale

NAME = "urlfrontier"


def encode(scores: NDArray[np.float64], scale: PriorityScale) -> NDArray[np.float64]:
    """Return priorities, (n,) float64: whole seconds 1..1000001, lower first (0 would mean never)."""
    return 1.0 + np.round((1.0 - scores) * 1e6)
