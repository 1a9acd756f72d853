"""Scores as the numbers crawlers want: one file per crawler, each with `NAME` and `encode(scores, scale)`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.encodings.scale import PriorityScale
from linkscore_scoring.errors import NotFound


class Encode(Protocol):
    """Turns scores, (n,) float64 in [0, 1], into priorities, (n,) float64; ranks come from the scale."""

    def __call__(self, scores: NDArray[np.float64], scale: PriorityScale) -> NDArray[np.float64]: ...


@cache
def encodings() -> dict[str, Encode]:
    """Return every encoding by name."""
    loaded = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    return {module.NAME: module.encode for module in loaded if hasattr(module, "NAME")}


def encoding(name: str) -> Encode:
    """Return an encoding.

    Raises
    ------
    NotFound
        If there is none of this name.
    """
    if name not in encodings():
        raise NotFound(f"priority encoding {name!r}: known are {', '.join(sorted(encodings()))}")
    return encodings()[name]
