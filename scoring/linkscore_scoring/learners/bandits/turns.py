"""Arms of highest value, equal ones in turn."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heapreplace


class Turns:
    """Arms whose values stand still while pulls are handed out; among equal ones the least pulled comes next.

    Equal values and pulls: the order given. Cost O(log n) a pull, O(n) to make.

    Parameters
    ----------
    arms
        Pairs of arm and value, each arm once.
    """

    def __init__(self, arms: Iterable[tuple[int, float]]) -> None:
        self._heap = [(-value, 0, place, arm) for place, (arm, value) in enumerate(arms)]
        self._gone: set[int] = set()
        heapify(self._heap)

    def top(self) -> int:
        """Return the arm that is next.

        Raises
        ------
        LookupError
            If there is none.
        """
        while self._heap and self._heap[0][-1] in self._gone:
            heappop(self._heap)
        if not self._heap:
            raise LookupError("no arm is awake")
        return self._heap[0][-1]

    def take(self) -> int:
        """Return the arm that is next, and let its equals go before it the next time."""
        arm = self.top()
        value, pulls, place, _ = self._heap[0]
        heapreplace(self._heap, (value, pulls + 1, place, arm))
        return arm

    def discard(self, arm: int) -> None:
        """Take an arm out for good."""
        self._gone.add(arm)
