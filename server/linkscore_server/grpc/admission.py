"""How much one server takes on at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from linkscore_scoring.errors import LimitExceeded


class AdmissionLimit:
    """Counts pages and feedback events of unary calls from their arrival to their answer.

    When the log is slow they would gather in memory without bound; beyond `limit` new calls are sent away.
    A stream needs no such bound, its window is one. A call larger than the limit is admitted when there is no
    other.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items = 0

    @contextmanager
    def admitted(self, items: int) -> Iterator[None]:
        """Count `items` for as long as the context lasts.

        Raises
        ------
        LimitExceeded
            If they would exceed the limit.
        """
        if self._items and self._items + items > self._limit:
            rule = f"max_items_in_work: {self._items} items are in work and {items} more exceed {self._limit}"
            raise LimitExceeded(rule)
        self._items += items
        try:
            yield
        finally:
            self._items -= items
