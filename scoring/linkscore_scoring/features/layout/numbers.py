"""Small statistics of measured values; nothing measured is 0."""

from __future__ import annotations

from collections.abc import Sequence
from math import log1p, sqrt


def ratio(part: float, whole: float) -> float:
    """Return a share, 0 of nothing."""
    return part / whole if whole else 0.0


def spread(name: str, values: Sequence[float]) -> dict[str, float]:
    """Return ln(1 + x) of the largest value, of the mean and of the standard deviation."""
    if not values:
        return {f"{name}_max": 0.0, f"{name}_avg": 0.0, f"{name}_sd": 0.0}
    mean = sum(values) / len(values)
    deviation = sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return {f"{name}_max": log1p(max(values)), f"{name}_avg": log1p(mean), f"{name}_sd": log1p(deviation)}


def median(values: Sequence[float]) -> float:
    """Return the upper median."""
    return sorted(values)[len(values) // 2] if values else 0.0
