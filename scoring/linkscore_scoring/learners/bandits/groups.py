"""Awake arms in groups that share what a decision depends on, so that it costs one look per group."""

from __future__ import annotations

from collections.abc import Iterator

from linkscore_scoring.learners.bandits.lazy_heap import LazyHeap

Key = tuple[float, ...]


class Groups:
    """Arms by group key, inside a group by value."""

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
