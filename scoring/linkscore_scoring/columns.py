"""Values in bulk: columns that mostly come again, tables with a bound, sums and means of few."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from math import log, log1p, sqrt
from operator import add, itemgetter
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


@dataclass(eq=False, slots=True)
class Repeated(Sequence[_V], Generic[_V]):
    """A column that is kept as its distinct values and which of them each row has.

    Who works on the distinct values alone is done with thousands of rows in the time of some hundred.

    `distinct`: the distinct values, in the order of their first rows. `places`: (n_rows,) int64, the number
    of the value of each row among them.
    """

    distinct: list[_V]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, values: Iterable[_V]) -> Repeated[_V]:
        """Return some hashable values as such a column, as they are if they are one."""
        if isinstance(values, cls):
            return values
        distinct, places = numbered(values)
        return cls(distinct, np.array(places, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[_V]:
        return map(self.distinct.__getitem__, self.places.tolist())

    def __getitem__(self, row: Any) -> Any:
        found = self.places[row]
        return [self.distinct[place] for place in found] if isinstance(row, slice) else self.distinct[found]

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of a list: its columns may be changed


class Remembered(dict[_K, _V]):
    """What a function gives, by what it was given; all is forgotten once there are `most`.

    A look-up touches half the memory that one of `functools.lru_cache` does, which keeps an order of use:
    where the links of each page are looked up that is most of its cost.
    """

    __slots__ = ("_function", "_most")

    def __init__(self, function: Callable[[_K], _V], most: int) -> None:
        super().__init__()
        self._function, self._most = function, most

    def __missing__(self, key: _K) -> _V:
        if len(self) >= self._most:
            self.clear()
        found = self[key] = self._function(key)
        return found

    __call__ = dict.__getitem__

    def of_all(self, keys: Iterable[_K]) -> list[_V]:
        """Return what the function gives for each of some keys."""
        return list(map(self.__getitem__, keys))


def numbered(values: Iterable[_V]) -> tuple[list[_V], list[int]]:
    """Return distinct hashable values in the order of their first rows, and which of them each row has."""
    numbers: defaultdict[_V, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    places = list(map(numbers.__getitem__, values))
    return list(numbers), places


def picking(rows: Sequence[int]) -> Callable[[Sequence[Any]], list[Any]]:
    """Return what takes these rows of columns that are of equal length."""
    if len(rows) < 2:  # of one row an item getter gives no sequence
        return lambda column: [column[row] for row in rows]
    pick = itemgetter(*rows)
    return lambda column: list(pick(column))


def drop_oldest(table: dict[_K, _V], most: int) -> list[tuple[_K, _V]]:
    """Take the entries entered first out of a table of more than `most`; return them, oldest first.

    A value that is replaced keeps its place. Call it after an insertion, or once after several.
    """
    if len(table) <= most:
        return []
    oldest = list(islice(table, len(table) - most))
    return [(key, table.pop(key)) for key in oldest]


class Records:
    """Numbers by 64-bit key, not 0, each field of them an array that grows: oldest first, and with a bound.

    `rows`: the row of each key. `columns`: the fields, one for each letter of `types` (of `array`).
    """

    __slots__ = ("columns", "keys", "most", "rows")

    def __init__(self, types: str, *, most: int) -> None:
        self.most = most
        self.rows: dict[int, int] = {}
        self.keys = array("Q")
        self.columns: list[array[Any]] = [array(type_) for type_ in types]

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, keys: Collection[int], *values: Iterable[float]) -> int:
        """Add a row for each new key, given column by column; return the number of the first."""
        first = len(self.keys)
        self.rows.update(zip(keys, range(first, first + len(keys)), strict=True))
        self.keys.extend(keys)
        for column, more in zip(self.columns, values, strict=True):
            column.extend(more)
        return first

    def items(self) -> list[tuple[int, int]]:
        """Return each key with its row, oldest first."""
        return [(key, row) for row, key in enumerate(self.keys) if key]

    def trim(self) -> None:
        """Let the oldest rows go, a sixteenth at least, if there are more than the bound: others move up."""
        gone = len(self.keys) - self.most
        if gone > 0:
            gone += self.most // 16
            for column in (self.keys, *self.columns):
                del column[:gone]
            self._number()

    def rename(self, key: int, new: int) -> None:
        """Let another key stand for a row, and not for the one it had."""
        row = self.rows.pop(key)
        if new in self.rows:
            self.keys[self.rows[new]] = 0
        self.rows[new], self.keys[row] = row, new

    def to_state(self) -> list[bytes]:
        """Return the keys and the columns as bytes."""
        return [column.tobytes() for column in (self.keys, *self.columns)]

    def load_state(self, state: Sequence[bytes]) -> None:
        """Take over what `to_state` returned."""
        for column, raw in zip((self.keys, *self.columns), state, strict=True):
            del column[:]
            column.frombytes(raw)
        self._number()

    def _number(self) -> None:
        self.rows = {key: row for row, key in enumerate(self.keys) if key}


def left_sum(values: Iterable[float]) -> float:
    """Return the sum of floats, added from left to right; 0 of none.

    The built-in `sum` compensates for rounding from Python 3.12 on, so that the last bits of a score, and
    with them the order of a crawl, would depend on the version. It is for whole numbers.
    """
    return reduce(add, values, 0)


def shrunk(total: float, n: float, prior: float, prior_n: float) -> float:
    """Return the mean of `n` observations that sum to `total`, as if `prior_n` more had been worth `prior`.

    Applied down a hierarchy, each mean is the prior of the one below it. `n + prior_n` must not be 0.

    Source: the m-estimate, p = (k + m p0) / (n + m), of Cestnik, Estimating probabilities: a crucial task in
    machine learning, ECAI 1990; of counts it is the mean of the posterior of a Beta(m p0, m (1 - p0)).
    """
    return (total + prior_n * prior) / (n + prior_n)


_Z = 1.2815515655446004
"""90 % quantile of the normal distribution: bounds hold with 90 % confidence, one-sided. Chosen."""


def lower_bound(tries: float, agreed: float) -> float:
    """Return the lower end of Wilson's interval for a share (1927), of one side and 90 %; 0 if none agreed.

    Examples
    --------
    >>> [round(lower_bound(n, n), 2) for n in (0, 3, 7, 15, 150)]
    [0.0, 0.65, 0.81, 0.9, 0.99]
    """
    if not agreed:  # exactly: what rounding leaves of the formula is above 0
        return 0.0
    share, square = agreed / tries, _Z * _Z
    spread = _Z * sqrt(share * (1.0 - share) / tries + square / (4.0 * tries * tries))
    return max(0.0, (share + square / (2.0 * tries) - spread) / (1.0 + square / tries))


def squash(worth: float) -> float:
    """Return a value >= 0 as a score in [0, 1], strictly increasing up to rounding; 1 / 2 for 1."""
    return 1.0 / (1.0 + log1p(1.0 / worth) / log(2.0)) if worth > 1e-300 else 0.0
