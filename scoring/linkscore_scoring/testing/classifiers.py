"""The conformance suite of classifiers: each check takes a class, an AssertionError says what is wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.learners.classifiers.base import Classifier, Features, Floats, Ints, features_of
from linkscore_scoring.state import packed, unpacked

DIM = 1_024
"""Features of the generated rows, with room to spare: they use 480."""
SEEDS = (1, 2, 3)
"""Of the rows that learning is shown on: a bound of the time the suite takes."""
MIN_AUC = 0.8
"""Asked for after 300 labels; the best possible on these rows is 0.99, chance 0.5 with a spread of 0.03."""

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


def check_classifier(kind: type[Classifier]) -> None:
    """Run every check on a classifier.

    Raises
    ------
    AssertionError
        Naming the first rule that is broken.
    """
    for check in CLASSIFIER_CHECKS:
        check(kind)


def check_it_knows_nothing_at_first(kind: type[Classifier]) -> None:
    """Before any label every row is as likely as not."""
    X, _ = drawn_rows(0, 20)
    np.testing.assert_allclose(kind(dim=DIM).predict_prob(X), 0.5, atol=1e-9, err_msg=kind.name)


def check_probabilities_are_in_range(kind: type[Classifier]) -> None:
    """Finite, in [0, 1], (n,) float64, for 0, 1 and many rows, empty ones too."""
    model = kind(dim=DIM)
    for labels in (0, 1, 50):
        X, y = drawn_rows(labels, labels)
        model.learn(X, y)
        for n in (0, 1, 200):
            _check_range(kind.name, model.predict_prob(drawn_rows(9, n)[0]), n)
        _check_range(kind.name, model.predict_prob(features_of([{}, {3: 2.0}])), 2)


def check_it_learns(kind: type[Classifier]) -> None:
    """Unseen rows are ordered by their label, `MIN_AUC` on the mean over `SEEDS`."""
    reached = []
    for seed in SEEDS:
        model = kind(dim=DIM)
        model.learn(*drawn_rows(seed, 300))
        X, y = drawn_rows(seed + 100, 400)
        reached.append(auc(model.predict_prob(X), y))
    assert np.mean(reached) >= MIN_AUC, f"{kind.name}: AUC {np.mean(reached):.3f}, {MIN_AUC} asked for"


def check_batches_may_be_cut(kind: type[Classifier]) -> None:
    """One batch teaches what its rows teach one by one, and rows predict alike alone and together."""
    X, y = drawn_rows(4, 40)
    whole, cut = kind(dim=DIM), kind(dim=DIM)
    whole.learn(X, y)
    for (indices, values), label in zip(X.each(), y, strict=True):
        cut.learn(_one(indices, values), np.array([label]))
    assert packed(whole.to_state()) == packed(cut.to_state()), f"{kind.name}: a batch differs from its rows"
    alone = [float(whole.predict_prob(_one(at, x))[0]) for at, x in X.each()]
    np.testing.assert_allclose(whole.predict_prob(X), alone, atol=1e-12, err_msg=kind.name)


def check_asking_changes_nothing(kind: type[Classifier]) -> None:
    """`predict_prob` and `contributions` leave the state as it was."""
    model = kind(dim=DIM)
    X, y = drawn_rows(5, 30)
    model.learn(X, y)
    before = packed(model.to_state())
    model.predict_prob(X)
    assert model.contributions(X).shape == X.values.shape, f"{kind.name}: one contribution for each entry"
    assert packed(model.to_state()) == before, f"{kind.name}: a question changed the state"


def check_a_restart_changes_nothing(kind: type[Classifier]) -> None:
    """Restored from bytes, a learner goes on exactly like the one that was never interrupted."""
    straight, restored = kind(dim=DIM), kind(dim=DIM)
    straight.learn(*drawn_rows(6, 60))
    restored.load_state(unpacked(packed(straight.to_state())))
    for model in (straight, restored):
        model.learn(*drawn_rows(7, 60))
        model.soften(0.5)
    X, _ = drawn_rows(8, 50)
    np.testing.assert_array_equal(straight.predict_prob(X), restored.predict_prob(X), err_msg=kind.name)
    assert packed(straight.to_state()) == packed(restored.to_state()), f"{kind.name}: other state"


def check_foreign_state_is_refused(kind: type[Classifier]) -> None:
    """State that cannot be the learner's own raises CorruptState."""
    model = kind(dim=DIM)
    model.learn(*drawn_rows(6, 5))
    own = model.to_state()
    for state in ({}, {"no such field": 1}, dict.fromkeys(own)):
        try:
            kind(dim=DIM).load_state(state)
        except CorruptState:
            continue
        raise AssertionError(f"{kind.name}: took over a state with the fields {sorted(state)}")


def check_memory_is_bounded(kind: type[Classifier]) -> None:
    """The state stops growing."""
    model, sizes = kind(dim=64), []
    for at in range(4):
        rng = np.random.default_rng(at)
        rows = [{int(i): 1.0 for i in rng.integers(64, size=3)} for _ in range(1_000)]
        model.learn(features_of(rows), (rng.random(1_000) < 0.5).astype(np.float64))
        sizes.append(len(packed(model.to_state())))
    assert sizes[-1] <= 1.1 * max(sizes[:2]), f"{kind.name}: state grew {sizes}"


CLASSIFIER_CHECKS: tuple[Callable[[type[Classifier]], None], ...] = (
    check_it_knows_nothing_at_first,
    check_probabilities_are_in_range,
    check_it_learns,
    check_batches_may_be_cut,
    check_asking_changes_nothing,
    check_a_restart_changes_nothing,
    check_foreign_state_is_refused,
    check_memory_is_bounded,
)


def _one(indices: Ints, values: Floats) -> Features:
    return Features(1, np.zeros(len(indices), dtype=np.int64), indices, values)


def _check_range(name: str, probs: Floats, n: int) -> None:
    assert probs.shape == (n,), f"{name}: shape {probs.shape}, want ({n},)"
    assert probs.dtype == np.float64, f"{name}: dtype {probs.dtype}, want float64"
    assert np.isfinite(probs).all(), f"{name}: not finite"
    assert ((probs >= 0.0) & (probs <= 1.0)).all(), f"{name}: not in [0, 1]"
