"""Online classifiers, found by name, sparse rows in, probabilities out; and one as a crawl uses it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar

import numpy as np

from linkscore_scoring.columns import Floats, Ints, left_sum
from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.state import Stateful, Stored

DIM = 1 << 18
"""Features of a classifier unless it is told otherwise: 4 MB a table of two rows; chosen, not measured."""

_CERTAIN = 1e-9  # distance that probabilities keep from 0 and 1, so that log odds are finite


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

    def each(self) -> Iterator[tuple[Ints, Floats]]:
        """Yield the distinct features of each row in rising order, and their values."""
        order = np.argsort(self.rows, kind="stable")
        ends = np.cumsum(np.bincount(self.rows, minlength=self.n))
        for part in np.split(order, ends[:-1]) if self.n else ():
            indices, places = np.unique(self.indices[part], return_inverse=True)
            sums = np.bincount(places, weights=self.values[part], minlength=len(indices))
            yield indices, np.asarray(sums, dtype=np.float64)


class Classifier(Stateful, ABC):
    """An online binary classifier over hashed features; bounded by `dim`, deterministic, no clock, no
    draws. What it knows of a feature is a column of a table, zero before its first label.
    """

    name: ClassVar[str]
    balanced: ClassVar[bool] = True
    _table: Stored[Floats]

    def __init__(self, *, dim: int = DIM) -> None:
        self._table = np.zeros((2, dim))

    @abstractmethod
    def learn_row(self, indices: Ints, values: Floats, relevant: bool, weight: float) -> None:
        """Learn one row; `indices` are distinct."""

    @abstractmethod
    def predict_prob(self, X: Features) -> Floats:
        """Return the probability of being relevant, (n,) float64 in [0, 1]; about 0.5 before any label."""

    def contributions(self, X: Features) -> Floats:
        """Return what each entry adds to the log odds, (nnz,) float64; zeros if the learner cannot say."""
        return np.zeros(len(X.indices))

    @abstractmethod
    def soften(self, keep: float) -> None:
        """Let what was learned count less, `keep` in (0, 1], so that labels of a changed world count more."""


def sigmoid(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)), dtype=np.float64)


def logit(prob: Floats) -> Floats:
    """Return ln(p / (1 - p)), p kept 1e-9 away from 0 and 1."""
    p = np.clip(prob, _CERTAIN, 1.0 - _CERTAIN)
    return np.asarray(np.log(p / (1.0 - p)), dtype=np.float64)


_MU, _SPENT = 0, 1  # rows of the table: mean, and how much of a variance of 1 is gone
_R = 1.0  # regularisation: larger moves slower; chosen, not measured


class Arow(Classifier):
    """A linear classifier that knows how sure it is of each weight; the default: best from few labels.

    Crammer, Kulesza and Dredze, Adaptive regularization of weight vectors, NIPS 2009, figure 1, with a
    diagonal covariance.
    """

    name = "arow"

    def learn_row(self, indices: Ints, values: Floats, relevant: bool, weight: float) -> None:
        """Move mean and variance, if the row is not beyond the margin."""
        mu, spent = self._table[:, indices]
        sign = 1.0 if relevant else -1.0
        loss = 1.0 - sign * float(mu @ values)
        if loss <= 0.0:
            return
        spread = (1.0 - spent) * values
        beta = 1.0 / (float(spread @ values) + _R / weight)
        self._table[_MU, indices] = mu + loss * beta * sign * spread
        self._table[_SPENT, indices] = spent + beta * spread**2

    def predict_prob(self, X: Features) -> Floats:
        """Return the logistic of twice the margin, moderated by its variance."""
        margin = X.sums(self.contributions(X))
        variance = X.sums((1.0 - self._table[_SPENT, X.indices]) * X.values**2)
        return sigmoid(2.0 * margin / np.sqrt(1.0 + pi * variance / 8.0))

    def contributions(self, X: Features) -> Floats:
        """Return weight x value."""
        return np.asarray(self._table[_MU, X.indices] * X.values)

    def soften(self, keep: float) -> None:
        """Shrink the weights, and be less sure of all of them."""
        self._table[_MU] *= keep
        self._table[_SPENT] = np.maximum(0.0, 1.0 - (1.0 - self._table[_SPENT]) / keep)


_SMOOTHING = 0.5
"""Pseudo-count of every feature and class; chosen, not measured."""


class MultinomialNb(Classifier):
    """Counts of features per class; learns in one pass, choose it for very few labels. Values must be >= 0.

    McCallum and Nigam, A comparison of event models for naive Bayes text classification, AAAI 1998 workshop.
    """

    name = "multinomial_nb"
    balanced = False
    _totals: Stored[Floats]
    _classes: Stored[Floats]
    _seen: Stored[int]

    def __init__(self, *, dim: int = DIM) -> None:
        super().__init__(dim=dim)
        self._totals, self._classes = np.zeros(2), np.zeros(2)

    def learn_row(self, indices: Ints, values: Floats, relevant: bool, weight: float) -> None:
        """Count the features of the row in its class."""
        row = int(relevant)
        self._seen += int((self._table[:, indices].sum(axis=0) == 0.0).sum())
        self._table[row, indices] += weight * values
        self._totals[row] += weight * float(values.sum())
        self._classes[row] += weight

    def predict_prob(self, X: Features) -> Floats:
        """Return the posterior of the relevant class."""
        against, for_ = self._classes + _SMOOTHING
        return sigmoid(np.log(for_ / against) + X.sums(self.contributions(X)))

    def contributions(self, X: Features) -> Floats:
        """Return value x ln of the ratio of the feature's likelihoods."""
        floor = _SMOOTHING * (self._seen + 1)
        against, for_ = self._table[:, X.indices] + _SMOOTHING
        ratio = np.log(for_ / (self._totals[1] + floor)) - np.log(against / (self._totals[0] + floor))
        return np.asarray(X.values * ratio, dtype=np.float64)

    def soften(self, keep: float) -> None:
        """Shrink all counts."""
        for counts in (self._table, self._totals, self._classes):
            counts *= keep


