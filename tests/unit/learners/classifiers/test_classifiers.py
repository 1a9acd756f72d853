"""Formulas of the classifiers by hand."""

from __future__ import annotations

from math import exp, log, pi, sqrt

import numpy as np
import pytest

from linkscore_scoring.errors import InvalidParams
from linkscore_scoring.learners.classifiers import CLASSIFIERS, classifier_named
from linkscore_scoring.learners.classifiers.arow import Arow
from linkscore_scoring.learners.classifiers.base import Features, features_of
from linkscore_scoring.learners.classifiers.ftrl import Ftrl
from linkscore_scoring.learners.classifiers.moa_naive_bayes import MoaNaiveBayes
from linkscore_scoring.learners.classifiers.multinomial_nb import MultinomialNb

YES, NO = np.array([1.0]), np.array([0.0])


def row(*indices: int, **values: float) -> Features:
    return features_of([dict.fromkeys(indices, 1.0) | {int(k[1:]): v for k, v in values.items()}])


def sigma(x: float) -> float:
    return 1.0 / (1.0 + exp(-x))


def test_repeated_entries_of_a_row_add_up() -> None:
    X = Features(2, np.array([0, 1, 0]), np.array([3, 4, 3]), np.array([1.0, 2.0, 0.5]))
    assert [(at.tolist(), x.tolist()) for at, x in X.each()] == [([3], [1.5]), ([4], [2.0])]
    assert X.sums(X.values).tolist() == [1.5, 2.0]


def test_ftrl_after_one_label() -> None:
    """p = .5, g = -.5, n = .25, sigma = .5 / alpha, z = -.5; w = .5 / ((1 + .5) / .5 + .01) = .5 / 3.01."""
    model = Ftrl(dim=8, alpha=0.5, beta=1.0, l1=0.0, l2=0.01)
    model.learn(row(2), YES)
    assert model.predict_prob(row(2))[0] == pytest.approx(sigma(0.5 / 3.01))
    assert model.contributions(row(2, 3)).tolist() == pytest.approx([0.5 / 3.01, 0.0])


def test_ftrl_after_two_labels() -> None:
    w, alpha = 0.5 / 3.01, 0.5
    g = sigma(w) - 1.0
    n = 0.25 + g * g
    z = -0.5 + g - (sqrt(n) - 0.5) / alpha * w
    model = Ftrl(dim=8)
    model.learn(features_of([{2: 1.0}, {2: 1.0}]), np.array([1.0, 1.0]))
    assert model.contributions(row(2))[0] == pytest.approx(-z / ((1.0 + sqrt(n)) / alpha + 0.01))


def test_ftrl_keeps_small_gradients_at_zero_with_l1() -> None:
    model = Ftrl(dim=8, l1=0.6)
    model.learn(row(2), YES)
    assert model.predict_prob(row(2))[0] == 0.5


def test_a_softened_ftrl_has_smaller_weights_and_learns_faster() -> None:
    models = Ftrl(dim=8), Ftrl(dim=8)
    for model in models:
        for _ in range(50):
            model.learn(row(2), YES)
    before = models[0].contributions(row(2))[0]
    models[0].soften(0.25)
    assert models[0].contributions(row(2))[0] == pytest.approx(0.25 * before)
    rates = []
    for model in models:
        weight, gradient = model.contributions(row(2))[0], model.predict_prob(row(2))[0]
        model.learn(row(2), NO)
        rates.append((weight - model.contributions(row(2))[0]) / gradient)
    assert rates[0] > rates[1]


def test_arow_after_one_label() -> None:
    """Two features: v = 2, beta = 1 / 3, loss 1: mu = 1 / 3 each, sigma = 1 - 1 / 3."""
    model = Arow(dim=8, r=1.0)
    model.learn(row(1, 2), YES)
    margin, variance = 2 / 3, 4 / 3
    assert model.contributions(row(1, 2)).tolist() == pytest.approx([1 / 3, 1 / 3])
    assert model.predict_prob(row(1, 2))[0] == pytest.approx(sigma(2 * margin / sqrt(1 + pi * variance / 8)))


