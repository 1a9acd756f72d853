"""Thompson sampling over many arms: arms of one posterior draw together."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log1p

import numpy as np

from linkscore_scoring.policies.anthelion.arm_index import Groups
from linkscore_scoring.policies.anthelion.hashed_random import Floats, uniform

# Counts are rounded so that many arms share a posterior: exactly while a pull matters, by at most 5 % beyond.
_EXACT = 10.0
_GRID = log1p(0.1)
_STEPS = 1024
"""Steps of the integral of `choice_probs`."""
_TINY = 1e-300
"""Keeps logarithms of 0 finite; doubles end at 10^-308."""


def load_libraries() -> None:
    """Import what the first draw would import."""
    import scipy.special  # noqa: F401


def beta(good: Floats, bad: Floats, u: Floats) -> Floats:
    """Return draws of Beta(good + 1, bad + 1) from uniform numbers, by the inverse of its distribution."""
    from scipy.special import betaincinv  # slow to import: only where hosts are drawn, see `load_libraries`

    return np.asarray(betaincinv(good + 1.0, bad + 1.0, u), dtype=np.float64)


def rounded(count: float) -> float:
    """Return a count to the next whole number up to 10, and to a grid of 10 % beyond: at most 5 % off."""
    if count < _EXACT:
        return float(round(count))
    return _EXACT * float(np.exp(_GRID * round(log(count / _EXACT) / _GRID)))


def highest_drawn(groups: Groups, seed: int, seq: int) -> int:
    """Return an arm whose draw of Beta(good + 1, bad + 1) x factor is the highest.

    The highest of n independent draws with distribution function F is F^-1(u^(1/n)), so a group costs one
    draw however many arms it has: exact in distribution. Cost O(groups), 2 us each.

    Parameters
    ----------
    groups
        Keys are (good, bad, factor).

    Raises
    ------
    LookupError
        If no arm is awake.
    """
    tops = [(*key, n, arm) for key, n, arm, _ in groups.tops()]
    if not tops:
        raise LookupError("no arm is awake")
    good, bad, factor, n, _ = np.array(tops, dtype=np.float64).T
    arms = [int(top[-1]) for top in tops]
    u = uniform(seed, seq, arms) ** (1.0 / n)
    return arms[int(np.argmax(beta(good, bad, u) * factor))]


def choice_probs(keys: Sequence[tuple[float, float, float]]) -> Floats:
    """Return the probability with which each of n arms draws the highest, (n,) float64 of sum 1.

    The integral of dF_i times the product of the other F_j, on 1,024 steps of [0, 1], where
    F(x) = I(x / factor) is the distribution of a draw of Beta(good + 1, bad + 1) x factor. Cost O(n), 0.3 ms
    an arm.

    Parameters
    ----------
    keys
        (good, bad, factor) of each arm.
    """
    from scipy.special import betainc

    good, bad, factor = np.array(keys, dtype=np.float64).reshape(-1, 3).T[:, :, None]
    edges = np.linspace(0.0, 1.0, _STEPS + 1)
    F = betainc(good + 1.0, bad + 1.0, np.minimum(edges / factor, 1.0))
    middle = np.log(np.maximum((F[:, 1:] + F[:, :-1]) / 2.0, _TINY))
    wins = np.diff(F, axis=1) * np.exp(middle.sum(axis=0) - middle)
    return np.asarray(wins.sum(axis=1) / wins.sum())
