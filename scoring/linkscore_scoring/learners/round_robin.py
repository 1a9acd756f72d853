"""How many of n pulls each arm gets while their values stand still; equal arms take turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heapreplace


class RoundRobin:
    """Arms whose values stand still while pulls are handed out; among equal ones the least pulled comes
    next."""

    def __init__(self, arms: Iterable[tuple[int, float]]) -> None:
        self._heap = [(-value, 0, place, arm) for place, (arm, value) in enumerate(arms)]
        self._gone: set[int] = set()
        heapify(self._heap)

    def take(self) -> int:
        """Return the arm that is next, and let its equals go before it the next time; LookupError if none."""
        while self._heap and self._heap[0][-1] in self._gone:
            heappop(self._heap)
        if not self._heap:
            raise LookupError("no arm is awake")
        value, pulls, place, arm = self._heap[0]
        heapreplace(self._heap, (value, pulls + 1, place, arm))
        return arm

    def discard(self, arm: int) -> None:
        """Take an arm out for good."""
        self._gone.add(arm)


def allocate_best(values: Mapping[int, float], waiting: Mapping[int, int], n: int) -> Counter[int]:
    """Return how many of n pulls each arm gets, always by the best value."""
    turns, shares, asleep = RoundRobin(values.items()), Counter[int](), 0
    for _ in range(n):
        if asleep == len(values):
            break
        arm = turns.take()
        shares[arm] += 1
        if shares[arm] >= waiting[arm]:
            turns.discard(arm)
            asleep += 1
    return shares
