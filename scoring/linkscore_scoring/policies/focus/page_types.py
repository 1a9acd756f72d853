"""What kind of page a layout is: two linear classifiers, for index pages and for thread pages.

The weights are data of the package, made by ``python -m linkscore_research.page_types``; using them
takes a dot product.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from importlib import resources
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import CorruptState, NotFound, reading_state
from linkscore_scoring.features.layout.signals import SIGNALS

MAX_DEVIATIONS = 4.0
"""Standard deviations that signals are clipped at, in training and use; chosen, not measured."""

_MAX_LOG_ODDS = 30.0  # beyond it probabilities are 0 or 1 to the last digit
_FILE = "page_types.json"


class PageType(IntEnum):
    """Kinds of pages (Jiang 2013, section 3); numbers as in the wire contract, 0 is not known."""

    INDEX = 1
    THREAD = 2
    OTHER = 3
    ENTRY = 4


@dataclass(frozen=True, slots=True)
class LinearSide:
    """One classifier of the pair: weights of the standardised signals, bias, and Platt's slope and offset."""

    weights: NDArray[np.float64]
    bias: float
    slope: float
    offset: float

    def probability(self, margin: float) -> float:
        """Return the calibrated probability that a page of this margin is of the kind, (0, 1)."""
        return 1 / (1 + exp(-max(-_MAX_LOG_ODDS, min(_MAX_LOG_ODDS, self.slope * margin + self.offset))))


class PageTypeModel:
    """Tells index pages and thread pages from their layout; both positive: the larger margin, none: other.

    Jiang, Song, Yu and Lin 2013 (FoCUS), section 4.3.1: two linear SVMs over the same features.
    """

    def __init__(
        self, mean: NDArray[np.float64], scale: NDArray[np.float64], index: LinearSide, thread: LinearSide
    ) -> None:
        self.mean = mean
        self.scale = scale
        self.index = index
        self.thread = thread

    def classify(self, signals: Sequence[float]) -> tuple[PageType, tuple[float, float]]:
        """Return the kind of page of `features.layout.SIGNALS`, and the margins for index and for thread."""
        if len(signals) != len(self.mean):
            return PageType.OTHER, (0.0, 0.0)
        row = np.clip((np.asarray(signals) - self.mean) / self.scale, -MAX_DEVIATIONS, MAX_DEVIATIONS)
        margins = tuple(float(row @ side.weights) + side.bias for side in (self.index, self.thread))
        if max(margins) <= 0:
            return PageType.OTHER, (margins[0], margins[1])
        kind = PageType.INDEX if margins[0] >= margins[1] else PageType.THREAD
        return kind, (margins[0], margins[1])


@lru_cache(maxsize=64)
def load_page_types(without: str = "") -> PageTypeModel:
    """Return the model of the package: trained on all annotated sites, or on all but the one named."""
    data = _data()
    if without and without not in data["without"]:
        known = ", ".join(variants())
        raise NotFound(f"page_types: must be empty or one of {known}, got {without!r:.100}")
    return model_from(data["without"][without] if without else data["all"])


def variants() -> list[str]:
    """Return the sites that a model was trained without, sorted."""
    return sorted(_data()["without"])


def model_from(plain: dict[str, Any]) -> PageTypeModel:
    """Return a model from its plain values."""
    with reading_state("page types"):
        model = PageTypeModel(
            np.asarray(plain["mean"], dtype=np.float64),
            np.asarray(plain["scale"], dtype=np.float64),
            _side(plain["index"]),
            _side(plain["thread"]),
        )
    if len(model.mean) != len(SIGNALS):
        raise CorruptState(f"page types: needs {len(SIGNALS)} signals, got {len(model.mean)}")
    return model


def _side(plain: dict[str, Any]) -> LinearSide:
    weights = np.asarray(plain["weights"], dtype=np.float64)
    return LinearSide(weights, float(plain["bias"]), float(plain["slope"]), float(plain["offset"]))


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    text = resources.files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data
