"""Logistic regression, follow the regularised leader."""

from __future__ import annotations

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

_Z, _N = 0, 1  # rows of the table, as in the paper
_BLANK = np.zeros((2, 1))


class Ftrl(Classifier):
    """Logistic regression with a learning rate per feature; probabilities of its own, sparse with l1.

    Parameters
    ----------
    alpha, beta
        Rate of a feature that has seen squared gradients n is alpha / (beta + sqrt(n)), both > 0.
    l1, l2
        Regularisation, >= 0. All four defaults were chosen, not measured; the paper has beta = 1.

    Notes
    -----
    Source: McMahan et al., Ad click prediction, KDD 2013, algorithm 1. Differences: none. 6 MB at 2^18
    features.

    Examples
    --------
    >>> from linkscore_scoring.learners.classifiers.base import features_of
    >>> model = Ftrl(dim=8)
    >>> model.learn(features_of([{1: 1.0}, {2: 1.0}] * 10), np.array([1.0, 0.0] * 10))
    >>> good, bad = model.predict_prob(features_of([{1: 1.0}, {2: 1.0}]))
    >>> bool(good > 0.5 > bad)
    True
    """

    name = "ftrl"

    def __init__(
        self,
        *,
        dim: int = DIM,
        alpha: float = 0.5,
        beta: float = 1.0,
        l1: float = 0.0,
        l2: float = 0.01,
    ) -> None:
        super().__init__(dim=dim)
        self.alpha, self.beta, self.l1, self.l2 = alpha, beta, l1, l2
        self._table = np.zeros((2, dim))
        self._weights = np.zeros(dim)

    def learn_row(self, indices: Ints, values: Floats, relevant: bool, weight: float) -> None:
        """Take a step against the gradient."""
        w = self._weights[indices]
        p = float(sigmoid(np.array(w @ values)))
        gradient = weight * (p - relevant) * values
        n = self._table[_N, indices]
        sigma = (np.sqrt(n + gradient**2) - np.sqrt(n)) / self.alpha
        self._table[_Z, indices] += gradient - sigma * w
        self._table[_N, indices] = n + gradient**2
        self._weights[indices] = self._solved(self._table[:, indices])

    def _solved(self, table: Floats) -> Floats:
        """Return the weights of some columns of (z, n)."""
        z, n = table
        shrunk = np.sign(z) * np.maximum(np.abs(z) - self.l1, 0.0)
        weights: Floats = -shrunk / ((self.beta + np.sqrt(n)) / self.alpha + self.l2)
        return weights

    def predict_prob(self, X: Features) -> Floats:
        """Return the logistic of the weighted sum."""
        return sigmoid(X.sums(self.contributions(X)))

    def contributions(self, X: Features) -> Floats:
        """Return weight x value."""
        return self._weights[X.indices] * X.values

    def soften(self, keep: float) -> None:
        """Shrink weights and squared gradients, so that rates rise again."""
        kept = keep * self._weights
        self._table[_N] *= keep
        rates = (self.beta + np.sqrt(self._table[_N])) / self.alpha + self.l2
        self._table[_Z] = -kept * rates - np.sign(kept) * self.l1
        self._weights = self._solved(self._table)

    def to_state(self) -> dict[str, Any]:
        """Return z and n of the features seen."""
        return packed_columns(self._table, _BLANK)

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over z and n; the weights follow from them."""
        unpack_columns(self._table, _BLANK, state)
        self._weights = self._solved(self._table)
