"""Precision and recall with their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

_Z = 1.96


@dataclass(slots=True)
class Counts:
    """Right, wrong and missed links."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def add(self, found: bool, wanted: bool) -> None:
        """Count one link."""
        self.right += found and wanted
        self.wrong += found and not wanted
        self.missed += wanted and not found

    @property
    def precision(self) -> tuple[float, float, float]:
        """Right of those found, with its interval."""
        return wilson(self.right, self.right + self.wrong)

    @property
    def recall(self) -> tuple[float, float, float]:
        """Found of those wanted, with its interval."""
        return wilson(self.right, self.right + self.missed)


def wilson(hits: int, n: int) -> tuple[float, float, float]:
    """Return a share and its 95 % Wilson interval; (nan, 0, 1) of nothing.

    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927.
    """
    if n == 0:
        return float("nan"), 0.0, 1.0
    share, z2 = hits / n, _Z * _Z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return share, max(0.0, middle - half), min(1.0, middle + half)
