"""Which link waits where: one queue per bucket and download slot, a link in up to four of them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from linkscore.scrapy.links import MAX_BUCKETS

#: A bucket's links of one download slot.
Room = tuple[str, str]


@dataclass(slots=True)
class Entry:
    """One waiting request: its fingerprint and its rooms."""

    fingerprint: bytes
    rooms: list[Room]


class Index:
    """Order of the waiting requests, by number; the requests themselves are elsewhere.

    Within a room the higher own part of the score goes first, and first in, first out among equals. A request
    is taken once, from whichever of its rooms comes first; its traces in the others are skipped.
    """

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._numbers: dict[bytes, int] = {}
        self._heaps: dict[Room, list[tuple[float, int]]] = {}
        self._sizes: dict[Room, int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def size(self, room: Room) -> int:
        """Count the requests waiting in a room."""
        return self._sizes.get(room, 0)

    def rooms(self) -> Iterable[Room]:
        """Name the rooms that are not empty."""
        return self._sizes.keys()

    def push(self, number: int, fingerprint: bytes, waits: Sequence[tuple[Room, float]]) -> None:
        """Let a new request wait."""
        self._entries[number] = Entry(fingerprint, [])
        self._numbers[fingerprint] = number
        for room, own in waits:
            self._enter(number, room, own)

    def also(
        self, fingerprint: bytes, waits: Sequence[tuple[Room, float]]
    ) -> tuple[int, list[tuple[Room, float]]]:
        """Let a waiting request wait in further rooms; give its number and the rooms that were new to it."""
        number = self._numbers.get(fingerprint)
        if number is None:
            return 0, []
        entry = self._entries[number]
        new = [(room, own) for room, own in waits if room not in entry.rooms]
        new = new[: MAX_BUCKETS - len(entry.rooms)]
        for room, own in new:
            self._enter(number, room, own)
        return number, new

    def _enter(self, number: int, room: Room, own: float) -> None:
        self._entries[number].rooms.append(room)
        heapq.heappush(self._heaps.setdefault(room, []), (-own, number))
        self._sizes[room] = self._sizes.get(room, 0) + 1

    def head(self, room: Room) -> int | None:
        """Number of the request that is next in a room."""
        heap = self._heaps.get(room, [])
        while heap and heap[0][1] not in self._entries:
            heapq.heappop(heap)
        return heap[0][1] if heap else None

    def take(self, number: int) -> list[Room]:
        """Take a request out of all its rooms; give the rooms that are empty now."""
        entry = self._entries.pop(number)
        if self._numbers.get(entry.fingerprint) == number:
            del self._numbers[entry.fingerprint]
        emptied = []
        for room in entry.rooms:
            self._sizes[room] -= 1
            if not self._sizes[room]:
                del self._sizes[room], self._heaps[room]
                emptied.append(room)
        return emptied
