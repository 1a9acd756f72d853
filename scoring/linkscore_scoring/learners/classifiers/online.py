"""A classifier as it is used on a crawl: balanced, calibrated, and watched for drift."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkscore_scoring.errors import CorruptState, reading_state
from linkscore_scoring.learners.classifiers import classifier_named
from linkscore_scoring.learners.classifiers.base import Features, Floats, Ints
from linkscore_scoring.learners.classifiers.calibration import PlattCalibration
from linkscore_scoring.learners.classifiers.drift import DriftDetector

_MOST_WEIGHT = 30.0
_FADE = 0.999
_KEEP = 0.1


class OnlineClassifier:
    """A classifier by name with what every crawl needs around it.

    - *Imbalance*: a label counts n / (2 n_class), at most 30 times, n over the last thousand or so labels;
      not for naive Bayes, which describes each class by itself.
    - *Calibration*: Platt's curve over predictions made before their label came.
    - *Drift*: when the error of such predictions has risen (ADWIN), the classifier keeps a tenth of what it
      knows.

    Parameters
    ----------
    kind
        Name of the classifier.
    dim
        Number of features.

    Raises
    ------
    InvalidParams
        If no classifier has this name.
    """

    def __init__(self, kind: str, *, dim: int = 1 << 18) -> None:
        self.model = classifier_named(kind)(dim=dim)
        self.calibration = PlattCalibration()
        self.drift = DriftDetector()
        self.labels = [0, 0]
        self._recent = [1.0, 1.0]

    @property
    def is_ready(self) -> bool:
        """Both kinds of labels have come."""
        return all(self.labels)

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
        return min(_MOST_WEIGHT, sum(self._recent) / (2.0 * self._recent[relevant]))

    def to_state(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "kind": self.model.name,
            "model": self.model.to_state(),
            "calibration": self.calibration.to_state(),
            "drift": self.drift.to_state(),
            "labels": self.labels,
            "recent": self._recent,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the state of a classifier of the same kind.

        Raises
        ------
        CorruptState
            If a field is missing or malformed, or the kind is another.
        """
        with reading_state("classifier"):
            if state["kind"] != self.model.name:
                raise CorruptState(f"classifier: state of {state['kind']!r}, want {self.model.name!r}")
            self.model.load_state(state["model"])
            self.calibration.load_state(state["calibration"])
            self.drift.load_state(state["drift"])
            self.labels = [int(n) for n in state["labels"]]
            self._recent = [float(n) for n in state["recent"]]
