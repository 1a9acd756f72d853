"""Multinomial naive Bayes."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkscore_scoring.errors import reading_state
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

_BLANK = np.zeros((2, 1))


class MultinomialNb(Classifier):
    """Counts of features per class; learns in one pass, choose it for very few labels. Values must be >= 0.

    Parameters
    ----------
    smoothing
        Pseudo-count of every feature and class, > 0; chosen, not measured.

    Notes
    -----
    Source: McCallum and Nigam, A comparison of event models for naive Bayes text classification, AAAI 1998
    workshop. Differences: the vocabulary grows, its size is the number of features seen so far.

    Examples
    --------
    >>> from linkscore_scoring.learners.classifiers.base import features_of
    >>> model = MultinomialNb(dim=8)
    >>> model.learn(features_of([{1: 1.0}, {2: 1.0}] * 10), np.array([1.0, 0.0] * 10))
    >>> good, bad = model.predict_prob(features_of([{1: 1.0}, {2: 1.0}]))
    >>> bool(good > 0.5 > bad)
    True
    """

    name = "multinomial_nb"
    balanced = False

    def __init__(self, *, dim: int = DIM, smoothing: float = 0.5) -> None:
        super().__init__(dim=dim)
        self.smoothing = smoothing
        self._table = np.zeros((2, dim))
        self._totals = np.zeros(2)
        self._classes = np.zeros(2)
        self._seen = 0

    def learn_row(self, indices: Ints, values: Floats, relevant: bool, weight: float) -> None:
        """Count the features of the row in its class."""
        row = int(relevant)
        self._seen += int((self._table[:, indices].sum(axis=0) == 0.0).sum())
        self._table[row, indices] += weight * values
        self._totals[row] += weight * float(values.sum())
        self._classes[row] += weight

    def predict_prob(self, X: Features) -> Floats:
        """Return the posterior of the relevant class."""
        against, for_ = self._classes + self.smoothing
        return sigmoid(np.log(for_ / against) + X.sums(self.contributions(X)))

    def contributions(self, X: Features) -> Floats:
        """Return value x ln of the ratio of the feature's likelihoods."""
        floor = self.smoothing * (self._seen + 1)
        against, for_ = self._table[:, X.indices] + self.smoothing
        ratio = np.log(for_ / (self._totals[1] + floor)) - np.log(against / (self._totals[0] + floor))
        return np.asarray(X.values * ratio, dtype=np.float64)

    def soften(self, keep: float) -> None:
        """Shrink all counts."""
        for counts in (self._table, self._totals, self._classes):
            counts *= keep

    def to_state(self) -> dict[str, Any]:
        """Return all counts."""
        sums = [*self._totals.tolist(), *self._classes.tolist()]
        return {**packed_columns(self._table, _BLANK), "sums": sums, "seen": self._seen}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the counts."""
        unpack_columns(self._table, _BLANK, state)
        with reading_state("multinomial_nb"):
            sums = np.array(state["sums"], dtype=np.float64)
            self._totals, self._classes = sums.reshape(2, 2)
            self._seen = int(state["seen"])
