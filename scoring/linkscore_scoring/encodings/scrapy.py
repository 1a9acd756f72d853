"""Scrapy `Request.priority`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.encodings.scale import PriorityScale

NAME = "scrapy"


def encode(scores: NDArray[np.float64], scale: PriorityScale) -> NDArray[np.float64]:
    """Return priorities, (n,) float64: whole numbers 0..31, higher first."""
    return scale.levels(scores)
