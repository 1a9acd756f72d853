"""Adaptive regularisation of weight vectors."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np

from linkscore_scoring.learners.classifiers.base import (
    DIM,
    Classifier,
    Features,
    Floats,
    Ints,
    packed_columns,
    sigmoid,
    unpack_columns,
)

_MU, _SIGMA = 0, 1  # rows of the table
_BLANK = np.array([[0.0], [1.0]])


class Arow(Classifier):
    """A linear classifier that knows how sure it is of each weight; the default: best from few labels.

    Parameters
    ----------
    r
        Regularisation, > 0: larger moves slower; 1 was chosen, not measured.

    Notes
    -----
    Source: Crammer, Kulesza and Dredze, Adaptive regularization of weight vectors, NIPS 2009, figure 1, with
    a diagonal covariance. Differences: a row of weight w is learned with r / w; the probability, which the
    paper does not define, is the logistic of 2 m / sqrt(1 + pi v / 8), m the margin and v its variance
    (MacKay 1992).

    Examples
    --------
    >>> from linkscore_scoring.learners.classifiers.base import features_of
    >>> model = Arow(dim=8)
    >>> model.learn(features_of([{1: 1.0}, {2: 1.0}] * 10), np.array([1.0, 0.0] * 10))
    >>> good, bad = model.predict_prob(features_of([{1: 1.0}, {2: 1.0}]))
    >>> bool(good > 0.5 > bad)
    True
    """

    name = "arow"

    def __init__(self, *, dim: int = DIM, r: float = 1.0) -> None:
        super().__init__(dim=dim)
        self.r = r
        self._table = np.repeat(_BLANK, dim, axis=1)

    def learn_row(self, indices: Ints, values: Floats, relevant: bool, weight: float) -> None:
        """Move mean and variance, if the row is not beyond the margin."""
        mu, sigma = self._table[:, indices]
        sign = 1.0 if relevant else -1.0
        loss = 1.0 - sign * float(mu @ values)
        if loss <= 0.0:
            return
        spread = sigma * values
        beta = 1.0 / (float(spread @ values) + self.r / weight)
        self._table[_MU, indices] = mu + loss * beta * sign * spread
        self._table[_SIGMA, indices] = sigma - beta * spread**2

    def predict_prob(self, X: Features) -> Floats:
        """Return the logistic of twice the margin, moderated by its variance."""
        margin = X.sums(self.contributions(X))
        variance = X.sums(self._table[_SIGMA, X.indices] * X.values**2)
        return sigmoid(2.0 * margin / np.sqrt(1.0 + pi * variance / 8.0))

    def contributions(self, X: Features) -> Floats:
        """Return weight x value."""
        return np.asarray(self._table[_MU, X.indices] * X.values)

    def soften(self, keep: float) -> None:
        """Shrink the weights, and be less sure of all of them."""
        self._table[_MU] *= keep
        self._table[_SIGMA] = np.minimum(1.0, self._table[_SIGMA] / keep)

    def to_state(self) -> dict[str, Any]:
        """Return mean and variance of the weights that moved."""
        return packed_columns(self._table, _BLANK)

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over means and variances."""
        unpack_columns(self._table, _BLANK, state)