def test_arow_leaves_rows_beyond_the_margin_alone() -> None:
    model = Arow(dim=8, r=0.001)
    model.learn(features_of([{1: 1.0}] * 3), np.ones(3))
    before = model.to_state()
    model.learn(row(x1=2.0), YES)
    assert model.to_state() == before


def test_multinomial_nb_by_hand() -> None:
    """Relevant {a, b}, not relevant {a}: three tokens... vocabulary 2, so floors are .5 x 3."""
    model = MultinomialNb(dim=8, smoothing=0.5)
    model.learn(features_of([{0: 1.0, 1: 1.0}, {0: 1.0}]), np.array([1.0, 0.0]))
    b = log((1.5 / (2 + 1.5)) / (0.5 / (1 + 1.5)))
    assert model.contributions(row(1))[0] == pytest.approx(b)
    assert model.predict_prob(row(1))[0] == pytest.approx(sigma(b))


def moa() -> MoaNaiveBayes:
    """Three nominal features and a number: relevant {0} and {0, 1}, not relevant {1} and {2}."""
    model = MoaNaiveBayes(dim=4, gaussian=1)
    rows = [{0: 1.0, 3: 1.0}, {0: 1.0, 1: 1.0, 3: 3.0}, {1: 1.0, 3: 5.0}, {2: 1.0, 3: 5.0}]
    model.learn(features_of(rows), np.array([1.0, 1.0, 0.0, 0.0]))
    return model


def test_moa_votes_by_hand() -> None:
    """P(x | c) = (n + 1) / (N + K), K = 2 only for features the class saw; the number: N(2, 2) and all at 5.

    {0} with number 5: relevant 1/2 x 3/4 x (1 - seen once: 2/4) x 3/3 x density(5); not relevant 1/2 x
    (never seen: 1/3) x 2/4 x 2/4 x 1.
    """
    density = exp(-((5 - 2) ** 2) / 4) / sqrt(4 * pi)
    relevant = 0.5 * (3 / 4) * (2 / 4) * (3 / 3) * density
    other = 0.5 * (1 / 3) * (2 / 4) * (2 / 4) * 1.0
    assert moa().margins(row(0, x3=5.0))[0] == pytest.approx(relevant - other)
    assert moa().predict_prob(row(0, x3=5.0))[0] == pytest.approx(relevant / (relevant + other))


def test_a_number_that_never_varied_rules_a_class_out() -> None:
    """4 is not 5: the density of the other class is 0, as in MOA."""
    density = exp(-((4 - 2) ** 2) / 4) / sqrt(4 * pi)
    assert moa().margins(row(0, x3=4.0))[0] == pytest.approx(0.5 * (3 / 4) * (2 / 4) * density)


def test_with_one_class_seen_the_prediction_is_zero() -> None:
    model = MoaNaiveBayes(dim=4)
    model.learn(row(0), YES)
    assert (model.margins(row(0))[0], model.predict_prob(row(0))[0]) == (0.0, 0.5)


def test_a_token_new_to_both_classes_speaks_for_the_rarer_one() -> None:
    """Odds are multiplied by (N_other + 1) / (N_relevant + 1) = 4 / 2."""
    model = MoaNaiveBayes(dim=4)
    model.learn(features_of([{0: 1.0}, {1: 1.0}, {1: 1.0}, {1: 1.0}]), np.array([1.0, 0.0, 0.0, 0.0]))
    known, new = model.predict_prob(features_of([{}, {3: 1.0}]))
    assert (new / (1 - new)) / (known / (1 - known)) == pytest.approx(2.0)


def test_an_unknown_classifier_is_named_with_the_known_ones() -> None:
    assert classifier_named("ftrl") is Ftrl
    with pytest.raises(InvalidParams, match=r"must be one of arow, ftrl.*got 'svm'"):
        classifier_named("svm")
    assert {kind.name for kind in CLASSIFIERS.values()} == set(CLASSIFIERS)
