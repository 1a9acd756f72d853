"""What kind of page a layout is: two linear classifiers, for index pages and for thread pages.

The weights are data of the package, made by ``python -m linkscore_research.page_types``; using them
takes a dot product.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from importlib import resources
from math import exp

import msgspec
import numpy as np

from linkscore_scoring.errors import NotFound

MAX_DEVIATIONS = 4.0
"""Standard deviations that signals are clipped at, in training and use; chosen, not measured."""

_MAX_LOG_ODDS = 30.0  # beyond it probabilities are 0 or 1 to the last digit


class PageType(IntEnum):
    """Kinds of pages (Jiang 2013, section 3); numbers as in the wire contract, 0 is not known."""

    INDEX = 1
    THREAD = 2
    OTHER = 3
    ENTRY = 4


class LinearSide(msgspec.Struct, frozen=True):
    """One classifier of the pair: weights of the standardised signals, bias, and Platt's slope and offset."""

    weights: list[float]
    bias: float
    slope: float
    offset: float

    def probability(self, margin: float) -> float:
        """Return the calibrated probability that a page of this margin is of the kind, (0, 1)."""
        return 1 / (1 + exp(-max(-_MAX_LOG_ODDS, min(_MAX_LOG_ODDS, self.slope * margin + self.offset))))


class PageTypeModel(msgspec.Struct, frozen=True):
    """Tells index pages and thread pages from their layout; both positive: the larger margin, none: other.

    Jiang, Song, Yu and Lin 2013 (FoCUS), section 4.3.1: two linear SVMs over the same features.
    """

    mean: list[float]
    scale: list[float]
    index: LinearSide
    thread: LinearSide

    def classify(self, signals: Sequence[float]) -> tuple[PageType, tuple[float, float]]:
        """Return the kind of page of `features.layout.SIGNALS`, and the margins for index and for thread."""
        if len(signals) != len(self.mean):
            return PageType.OTHER, (0.0, 0.0)
        row = np.clip((np.asarray(signals) - self.mean) / self.scale, -MAX_DEVIATIONS, MAX_DEVIATIONS)
        index, thread = (float(row @ side.weights) + side.bias for side in (self.index, self.thread))
        kind = PageType.INDEX if index >= thread else PageType.THREAD
        return kind if max(index, thread) > 0 else PageType.OTHER, (index, thread)


class _Models(msgspec.Struct):
    all: PageTypeModel
    without: dict[str, PageTypeModel]


def load_page_types(without: str = "") -> PageTypeModel:
    """Return the model of the package: trained on all annotated sites, or on all but the one named."""
    found = _models().without.get(without) if without else _models().all
    if found is None:
        known = ", ".join(variants())
        raise NotFound(f"page_types: must be empty or one of {known}, got {without!r:.100}")
    return found


def variants() -> list[str]:
    """Return the sites that a model was trained without, sorted."""
    return sorted(_models().without)


@lru_cache(maxsize=1)
def _models() -> _Models:
    data = resources.files(__package__).joinpath("page_types.json").read_bytes()
    return msgspec.json.decode(data, type=_Models)
