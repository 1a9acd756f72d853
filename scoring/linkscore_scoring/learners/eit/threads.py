"""Which pages are one thread: those that links which turn pages connect, named by the first of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

First = tuple[int, int, str]
"""Page number, length of the URL, URL: the smallest names the thread."""


class ThreadChains:
    """Union of thread pages; the name of a thread is the URL of its page 1.

    Parameters
    ----------
    max_pages
        Pages remembered; beyond it the half seen first is forgotten, but not the names of threads that go on.

    Notes
    -----
    Cost O(flips of the page), amortised. The name depends on the set of pages seen, not on their order.
    """

    def __init__(self, *, max_pages: int = 200_000) -> None:
        self.max_pages = max_pages
        self._above: dict[int, int] = {}
        self._first: dict[int, First] = {}

    def join(self, members: Iterable[tuple[int, int, str]]) -> None:
        """Make pages one thread: (identity hash, page number, URL) each; an unknown number is a large one."""
        rows = list(members)
        for key, number, url in rows:
            first = (number, len(url), url)
            self._above.setdefault(key, key)
            top = self._top(key)
            self._first[top] = min(self._first.get(top, first), first)
        for key, _, _ in rows[1:]:
            self._unite(rows[0][0], key)
        if len(self._above) > self.max_pages:
            self._trim()

    def name(self, key: int) -> str:
        """Return the URL of the first page of a page's thread; empty for a page never seen."""
        return self._first[self._top(key)][2] if key in self._above else ""

    def _top(self, key: int) -> int:
        above = self._above
        while above[key] != key:
            above[key] = above[above[key]]
            key = above[key]
        return key

    def _unite(self, one: int, other: int) -> None:
        a, b = sorted((self._top(one), self._top(other)))
        if a != b:
            self._above[b] = a
            self._first[a] = min(self._first[a], self._first.pop(b))

    def _trim(self) -> None:
        """Forget the half of the pages seen first; the oldest one left of a thread stands for it."""
        tops = [(key, self._top(key)) for key in islice(self._above, len(self._above) // 2, None)]
        leaders: dict[int, int] = {}
        for key, top in tops:
            leaders.setdefault(top, key)
        self._above = {key: leaders[top] for key, top in tops}
        self._first = {leader: self._first[top] for top, leader in leaders.items()}

    def to_state(self) -> dict[str, Any]:
        """Return the threads as plain values."""
        return {
            "above": [[key, self._top(key)] for key in self._above],
            "first": [[key, *first] for key, first in self._first.items()],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the threads of `to_state`."""
        self._above = {int(key): int(above) for key, above in state["above"]}
        self._first = {int(key): (int(n), int(size), str(url)) for key, n, size, url in state["first"]}
        if any(self._above.get(above) != above or above not in self._first for above in self._above.values()):
            raise ValueError("threads: a page belongs to no thread")
