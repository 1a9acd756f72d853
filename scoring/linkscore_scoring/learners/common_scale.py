"""Scores of one policy on the scale of another: the same order, moved by a constant in log odds."""

from __future__ import annotations

import numpy as np

from linkscore_scoring.learners.pairwise_auc import Floats

_CLIP = 0.01


def log_odds_between(scores: Floats, other: Floats, weights: Floats) -> float:
    """Return how far the weighted mean of `other` lies above that of `scores` in log odds; 0 without links.

    Scores are taken as 0.01 to 0.99, so that sure ones do not decide alone. Shapes (n,).
    """
    total = float(weights.sum())
    return float(weights @ (_log_odds(other) - _log_odds(scores))) / total if total else 0.0


def moved(scores: Floats, by: float) -> Floats:
    """Return scores in [0, 1] moved by a constant in log odds; the order stays, 0 and 1 stay."""
    grown = scores * np.exp(by)
    return np.asarray(grown / (grown + (1.0 - scores)))


def _log_odds(scores: Floats) -> Floats:
    clipped = np.clip(scores, _CLIP, 1.0 - _CLIP)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))
