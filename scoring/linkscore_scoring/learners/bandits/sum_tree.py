"""Draw an arm in proportion to its weight, where weights of single arms change."""

from __future__ import annotations

import numpy as np


class SumTree:
    """Weights in a complete binary tree of partial sums; O(log n) to change one and to draw.

    Attributes
    ----------
    arms
        Arms in the order of their leaves; what is drawn depends on it.
    """

    def __init__(self) -> None:
        self.arms: list[int] = []
        self._leaves = 1
        self._sums = np.zeros(2)
        self._places: dict[int, int] = {}

    def set(self, arm: int, weight: float) -> None:
        """Add an arm or change its weight, > 0."""
        place = self._places.get(arm)
        if place is None:
            place = self._places[arm] = len(self.arms)
            self.arms.append(arm)
            if place >= self._leaves:
                self._grow()
        self._write(place, weight)

    def discard(self, arm: int) -> None:
        """Take an arm out; the last one gets its leaf."""
        place = self._places.pop(arm, None)
        if place is None:
            return
        last = self.arms.pop()
        weight = float(self._sums[self._leaves + len(self.arms)])
        self._write(len(self.arms), 0.0)
        if last != arm:
            self.arms[place], self._places[last] = last, place
            self._write(place, weight)

    def _write(self, place: int, weight: float) -> None:
        at = self._leaves + place
        self._sums[at] = weight
        while at > 1:
            at //= 2
            self._sums[at] = self._sums[2 * at] + self._sums[2 * at + 1]

    def total(self) -> float:
        """Return the sum of all weights."""
        return float(self._sums[1])

    def find(self, share: float) -> int:
        """Return the arm at `share` in [0, 1) of the total, arms laid end to end.

        Raises
        ------
        LookupError
            If all weights are 0.
        """
        if self.total() <= 0.0:
            raise LookupError("no arm is awake")
        at, rest = 1, share * self.total()
        while at < self._leaves:
            left = self._sums[2 * at]
            inside = rest < left or self._sums[2 * at + 1] <= 0.0
            at, rest = (2 * at, rest) if inside else (2 * at + 1, rest - left)
        return self.arms[at - self._leaves]

    def _grow(self) -> None:
        leaves = self._sums[self._leaves :]
        self._leaves *= 2
        sums = np.zeros(2 * self._leaves)
        sums[self._leaves : self._leaves + len(leaves)] = leaves
        at = self._leaves
        while at > 1:
            sums[at // 2 : at] = sums[at : 2 * at : 2] + sums[at + 1 : 2 * at : 2]
            at //= 2
        self._sums = sums
