"""Awake arms by value: the best of all, and the best of each group that a decision looks at as one."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

Key = tuple[float, ...]


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
        # Old entries are cleared once they are the greater part, and not at all among few arms.
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


class Groups:
    """Arms by group key, inside a group by value; a group costs one look a decision."""

    def __init__(self) -> None:
        self._heaps: dict[Key, LazyHeap] = {}
        self._keys: dict[int, Key] = {}

    def __len__(self) -> int:
        return len(self._heaps)

    def put(self, arm: int, key: Key, value: float, tie: float) -> None:
        """Put an arm into a group, out of any other."""
        if self._keys.get(arm, key) != key:
            self.discard(arm)
        self._keys[arm] = key
        self._heaps.setdefault(key, LazyHeap()).set(arm, value, tie)

    def discard(self, arm: int) -> None:
        """Take an arm out; one that is in no group is fine."""
        if arm in self._keys:
            key = self._keys.pop(arm)
            heap = self._heaps[key]
            heap.discard(arm)
            if not len(heap):
                del self._heaps[key]

    def tops(self) -> Iterator[tuple[Key, int, int, float]]:
        """Yield of each group its key, how many arms it has, its best arm and that arm's value."""
        for key, heap in self._heaps.items():
            arm, value = heap.top()
            yield key, len(heap), arm, value
