"""How often the better one of two links had the higher score: the AUC, for any rewards in [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of links whose rewards can be compared.

    Attributes
    ----------
    order
        (n, n) sign of reward i - reward j.
    differences
        (n, n) |reward i - reward j| times the weight of the pair.
    weight
        Sum of the weights of all pairs of two links, those of equal reward included.
    """

    order: Floats
    differences: Floats
    weight: float


def comparable_pairs(rewards: Floats, weights: Floats, kinds: NDArray[np.bool_]) -> Pairs:
    """Return the pairs of n links; only links of one kind are compared. Shapes (n,), cost O(n^2)."""
    difference = rewards[:, None] - rewards[None, :]
    weight = weights[:, None] * weights[None, :] * (kinds[:, None] == kinds[None, :])
    np.fill_diagonal(weight, 0.0)
    return Pairs(np.sign(difference), np.abs(difference) * weight, float(weight.sum()))


def pair_agreement(scores: Floats, pairs: Pairs) -> Floats:
    """Return for each pair 1 if the better link has the higher score, 1/2 if both have the same, else 0."""
    order = np.sign(scores[:, None] - scores[None, :])
    return np.asarray(0.5 + 0.5 * order * pairs.order)


def pairwise_auc(scores: Floats, pairs: Pairs) -> float:
    """Return the agreement of scores with rewards, weighted by the difference of the rewards, in [0, 1].

    1/2 is no better than chance, or all rewards equal. With rewards of 0 and 1 it is the AUC. Links chosen by
    the very scores they are judged by differ little in them, which draws the figure towards 1/2.

    Examples
    --------
    >>> pairs = comparable_pairs(np.array([1.0, 0.0, 0.5]), np.ones(3), np.zeros(3, dtype=bool))
    >>> pairwise_auc(np.array([0.9, 0.5, 0.5]), pairs)  # pairs weigh 1, .5 and .5; the last is a tie
    0.875
    """
    total = float(pairs.differences.sum())
    return float((pair_agreement(scores, pairs) * pairs.differences).sum()) / total if total else 0.5


def pairwise_gain(scores: Floats, other: Floats, pairs: Pairs) -> float:
    """Return how much more reward `scores` earn than `other` when both pick one of two links, in [-1, 1]."""
    if not pairs.weight:
        return 0.0
    better = pair_agreement(scores, pairs) - pair_agreement(other, pairs)
    return float((better * pairs.differences).sum()) / pairs.weight
