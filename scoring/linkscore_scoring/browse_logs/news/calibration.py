"""Above which signal a page is news, and how sure that is, fitted on labelled pages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

_STEPS = 50
"""A bound: Newton's method on two weights needs a handful of steps."""

_TOLERANCE = 1e-10
"""Change of the weights below which a step is the last one. A bound: two weights of order one, in float64."""

_PRIOR_PRECISION = np.diag([1.0, 1e-9])
"""Of slope and offset: a normal prior of variance 1 on the slope, next to none on the offset."""

PAPER_THRESHOLD = 1.91
"""Threshold of Wang 2008, section 6.1, fitted on one site: what is used without labels."""


@dataclass(frozen=True, slots=True)
class NewsThreshold:
    """A threshold, and how it parts the labelled pages: news is what lies strictly above.

    Attributes
    ----------
    value
        The threshold.
    hits, misses, false_alarms, n
        Pages classified rightly, news below it, other pages above it, of how many labelled ones; 0 if it was
        not fitted.
    given
        Somebody gave it for this mining and those to come.
    """

    value: float
    hits: int = 0
    misses: int = 0
    false_alarms: int = 0
    n: int = 0
    given: bool = False

    def origin(self) -> str:
        """Say where the threshold comes from."""
        if self.given:
            return "given"
        return f"fitted on {self.n} labelled pages" if self.n else "not fitted"


def fit_threshold(values: NDArray[np.float64], is_news: NDArray[np.bool_]) -> NewsThreshold | None:
    """Return the threshold that classifies most labelled pages rightly, the larger one of equals.

    Candidates are the midpoints between neighbouring values. None if there is none: fewer than two different
    values, or pages of one kind only. Shapes: (n,) float64 and (n,) bool. Cost O(n log n). Source: Wang 2008,
    section 6.1; section 5.1 says "less" where it must be "greater".

    Examples
    --------
    >>> fit_threshold(np.array([0.2, 0.4, 1.0, 1.2]), np.array([False, False, True, True])).value
    0.7
    """
    order = np.argsort(values, kind="stable")
    ranked, news = values[order], is_news[order]
    cuts = np.flatnonzero(ranked[1:] > ranked[:-1])
    if not len(cuts) or news.all() or not news.any():
        return None
    below = np.cumsum(news)[cuts]
    above = int(news.sum()) - below
    hits = (cuts + 1 - below) + above
    best = len(hits) - 1 - int(np.argmax(hits[::-1]))
    cut = cuts[best]
    n = len(values)
    return NewsThreshold(
        value=float((ranked[cut] + ranked[cut + 1]) / 2),
        hits=int(hits[best]),
        misses=int(below[best]),
        false_alarms=int(n - cut - 1 - above[best]),
        n=n,
    )


@dataclass(frozen=True, slots=True)
class NewsEvidence:
    """Log-likelihood ratio of news against other pages: ``slope * signal + offset``."""

    slope: float
    offset: float

    def ratios(self, signals: Values) -> Values:
        """Return ln(p(signal | news) / p(signal | other)) of signals, same shape."""
        return self.slope * signals + self.offset


def fit_evidence(signals: Values, is_news: NDArray[np.bool_]) -> NewsEvidence:
    """Return the evidence that labelled pages show: a logistic curve without its base rate.

    Of pages of both kinds; the prior on the slope keeps the curve finite where the kinds are parted clean.
    Shapes: (n,) float64 and (n,) bool. Cost: O(n) a Newton step. Source: ours.
    """
    centre = signals.mean()
    rows = np.column_stack([signals - centre, np.ones(len(signals))])
    weights = np.zeros(2)
    for _ in range(_STEPS):
        probs = 1.0 / (1.0 + np.exp(-rows @ weights))
        gradient = rows.T @ (is_news - probs) - _PRIOR_PRECISION @ weights
        hessian = (rows * (probs * (1.0 - probs))[:, None]).T @ rows + _PRIOR_PRECISION
        step = np.linalg.solve(hessian, gradient)
        weights += step
        if np.abs(step).max() < _TOLERANCE:
            break
    share = is_news.mean()
    base = float(np.log(share / (1.0 - share)))
    return NewsEvidence(float(weights[0]), float(weights[1] - weights[0] * centre - base))
