"""Imbalance, calibration and drift, on drawn labels with fixed seeds."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.learners.online import (
    DriftDetector,
    Features,
    Floats,
    OnlineClassifier,
    PlattCalibration,
)
from support.sparse_rows import features_of

HOT = ("arow", "multinomial_nb")

DIM = 1_024
_GOOD, _BAD, _NOISE = 40, 40, 400  # words of each kind in the generated rows; chosen, not measured


def drawn_rows(seed: int, n: int, *, share: float = 0.5) -> tuple[Features, Floats]:
    """Return rows of 12 features, two of which tell the label most of the time, and their labels."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(np.float64)
    rows = []
    for label in y:
        at = rng.integers(_NOISE, size=10) + _GOOD + _BAD
        telling = rng.random(2) < 0.95
        signs = np.where(telling, label > 0.5, label < 0.5)
        words = [int(rng.integers(_GOOD)) + (0 if good else _GOOD) for good in signs]
        rows.append({int(index): 1.0 for index in [*words, *at]})
    return features_of(rows), y


def auc(scores: Floats, y: Floats) -> float:
    """Return the probability that a relevant row scores above another one, ties half."""
    above = scores[y > 0.5][:, None] - scores[y < 0.5][None, :]
    return float(((above > 0.0) + 0.5 * (above == 0.0)).mean())


@pytest.mark.parametrize("kind", HOT)
def test_one_relevant_page_in_a_hundred_is_learned(kind: str) -> None:
    """AUC at least .85 after 2,000 labels of which about 20 are relevant; chance .5, spread .07 with 20."""
    reached = []
    for seed in (1, 2, 3):
        model = OnlineClassifier(kind, dim=DIM)
        model.learn(*drawn_rows(seed, 2_000, share=0.01))
        X, y = drawn_rows(seed + 50, 2_000, share=0.01)
        reached.append(auc(model.predict_prob(X), y))
    assert np.mean(reached) >= 0.85


@pytest.mark.parametrize("kind", HOT)
def test_probabilities_keep_the_base_rate_in_spite_of_weights(kind: str) -> None:
    """One in twenty relevant: the mean probability of unseen rows is within a factor of two of that."""
    model = OnlineClassifier(kind, dim=DIM)
    model.learn(*drawn_rows(4, 1_500, share=0.05))
    X, _ = drawn_rows(5, 1_000, share=0.05)
    assert 0.025 <= model.predict_prob(X).mean() <= 0.1


@pytest.mark.parametrize("kind", HOT)
def test_labels_that_turn_round_are_noticed_and_relearned(kind: str) -> None:
    """After 800 labels good and bad change places; 300 labels later the new order holds."""
    model = OnlineClassifier(kind, dim=DIM)
    model.learn(*drawn_rows(6, 800))
    X, y = drawn_rows(7, 300)
    model.learn(X, 1.0 - y)
    X, y = drawn_rows(8, 400)
    assert auc(model.predict_prob(X), 1.0 - y) >= 0.75


def test_platts_curve_is_the_identity_until_both_labels_came_and_always_rises() -> None:
    curve = PlattCalibration()
    for _ in range(100):
        curve.add(0.9, True)
    probs = np.linspace(0.0, 1.0, 11)
    assert curve.apply(probs) is probs
    for n in range(100):
        curve.add(0.9 if n % 2 else 0.1, n % 2 == 0)
    assert (np.diff(curve.apply(probs)) > 0).all()


def test_a_rise_is_a_change_and_a_fall_is_not() -> None:
    detector = DriftDetector()
    assert not any(detector.add(0.8) for _ in range(200))
    assert not any(detector.add(0.1) for _ in range(200))
    assert any(detector.add(0.9) for _ in range(200))
