"""Formulas of the classifiers by hand."""

from __future__ import annotations

from math import exp, log, pi, sqrt

import pytest

from linkscore_scoring.learners.online import (
    Arow,
    Classifier,
    Features,
    MultinomialNb,
)
from support.sparse_rows import features_of


def row(*indices: int) -> Features:
    return features_of([dict.fromkeys(indices, 1.0)])


def learn(model: Classifier, X: Features, *labels: bool) -> None:
    for (indices, values), label in zip(X.each(), labels, strict=True):
        model.learn_row(indices, values, label, 1.0)


def sigma(x: float) -> float:
    return 1.0 / (1.0 + exp(-x))


def test_arow_after_one_label() -> None:
    """Two features: v = 2, beta = 1 / 3, loss 1: mu = 1 / 3 each, sigma = 1 - 1 / 3."""
    model = Arow(dim=8)
    learn(model, row(1, 2), True)
    margin, variance = 2 / 3, 4 / 3
    assert model.contributions(row(1, 2)).tolist() == pytest.approx([1 / 3, 1 / 3])
    assert model.predict_prob(row(1, 2))[0] == pytest.approx(sigma(2 * margin / sqrt(1 + pi * variance / 8)))


def test_multinomial_nb_by_hand() -> None:
    """Relevant {a, b}, not relevant {a}: three tokens... vocabulary 2, so floors are .5 x 3."""
    model = MultinomialNb(dim=8)
    learn(model, features_of([{0: 1.0, 1: 1.0}, {0: 1.0}]), True, False)
    b = log((1.5 / (2 + 1.5)) / (0.5 / (1 + 1.5)))
    assert model.contributions(row(1))[0] == pytest.approx(b)
    assert model.predict_prob(row(1))[0] == pytest.approx(sigma(b))
