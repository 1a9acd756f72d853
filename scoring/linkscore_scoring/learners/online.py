"""An online classifier of links, as it is used on a crawl: sparse hashed rows in, probabilities out."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.sums import left_sum

DIM = 1 << 18
"""Features of a classifier unless it is told otherwise: 4 MB a table of two rows; chosen, not measured."""

_MU, _SPENT = 0, 1  # rows of the table: mean, and how much of a variance of 1 is gone
_R = 1.0  # regularisation: larger moves slower; chosen, not measured
_CERTAIN = 1e-9  # distance that probabilities keep from 0 and 1, so that log odds are finite
_MOST_WEIGHT = 30.0  # of a label of the rarer class; a bound
_FADE = 0.999  # share kept a label of the counts that balance: about the last thousand; chosen, not measured

_WINDOW = 500  # predictions kept for calibration; a bound
_EVERY = 20  # labels between two fits, and before the first; chosen, not measured
_STEPS, _MOST_STEP = 8, 2.0  # Newton steps of a fit and their greatest length; chosen, not measured
_TINY = 1e-12  # keeps the length of no step from dividing by zero
_PULL = 1.0  # pseudo-labels that pull the curve to the identity; chosen, not measured
_MIN_SLOPE = 0.05  # the curve rises at least so, or scores would turn round; chosen, not measured

_SLACK, _ALARM = 0.1, 10.0  # error above its mean that is none, and sum of what is beyond from which it rose
_KEEP = 0.1  # share of what was learned that is kept then; chosen, not measured

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Features:
    """Sparse rows as columns of equal length; entries of a row need not be neighbours, repeated ones add
    up."""

    n: int  # number of rows; a row without entries is fine
    rows: Ints  # (nnz,) int64: row and feature of each entry; features are in [0, dim)
    indices: Ints
    values: Floats  # (nnz,) float64

    def sums(self, terms: Floats) -> Floats:
        """Return the sum of one term per entry over each row, (n,) float64; a row sums alike in any batch."""
        return np.asarray(np.bincount(self.rows, weights=terms, minlength=self.n), dtype=np.float64)


def sigmoid(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)), dtype=np.float64)


class OnlineClassifier(Stateful):
    """A linear classifier that knows how sure it is of each weight: best from few labels.

    AROW: Crammer, Kulesza and Dredze, Adaptive regularization of weight vectors, NIPS 2009, figure 1, with a
    diagonal covariance. Labels of the rarer class weigh more, probabilities are calibrated, and most is
    forgotten once errors rise (Page, Continuous inspection schemes, 1954).
    """

    calibration: Stored[PlattCalibration]
    labels: Stored[list[int]]
    _table: Stored[Floats]
    _recent: Stored[list[float]]
    _errors: Stored[list[float]]

    def __init__(self, *, dim: int = DIM) -> None:
        self._table = np.zeros((2, dim))
        self.calibration = PlattCalibration()
        self.labels = [0, 0]
        self._recent = [1.0, 1.0]
        self._errors = [0.0, 0.0, 0.0]  # how many there were, their mean, and what is beyond it of late

    @property
    def is_ready(self) -> bool:
        """Both kinds of labels have come."""
        return all(self.labels)

    @property
    def knows_only_others(self) -> bool:
        """Labels have come, and no relevant page is among them."""
        return bool(self.labels[0]) and not self.labels[1]

    def predict_prob(self, X: Features) -> Floats:
        """Return calibrated probabilities, (n,) float64."""
        return self.calibration.apply(self.raw_prob(X))

    def raw_prob(self, X: Features) -> Floats:
        """Return the logistic of twice the margin, moderated by its variance: as if both kinds were equal."""
        margin = X.sums(self.contributions(X))
        variance = X.sums((1.0 - self._table[_SPENT, X.indices]) * X.values**2)
        return sigmoid(2.0 * margin / np.sqrt(1.0 + pi * variance / 8.0))

    def contributions(self, X: Features) -> Floats:
        """Return weight x value of each entry."""
        return np.asarray(self._table[_MU, X.indices] * X.values)

    def learn(self, X: Features, *, relevant: bool) -> None:
        """Judge a row, then learn its label."""
        guess = float(self.raw_prob(X)[0])
        self.calibration.add(guess, relevant)
        if self.is_ready and self._has_risen(abs(relevant - guess)):
            self._soften()
        self.labels[relevant] += 1
        self._recent = [_FADE * n for n in self._recent]
        self._recent[relevant] += 1.0
        weight = min(_MOST_WEIGHT, left_sum(self._recent) / (2.0 * self._recent[relevant]))
        indices, places = np.unique(X.indices, return_inverse=True)
        values = np.bincount(places, weights=X.values, minlength=len(indices))
        mu, spent = self._table[:, indices]
        sign = 1.0 if relevant else -1.0
        loss = 1.0 - sign * float(mu @ values)
        if loss > 0.0:  # else it is beyond the margin
            spread = (1.0 - spent) * values
            beta = 1.0 / (float(spread @ values) + _R / weight)
            self._table[_MU, indices] = mu + loss * beta * sign * spread
            self._table[_SPENT, indices] = spent + beta * spread**2

    def _has_risen(self, error: float) -> bool:
        """Say whether the mean error has risen; it may fall freely."""
        n, mean, beyond = self._errors
        mean += (error - mean) / (n + 1.0)
        beyond = max(0.0, beyond + error - mean - _SLACK)
        self._errors = [n + 1.0, mean, beyond]
        return beyond > _ALARM

    def _soften(self) -> None:
        """Shrink the weights, and be less sure of all of them."""
        self._errors = [0.0, 0.0, 0.0]
        self._table[_MU] *= _KEEP
        self._table[_SPENT] = np.maximum(0.0, 1.0 - (1.0 - self._table[_SPENT]) / _KEEP)
        self.calibration.reset()

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the state of a classifier of as many features."""
        shape = self._table.shape
        super().load_state(state)
        if self._table.shape != shape:
            raise CorruptState(f"online classifier: want a table of {shape}, got {self._table.shape}")


