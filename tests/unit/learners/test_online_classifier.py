"""The classifier of links: its formula by hand; imbalance, calibration and drift, on drawn labels."""

from __future__ import annotations

from math import exp, pi, sqrt

import numpy as np
import pytest

from linkscore_scoring.learners.online import Features, Floats, OnlineClassifier, PlattCalibration

DIM = 1_024
_GOOD, _BAD, _NOISE = 40, 40, 400  # words of each kind in the generated rows; chosen, not measured


def rows(found: list[list[int]]) -> Features:
    indices = np.array([index for row in found for index in row], dtype=np.int64)
    numbers = np.repeat(np.arange(len(found), dtype=np.int64), list(map(len, found)))
    return Features(len(found), numbers, indices, np.ones(len(indices)))


def drawn_rows(seed: int, n: int, *, share: float = 0.5) -> tuple[list[list[int]], Floats]:
    """Return rows of 12 features, two of which tell the label most of the time, and their labels."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(np.float64)
    found = []
    for label in y:
        at = rng.integers(_NOISE, size=10) + _GOOD + _BAD
        telling = rng.random(2) < 0.95
        signs = np.where(telling, label > 0.5, label < 0.5)
        words = [int(rng.integers(_GOOD)) + (0 if good else _GOOD) for good in signs]
        found.append([*words, *at.tolist()])
    return found, y


def learn(model: OnlineClassifier, found: list[list[int]], y: Floats) -> None:
    for row, label in zip(found, y, strict=True):
        model.learn(rows([row]), relevant=bool(label))


def auc(scores: Floats, y: Floats) -> float:
    """Return the probability that a relevant row scores above another one, ties half."""
    above = scores[y > 0.5][:, None] - scores[y < 0.5][None, :]
    return float(((above > 0.0) + 0.5 * (above == 0.0)).mean())


def test_after_one_label() -> None:
    """Two features: v = 2, weight (2 + 1) / (2 x 2), beta = 1 / (2 + 4 / 3), loss 1: mu = .3, sigma = .7."""
    model = OnlineClassifier(dim=8)
    model.learn(rows([[1, 2]]), relevant=True)
    weight = (0.999 + 1.999) / (2.0 * 1.999)
    beta = 1.0 / (2.0 + 1.0 / weight)
    assert model.contributions(rows([[1, 2]])).tolist() == pytest.approx([beta, beta])
    margin, variance = 2.0 * beta, 2.0 * (1.0 - beta)
    expected = 1.0 / (1.0 + exp(-2.0 * margin / sqrt(1.0 + pi * variance / 8.0)))
    assert model.predict_prob(rows([[1, 2]]))[0] == pytest.approx(expected)


def test_one_relevant_page_in_a_hundred_is_learned() -> None:
    """AUC at least .85 after 2,000 labels of which about 20 are relevant; chance .5, spread .07 with 20."""
    reached = []
    for seed in (1, 2, 3):
        model = OnlineClassifier(dim=DIM)
        learn(model, *drawn_rows(seed, 2_000, share=0.01))
        found, y = drawn_rows(seed + 50, 2_000, share=0.01)
        reached.append(auc(model.predict_prob(rows(found)), y))
    assert np.mean(reached) >= 0.85


def test_probabilities_keep_the_base_rate_in_spite_of_weights() -> None:
    """One in twenty relevant: the mean probability of unseen rows is within a factor of two of that."""
    model = OnlineClassifier(dim=DIM)
    learn(model, *drawn_rows(4, 1_500, share=0.05))
    found, _ = drawn_rows(5, 1_000, share=0.05)
    assert 0.025 <= model.predict_prob(rows(found)).mean() <= 0.1


def test_labels_that_turn_round_are_relearned() -> None:
    """After 800 labels good and bad change places; 300 labels later the new order holds."""
    model = OnlineClassifier(dim=DIM)
    learn(model, *drawn_rows(6, 800))
    found, y = drawn_rows(7, 300)
    learn(model, found, 1.0 - y)
    found, y = drawn_rows(8, 400)
    assert auc(model.predict_prob(rows(found)), 1.0 - y) >= 0.75


def test_platts_curve_is_the_identity_until_both_labels_came_and_always_rises() -> None:
    curve = PlattCalibration()
    for _ in range(100):
        curve.add(0.9, True)
    probs = np.linspace(0.0, 1.0, 11)
    assert curve.apply(probs) is probs
    for n in range(100):
        curve.add(0.9 if n % 2 else 0.1, n % 2 == 0)
    assert (np.diff(curve.apply(probs)) > 0).all()
