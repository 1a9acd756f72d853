"""Random numbers as functions of (seed, event, arm): the same after a restart, whatever was asked between."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

Floats = NDArray[np.float64]

_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


def uniform(seed: int, seq: int, arms: Sequence[int]) -> Floats:
    """Return one number in (0, 1) for each arm, (n,) float64; arms are 64-bit.

    Source: splitmix64 finaliser (Steele, Lea and Flood 2014).
    """
    salt = _mixed(np.array([(seed * _GOLDEN + seq) & _MASK], dtype=np.uint64))
    mixed = _mixed(_mixed(np.array([arm & _MASK for arm in arms], dtype=np.uint64) ^ salt))
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


def beta(good: Floats, bad: Floats, u: Floats) -> Floats:
    """Return draws of Beta(good + 1, bad + 1) from uniform numbers, by the inverse of its distribution."""
    return np.asarray(betaincinv(good + 1.0, bad + 1.0, u), dtype=np.float64)


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed = x + np.uint64(_GOLDEN)
    for shift, factor in _ROUNDS:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
