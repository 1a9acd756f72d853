"""The rooms in the order of their buckets' values."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping
from itertools import groupby

from linkscore.scrapy.frontier import Room


class Ranking:
    """Keeps the rooms that are not empty sorted by value, best first.

    A bucket's value is what RankBuckets said last; one it was never asked about has the value it arrived
    with.
    """

    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self._order: list[tuple[float, Room]] = []

    def add(self, room: Room, value: float) -> bool:
        """Take in a room; `value` counts if its bucket has none yet. Say whether it counted."""
        fresh = room[0] not in self.values
        self.values.setdefault(room[0], value)
        key = (-self.values[room[0]], room)
        i = bisect_left(self._order, key)
        if i == len(self._order) or self._order[i] != key:
            insort(self._order, key)
        return fresh

    def drop(self, room: Room) -> None:
        """Leave out a room that is empty."""
        key = (-self.values[room[0]], room)
        i = bisect_left(self._order, key)
        if i < len(self._order) and self._order[i] == key:
            del self._order[i]

    def refresh(self, values: Mapping[str, float]) -> None:
        """Take over new values."""
        self.values.update(values)
        self._order = sorted((-self.values[room[0]], room) for _, room in self._order)

    def groups(self) -> Iterator[list[Room]]:
        """Give the rooms of equal value together, best first."""
        for _, same in groupby(self._order, key=lambda entry: entry[0]):
            yield [room for _, room in same]
