"""One score for two decisions: first the host, then the link inside it."""

from __future__ import annotations

from math import log

import numpy as np

from linkscore_scoring.learners.bandits.draws import Floats
from linkscore_scoring.learners.bandits.host_values import USES_BEST
from linkscore_scoring.learners.classifiers.base import logit, sigmoid

_TIE = 1e-9
_STEP = 0.25
_EDGE = 8.0
_LOW, _HIGH = log(1e-4) - _EDGE, log(1e4)

STEPS = int(2 * _EDGE / _STEP) + 1


def lexical(first: Floats, second: Floats) -> Floats:
    """Return a number in [0, 1] that orders by `first`, in [0, 1], and ties by `second`, in [0, 1].

    First numbers closer than 1e-9 are a tie.
    """
    return np.asarray((1.0 - _TIE) * first + _TIE * second, dtype=np.float64)


def scores(function: str, values: Floats, probs: Floats) -> Floats:
    """Return the score in [0, 1] of links from the value of their host and their own probability.

    The highest score is the link that the two-level choice would take: the host of highest value, in it the
    link of highest probability. Where the value has the probability as a factor, the best link of the best
    host is the link of highest product, so a link's own product is its score.

    Parameters
    ----------
    function
        Name of the value function.
    values
        (n,) its value with each link's own probability.
    probs
        (n,) in (0, 1), see `clipped`.
    """
    if function in {"best_score", "thompson_best_score"}:
        return values
    if function in USES_BEST:
        with np.errstate(divide="ignore"):
            share = (np.log(values) - _LOW) / (_HIGH - _LOW)
        return lexical(np.clip(share, 0.0, 1.0), probs)
    if function == "negative_absolute_bad":
        return lexical(1.0 / (1.0 - values), probs)
    if function == "thompson_sampling":
        return lexical(values, probs)
    return lexical(values / (1.0 + values), probs)


def clipped(probs: Floats) -> Floats:
    """Return probabilities no nearer to 0 and 1 than the outermost steps."""
    return np.clip(probs, sigmoid(np.array(-_EDGE)), sigmoid(np.array(_EDGE)))


def steps_of(probs: Floats) -> list[int]:
    """Return the step of each probability: 65 of a quarter on the log-odds scale."""
    steps: list[int] = np.rint((logit(clipped(probs)) + _EDGE) / _STEP).astype(int).tolist()
    return steps


def probs_of(steps: list[int]) -> Floats:
    """Return the probability in the middle of each step."""
    return sigmoid(np.array(steps, dtype=np.float64) * _STEP - _EDGE)
