"""Classifiers of the library river, rebuilt from retained feedback and never unpickled."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from linkscore_scoring.learners.classifiers.base import DIM, Classifier, Features, Floats, Ints
from linkscore_scoring.state import Stateful, Stored
from linkscore_scoring.sums import left_sum

_FOLDED = 256  # features of a tree; chosen, not measured: more cost milliseconds a row
_MAX_RETAINED = 2_000  # rows; a bound: a restart replays them
_RATE = 0.3  # AdaGrad's learning rate; chosen, not measured

Retained = tuple[list[int], list[float], bool, float]


class RiverModel(Stateful, Classifier):
    """A learner of river behind our interface; an option, one row at a time and so not for the hot path.

    What it knows is exactly what replaying its retained feedback gives: when `max_retained` rows are kept the
    older half is dropped and the model is built anew from the rest. So a restart changes nothing, nothing is
    unpickled, and old feedback fades in steps.

    Parameters
    ----------
    max_retained
        Rows of feedback kept, >= 2.

    Notes
    -----
    Cost: 0.1 to several ms a row, to learn and to predict.
    """

    _retained: Stored[list[Retained]]

    def __init__(self, *, dim: int = DIM, max_retained: int = _MAX_RETAINED) -> None:
        super().__init__(dim=dim)
        self.max_retained = max_retained
        self._retained = []
        self._model: Any = None

    @abstractmethod
    def _fresh(self) -> Any:
        """Return a new model of river."""

    def learn_row(self, indices: Ints, values: Floats, relevant: bool, weight: float) -> None:
        """Keep the row, and let the model learn it."""
        if len(self._retained) >= self.max_retained:
            self._rebuild(self._retained[-self.max_retained // 2 :])
        self._retained.append((indices.tolist(), values.tolist(), relevant, weight))
        self._replay(self._retained[-1])

    def _replay(self, row: Retained) -> None:
        if self._model is None:
            self._model = self._fresh()
        indices, values, relevant, weight = row
        self._model.learn_one(self._features(indices, values), relevant, w=weight)

    def _features(self, indices: list[int], values: list[float]) -> dict[int, float]:
        """Return a row as river takes it."""
        return dict(zip(indices, values, strict=True))

    def _rebuild(self, rows: list[Retained]) -> None:
        self._model, self._retained = None, rows
        for row in rows:
            self._replay(row)

    def predict_prob(self, X: Features) -> Floats:
        """Ask the model row by row."""
        if self._model is None:
            return np.full(X.n, 0.5)
        return np.array([self._predict(*row) for row in X.each()], dtype=np.float64)

    def _predict(self, indices: Ints, values: Floats) -> float:
        probs = self._model.predict_proba_one(self._features(indices.tolist(), values.tolist()))
        total = left_sum(probs.values())
        return float(probs.get(True, 0.0)) / total if total > 0.0 else 0.5

    def soften(self, keep: float) -> None:
        """Keep the newest share of the feedback only."""
        self._rebuild(self._retained[-max(1, int(keep * len(self._retained))) :])

    def after_load(self) -> None:
        """Replay the retained feedback."""
        self._rebuild(self._retained)


class HoeffdingTree(RiverModel):
    """A decision tree that splits when enough rows were seen (Domingos and Hulten, KDD 2000).

    Trees need to know what a row does *not* have, which a sparse row does not say, so features are folded
    into 256 that are there or not. Collisions cost accuracy; more of them would cost milliseconds a row.

    Examples
    --------
    >>> from linkscore_scoring.learners.classifiers.base import features_of
    >>> model, rows = HoeffdingTree(dim=8), [{1: 1.0}, {}]
    >>> model.learn(features_of(rows * 150), np.array([1.0, 0.0] * 150))  # it looks at 200 before it splits
    >>> model.predict_prob(features_of(rows)).tolist()
    [1.0, 0.0]
    """

    name = "hoeffding_tree"

    def _features(self, indices: list[int], values: list[float]) -> dict[int, float]:
        row = dict.fromkeys(range(_FOLDED), 0.0)
        row.update((index % _FOLDED, 1.0) for index in indices)
        return row

    def _fresh(self) -> Any:
        from river.tree import HoeffdingTreeClassifier

        return HoeffdingTreeClassifier(nominal_attributes=list(range(_FOLDED)))


class HoeffdingAdaptiveTree(HoeffdingTree):
    """A Hoeffding tree whose branches are replaced when they get worse (Bifet and Gavalda, IDA 2009).

    Examples
    --------
    >>> from linkscore_scoring.learners.classifiers.base import features_of
    >>> model, rows = HoeffdingAdaptiveTree(dim=8), [{1: 1.0}, {}]
    >>> model.learn(features_of(rows * 150), np.array([1.0, 0.0] * 150))  # it looks at 200 before it splits
    >>> model.predict_prob(features_of(rows)).tolist()
    [1.0, 0.0]
    """

    name = "hoeffding_adaptive_tree"

    def _fresh(self) -> Any:
        from river.tree import HoeffdingAdaptiveTreeClassifier

        return HoeffdingAdaptiveTreeClassifier(nominal_attributes=list(range(_FOLDED)), seed=1)


class RiverLogistic(RiverModel):
    """Logistic regression by stochastic gradient descent with AdaGrad's rates (Duchi 2011).

    Examples
    --------
    >>> from linkscore_scoring.learners.classifiers.base import features_of
    >>> model = RiverLogistic(dim=8)
    >>> model.learn(features_of([{1: 1.0}, {2: 1.0}] * 10), np.array([1.0, 0.0] * 10))
    >>> good, bad = model.predict_prob(features_of([{1: 1.0}, {2: 1.0}]))
    >>> bool(good > 0.5 > bad)
    True
    """

    name = "river_logistic"

    def _fresh(self) -> Any:
        from river.linear_model import LogisticRegression
        from river.optim import AdaGrad

        return LogisticRegression(optimizer=AdaGrad(_RATE))
