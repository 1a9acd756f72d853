"""The arm of highest value, where values of single arms change."""

from __future__ import annotations

from heapq import heapify, heappop, heappush


class LazyHeap:
    """Arms by value; a changed value is pushed anew and its old entry skipped when it comes up.

    Equal values are ordered by a tie number given with the arm. Cost: O(log n) amortised; what `top` returns
    depends on the arms and values alone, not on their history.
    """

    def __init__(self) -> None:
        self._values: dict[int, float] = {}
        self._heap: list[tuple[float, float, int]] = []

    def __len__(self) -> int:
        return len(self._values)

    def set(self, arm: int, value: float, tie: float = 0.0) -> None:
        """Add an arm or change its value; the tie number of an arm must not change."""
        if self._values.get(arm) == value:
            return
        self._values[arm] = value
        heappush(self._heap, (-value, tie, arm))
        if len(self._heap) > 2 * len(self._values) + 64:
            self._heap = [entry for entry in set(self._heap) if self._values.get(entry[2]) == -entry[0]]
            heapify(self._heap)

    def discard(self, arm: int) -> None:
        """Take an arm out; one that is not in is fine."""
        self._values.pop(arm, None)

    def top(self) -> tuple[int, float]:
        """Return the arm of highest value, and the value.

        Raises
        ------
        LookupError
            If there is no arm.
        """
        while self._heap:
            value, _, arm = self._heap[0]
            if self._values.get(arm) == -value:
                return arm, -value
            heappop(self._heap)
        raise LookupError("no arm is awake")
