"""What a host is worth: the eight functions of Anthelion, as its formulas mean them.

Each takes good and bad pages fetched (G, B), the probability p of the best waiting link, and a uniform number
u per host, all (n,) float64, and returns (n,) float64, higher is better.

Source: Meusel, Mika and Blanco, CIKM 2014, and the released code (yahoo/anthelion). Difference: p is a
probability in (0, 1) where the release has an unbounded signed margin, so that a product with it keeps its
sense for links that are more likely not relevant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linkscore_scoring.policies.anthelion.hashed_random import Floats
from linkscore_scoring.policies.anthelion.posteriors import beta

HostValue = Callable[[Any, Any, Any, Any], Any]
"""Arrays or single numbers."""


def best_score(G: Floats, B: Floats, p: Floats, u: Floats) -> Floats:
    """Return p: the classifier alone."""
    return p


def absolute_good(G: Floats, B: Floats, p: Floats, u: Floats) -> Floats:
    """Return G."""
    return G


def negative_absolute_bad(G: Floats, B: Floats, p: Floats, u: Floats) -> Floats:
    """Return -B."""
    return -B


def success_rate(G: Floats, B: Floats, p: Floats, u: Floats) -> Floats:
    """Return (G + 1) / (B + 1): odds, in spite of the name."""
    return (G + 1.0) / (B + 1.0)


def thompson_sampling(G: Floats, B: Floats, p: Floats, u: Floats) -> Floats:
    """Return a draw of Beta(G + 1, B + 1)."""
    return beta(G, B, u)


def absolute_good_best_score(G: Floats, B: Floats, p: Floats, u: Floats) -> Floats:
    """Return p G."""
    return p * G


def success_rate_best_score(G: Floats, B: Floats, p: Floats, u: Floats) -> Floats:
    """Return p (G + 1) / (B + 1)."""
    return p * success_rate(G, B, p, u)


def thompson_best_score(G: Floats, B: Floats, p: Floats, u: Floats) -> Floats:
    """Return p times a draw of Beta(G + 1, B + 1)."""
    return p * beta(G, B, u)


HOST_VALUES: dict[str, HostValue] = {
    function.__name__: function
    for function in (
        best_score,
        absolute_good,
        negative_absolute_bad,
        success_rate,
        thompson_sampling,
        absolute_good_best_score,
        success_rate_best_score,
        thompson_best_score,
    )
}
USES_BEST = frozenset(name for name in HOST_VALUES if name.endswith("best_score"))
"""Functions into which p enters; under the others p only orders the links of one host."""

DRAWN = frozenset(name for name in HOST_VALUES if name.startswith("thompson"))
"""Functions whose values change from decision to decision."""


def lambda_after(pulls: int, start: float, decay_pulls: int) -> float:
    """Return lambda after some pulls: constant if `decay_pulls` is 0, else start / (floor(pulls / V) + 1)."""
    return start / (pulls // decay_pulls + 1) if decay_pulls else start


def released_lambda_after(pulls: int, start: float, decay_pulls: int) -> float:
    """Return lambda as the released code computes it, in whole numbers: the start for V pulls, then 0."""
    return start if not decay_pulls or pulls < decay_pulls else 0.0
