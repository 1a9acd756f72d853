"""Naive Bayes as the released Anthelion used it: MOA's, with raw votes."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkscore_scoring.errors import reading_state
from linkscore_scoring.learners.classifiers.base import (
    Classifier,
    Features,
    Floats,
    Ints,
    packed_columns,
    sigmoid,
    unpack_columns,
)

_LEAST = 1e300  # log votes of an impossible row are finite, so that their difference is a number
_BLANK = np.zeros((2, 1))


class MoaNaiveBayes(Classifier):
    """Naive Bayes over nominal 0/1 features and a few Gaussian ones; for comparison with published figures.

    Votes of class c = N_c / N x product over *all* features of P(x | c). A nominal feature has
    P(x | c) = (n_c(x) + 1) / (N_c + K), K = 2 if class c ever saw the feature set, else 1. A Gaussian one has
    the normal density of the class's mean and sample variance; if that is 0, 1 at the mean and 0 elsewhere.

    Parameters
    ----------
    dim
        Number of features; the last `gaussian` of them are numeric, the others nominal.
    gaussian
        Number of Gaussian features.

    Notes
    -----
    Source: MOA 2012.08, `moa.classifiers.bayes.NaiveBayes`, as Meusel, Mika and Blanco 2014 ran it with
    default options. Differences: `predict_prob` is the normalised posterior; `margins` are MOA's votes.

    Examples
    --------
    >>> from linkscore_scoring.learners.classifiers.base import features_of
    >>> model = MoaNaiveBayes(dim=8)
    >>> model.learn(features_of([{1: 1.0}, {2: 1.0}] * 10), np.array([1.0, 0.0] * 10))
    >>> good, bad = model.predict_prob(features_of([{1: 1.0}, {2: 1.0}]))
    >>> bool(good > 0.5 > bad)
    True
    """

    name = "moa_naive_bayes"
    balanced = False

    def __init__(self, *, dim: int = 10_000, gaussian: int = 0) -> None:
        super().__init__(dim=dim)
        self.nominal = dim - gaussian
        self._classes = np.zeros(2)
        self._set = np.zeros((2, self.nominal))
        self._normal = np.zeros((2, 3, gaussian))

    def learn_row(self, indices: Ints, values: Floats, relevant: bool, weight: float) -> None:
        """Count the row in its class."""
        row = int(relevant)
        self._classes[row] += weight
        self._set[row, indices[indices < self.nominal]] += weight
        numeric = np.zeros(self._normal.shape[2])
        above = indices >= self.nominal
        numeric[indices[above] - self.nominal] = values[above]
        count, mean, squares = self._normal[row]
        count += weight
        step = numeric - mean
        mean += weight * step / count
        squares += weight * step * (numeric - mean)

    def log_votes(self, X: Features) -> Floats:
        """Return ln of each class's vote, (2, n) float64, not relevant first, once both were seen."""
        prior = np.log(self._classes / self._classes.sum())
        votes = [prior[row] + self._log_nominal(row, X) + self._log_gaussian(row, X) for row in (0, 1)]
        return np.array(votes, dtype=np.float64)

    def _log_nominal(self, row: int, X: Features) -> Floats:
        n, times = self._classes[row], self._set[row]
        values_seen = n + 1.0 + (times > 0.0)  # N_c + K
        absent = np.log((n - times + 1.0) / values_seen)
        inside = X.indices < self.nominal
        at = X.indices[inside]
        change = np.log((times[at] + 1.0) / values_seen[at]) - absent[at]
        present = np.bincount(X.rows[inside], weights=change, minlength=X.n)
        return np.asarray(present + absent.sum(), dtype=np.float64)

    def _log_gaussian(self, row: int, X: Features) -> Floats:
        count, mean, squares = self._normal[row]
        above = X.indices >= self.nominal
        x = np.zeros((X.n, len(mean)))
        x[X.rows[above], X.indices[above] - self.nominal] = X.values[above]
        variance = squares / np.maximum(1.0, count - 1.0)
        flat = variance <= 0.0
        spread = np.where(flat, 1.0, variance)
        density = -0.5 * (np.log(2.0 * np.pi * spread) + (x - mean) ** 2 / spread)
        still = np.where(x == mean, 0.0, -np.inf)
        return np.asarray(np.where(flat, still, density).sum(axis=1), dtype=np.float64)

    def margins(self, X: Features) -> Floats:
        """Return vote for minus vote against, (n,) float64, raw; 0 until both classes were seen."""
        if not self._classes.all():
            return np.zeros(X.n)
        against, for_ = np.exp(self.log_votes(X))
        return np.asarray(for_ - against, dtype=np.float64)

    def predict_prob(self, X: Features) -> Floats:
        """Return the posterior of the relevant class; 0.5 until both classes were seen."""
        if not self._classes.all():
            return np.full(X.n, 0.5)
        against, for_ = np.maximum(self.log_votes(X), -_LEAST)
        return sigmoid(for_ - against)

    def soften(self, keep: float) -> None:
        """Do nothing: MOA's learner never forgets."""

    def to_state(self) -> dict[str, Any]:
        """Return counts and moments."""
        return {
            **packed_columns(self._set, _BLANK),
            "classes": self._classes.tolist(),
            "normal": self._normal.ravel().tolist(),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over counts and moments."""
        unpack_columns(self._set, _BLANK, state)
        with reading_state("moa_naive_bayes"):
            self._classes = np.array(state["classes"], dtype=np.float64).reshape(2)
            self._normal = np.array(state["normal"], dtype=np.float64).reshape(self._normal.shape)
