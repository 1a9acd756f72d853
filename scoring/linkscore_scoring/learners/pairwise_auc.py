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
    stakes
        (n, n) |reward i - reward j| times the weight of the pair.
    mass
        Sum of the weights of all pairs of two links, those of equal reward included.
    """

    order: Floats
    stakes: Floats
    mass: float


def pairs_of(rewards: Floats, weights: Floats, kinds: NDArray[np.bool_]) -> Pairs:
    """Return the pairs of n links; only links of one kind are compared. Shapes (n,), cost O(n^2)."""
    difference = rewards[:, None] - rewards[None, :]
    weight = weights[:, None] * weights[None, :] * (kinds[:, None] == kinds[None, :])
    np.fill_diagonal(weight, 0.0)
    return Pairs(np.sign(difference), np.abs(difference) * weight, float(weight.sum()))


def agreement(scores: Floats, pairs: Pairs) -> Floats:
    """Return for each pair 1 if the better link has the higher score, 1/2 if both have the same, else 0."""
    order = np.sign(scores[:, None] - scores[None, :])
    return np.asarray(0.5 + 0.5 * order * pairs.order)


def quality(scores: Floats, pairs: Pairs) -> float:
    """Return the agreement of scores with rewards, weighted by what was at stake, in [0, 1].

    1/2 is no better than chance, or nothing at stake. With rewards of 0 and 1 it is the AUC. Links chosen by
    the very scores they are judged by differ little in them, which draws the figure towards 1/2.
    """
    at_stake = float(pairs.stakes.sum())
    return float((agreement(scores, pairs) * pairs.stakes).sum()) / at_stake if at_stake else 0.5


def gain(scores: Floats, other: Floats, pairs: Pairs) -> float:
    """Return how much more reward `scores` earn than `other` when both pick one of two links, in [-1, 1]."""
    if not pairs.mass:
        return 0.0
    better = agreement(scores, pairs) - agreement(other, pairs)
    return float((better * pairs.stakes).sum()) / pairs.mass
