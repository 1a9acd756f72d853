"""Tables with a bound: what was entered first goes first."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import islice
from typing import TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


def drop_oldest(table: dict[_K, _V], most: int) -> list[tuple[_K, _V]]:
    """Take the entries entered first out of a table of more than `most`; return them, oldest first.

    A value that is replaced keeps its place. Call it after an insertion, or once after several.

    Examples
    --------
    >>> table = {"a": 1, "b": 2, "c": 3}
    >>> drop_oldest(table, 2), table
    ([('a', 1)], {'b': 2, 'c': 3})
    """
    if len(table) <= most:
        return []
    oldest = list(islice(table, len(table) - most))
    return [(key, table.pop(key)) for key in oldest]
