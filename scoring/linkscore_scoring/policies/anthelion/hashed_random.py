"""Random numbers as functions of (seed, event, arm): the same after a restart, whatever was asked between."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.hashing import GOLDEN, mix64

Floats = NDArray[np.float64]

_MASK = (1 << 64) - 1  # Python's numbers do not wrap at 64 bits, those of numpy do


def uniform(seed: int, seq: int, arms: Sequence[int]) -> Floats:
    """Return one number in (0, 1) for each arm, (n,) float64; arms are 64-bit.

    Source: splitmix64 finaliser (Steele, Lea and Flood 2014).
    """
    step = np.uint64(GOLDEN)
    salt = mix64(np.array([(seed * GOLDEN + seq) & _MASK], dtype=np.uint64) + step)
    mixed = mix64(mix64((np.array([arm & _MASK for arm in arms], dtype=np.uint64) ^ salt) + step) + step)
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


def tie_of(seed: int, arm: int) -> float:
    """Return the number that orders arms of equal value, drawn once per arm."""
    x = ((arm + 1) * GOLDEN ^ (seed + 1) * 0xBF58476D1CE4E5B9) & _MASK
    x = (x ^ x >> 30) * 0x94D049BB133111EB & _MASK
    return (x >> 11) / 2.0**53