class PlattCalibration(Stateful):
    """Platt's curve, sigmoid(a ln(p / (1 - p)) + b), over a window of predictions made before their label.

    Platt, Probabilistic outputs for support vector machines, 1999; Newton's method after Lin, Lin and Weng
    2007.
    """

    _window: Stored[deque[tuple[float, bool]]]
    slope: Stored[float]
    shift: Stored[float]
    _since: Stored[int]

    def __init__(self) -> None:
        self.slope, self.shift = 1.0, 0.0
        self._since = 0
        self._window = deque(maxlen=_WINDOW)

    def add(self, prob: float, relevant: bool) -> None:
        """Take in a prediction whose label has come."""
        self._window.append((float(_logit(np.array(prob))), relevant))
        self._since += 1
        if self._since >= _EVERY:
            self._since = 0
            self._fit()

    def apply(self, prob: Floats) -> Floats:
        """Return calibrated probabilities, same shape."""
        if (self.slope, self.shift) == (1.0, 0.0):
            return prob
        return sigmoid(self.slope * _logit(prob) + self.shift)

    def reset(self) -> None:
        """Forget the predictions; the curve stays until the next fit."""
        self._window.clear()
        self._since = 0

    def _fit(self) -> None:
        x = np.array([x for x, _ in self._window])
        y = np.array([y for _, y in self._window], dtype=np.float64)
        if y.min() == y.max():
            return
        theta = np.array([1.0, 0.0])
        design = np.stack([x, np.ones_like(x)], axis=1)
        for _ in range(_STEPS):
            p = sigmoid(design @ theta)
            gradient = design.T @ (p - y) + _PULL * (theta - [1.0, 0.0])
            hessian = (design * (p * (1.0 - p))[:, None]).T @ design + _PULL * np.eye(2)
            step = np.linalg.solve(hessian, gradient)
            theta = theta - step * min(1.0, _MOST_STEP / max(_TINY, float(np.abs(step).max())))
        self.slope, self.shift = max(_MIN_SLOPE, float(theta[0])), float(theta[1])


def _logit(prob: Floats) -> Floats:
    p = np.clip(prob, _CERTAIN, 1.0 - _CERTAIN)
    return np.asarray(np.log(p / (1.0 - p)), dtype=np.float64)
