"""A classifier as it is used on a crawl: balanced, calibrated, and watched for drift."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from linkscore_scoring.columns import left_sum
from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.learners.models import (
    CLASSIFIERS,
    DIM,
    Classifier,
    Features,
    Floats,
    Ints,
    logit,
    sigmoid,
)
from linkscore_scoring.state import Stateful, Stored

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

    state_name = "classifier"
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
        self.model.learn_row(indices, values, relevant, self._weight(relevant))

    def _weight(self, relevant: bool) -> float:
        if not self.model.balanced:
            return 1.0
        return min(_MOST_WEIGHT, left_sum(self._recent) / (2.0 * self._recent[relevant]))


class PlattCalibration(Stateful):
    """Platt's curve, sigmoid(a ln(p / (1 - p)) + b), over a window of predictions made before their label.

    Platt, Probabilistic outputs for support vector machines, 1999; Newton's method after Lin, Lin and Weng
    2007.
    """

    _window: Stored[deque[tuple[float, bool]]]
    slope: Stored[float]
    shift: Stored[float]
    _since: Stored[int]

    def __init__(self, *, window: int = _WINDOW, every: int = _EVERY, least: int = _EVERY) -> None:
        self.every, self.least = every, least
        self.slope, self.shift = 1.0, 0.0
        self._since = 0
        self._window = deque(maxlen=window)

    def add(self, prob: float, relevant: bool) -> None:
        """Take in a prediction whose label has come."""
        self._window.append((float(logit(np.array(prob))), relevant))
        self._since += 1
        if self._since >= self.every and len(self._window) >= self.least:
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

    changes: Stored[int]
    _values: Stored[list[float]]

    def __init__(self, *, delta: float = _DELTA, max_values: int = _WINDOW) -> None:
        self.delta, self.max_values = delta, max_values
        self.changes = 0
        self._values = []
        self._adwin: Any = None

    def add(self, value: float) -> bool:
        """Take in a value; say whether the mean has just risen."""
        if len(self._values) >= self.max_values:
            self._rebuild(self._values[-self.max_values // 2 :])
        adwin = self._ready()
        before = adwin.estimation
        self._values.append(value)
        adwin.update(value)
        if not adwin.drift_detected:
            return False
        risen = bool(adwin.estimation > before)
        self.changes += risen
        self._rebuild(())
        return risen

    def _ready(self) -> Any:
        if self._adwin is None:
            from river.drift import ADWIN

            self._adwin = ADWIN(delta=self.delta)
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