CLASSIFIERS: dict[str, type[Classifier]] = {kind.name: kind for kind in (Arow, MultinomialNb)}


# weight of a label of the rarer class, at most; a bound
_MOST_WEIGHT = 30.0
_FADE = 0.999  # share kept a label of the counts that balance: about the last thousand; chosen, not measured
_KEEP = 0.1  # share of what was learned that is kept after drift; chosen, not measured

_WINDOW = 500  # predictions kept for calibration, and errors kept for drift; a bound
_EVERY = 20  # labels between two fits, and before the first; chosen, not measured
_STEPS, _MOST_STEP = 8, 2.0  # Newton steps of a fit and their greatest length; chosen, not measured
_TINY = 1e-12  # keeps the length of no step from dividing by zero
_PULL = 1.0  # pseudo-labels that pull the curve to the identity; chosen, not measured
_MIN_SLOPE = 0.05  # the curve rises at least so, or scores would turn round; chosen, not measured
_DELTA = 0.002  # the default of river's ADWIN


class OnlineClassifier(Stateful):
    """A classifier by name with what every crawl needs around it."""

    model: Stored[Classifier]
    calibration: Stored[PlattCalibration]
    drift: Stored[DriftDetector]
    labels: Stored[list[int]]
    _recent: Stored[list[float]]

    def __init__(self, kind: str, *, dim: int = DIM) -> None:
        self.model = CLASSIFIERS[kind](dim=dim)
        self.calibration = PlattCalibration()
        self.drift = DriftDetector()
        self.labels = [0, 0]
        self._recent = [1.0, 1.0]

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
        return self.calibration.apply(self.model.predict_prob(X))

    def learn(self, X: Features, y: Floats) -> None:
        """Learn rows in order: judge each, then learn it."""
        for (indices, values), label in zip(X.each(), y, strict=True):
            self._learn(indices, values, bool(label))

    def _learn(self, indices: Ints, values: Floats, relevant: bool) -> None:
        row = Features(1, np.zeros(len(indices), dtype=np.int64), indices, values)
        guess = float(self.model.predict_prob(row)[0])
        self.calibration.add(guess, relevant)
        if self.is_ready and self.drift.add(abs(relevant - guess)):
            self.model.soften(_KEEP)
            self.calibration.reset()
        self.labels[relevant] += 1
        self._recent = [_FADE * n for n in self._recent]
        self._recent[relevant] += 1.0
        weight = min(_MOST_WEIGHT, left_sum(self._recent) / (2.0 * self._recent[relevant]))
        self.model.learn_row(indices, values, relevant, weight if self.model.balanced else 1.0)


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
        self._window = deque(maxlen=_WINDOW)

    def add(self, prob: float, relevant: bool) -> None:
        """Take in a prediction whose label has come."""
        self._window.append((float(logit(np.array(prob))), relevant))
        self._since += 1
        if self._since >= _EVERY and len(self._window) >= _EVERY:
            self._since = 0
            self._fit()

    def apply(self, prob: Floats) -> Floats:
        """Return calibrated probabilities, same shape."""
        if (self.slope, self.shift) == (1.0, 0.0):
            return prob
        return sigmoid(self.slope * logit(prob) + self.shift)

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


class DriftDetector(Stateful):
    """Says when the mean of a stream in [0, 1] has changed, and only when it rose: errors may fall freely.

    Bifet and Gavalda, Learning from time-changing data with adaptive windowing, SDM 2007.
    """

    _values: Stored[list[float]]

    def __init__(self) -> None:
        self._adwin: Any = None

    def add(self, value: float) -> bool:
        """Take in a value; say whether the mean has just risen."""
        if len(self._values) >= _WINDOW:
            self._rebuild(self._values[-_WINDOW // 2 :])
        adwin = self._ready()
        before = adwin.estimation
        self._values.append(value)
        adwin.update(value)
        if not adwin.drift_detected:
            return False
        risen = bool(adwin.estimation > before)
        self._rebuild(())
        return risen

    def _ready(self) -> Any:
        if self._adwin is None:
            from river.drift import ADWIN

            self._adwin = ADWIN(delta=_DELTA)
        return self._adwin

    def _rebuild(self, values: Iterable[float]) -> None:
        self._adwin, self._values = None, list(values)
        for value in self._values:
            self._ready().update(value)

    def after_load(self) -> None:
        """Replay the values."""
        self._rebuild(self._values)


def load_libraries() -> None:
    """Import what a classifier imports at its first labels; InvalidParams if it is not installed."""
    try:
        DriftDetector().add(0.0)
    except ImportError as exc:
        rule = f"anthelion needs {exc.name}: pip install 'linkscore[learners]' for the server"
        raise InvalidParams(rule, field="policy") from exc
