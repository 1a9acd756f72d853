"""Columns of links: whose values mostly come again, and that few look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

_V = TypeVar("_V")
_W = TypeVar("_W")


class Repeated(Sequence[_V], Generic[_V]):
    """A column that is kept as its distinct values and which of them each row has.

    Who works on the distinct values alone is done with thousands of rows in the time of some hundred.

    Parameters
    ----------
    distinct
        The distinct values, in the order of their first rows.
    places
        (n_rows,) int64, the number of the value of each row among them.

    Examples
    --------
    >>> column = Repeated.of(["b", "a", "b"])
    >>> list(column), column.distinct, column.places.tolist(), column.first_rows()
    (['b', 'a', 'b'], ['b', 'a'], [0, 1, 0], [0, 1])
    """

    __slots__ = ("distinct", "places")

    def __init__(self, distinct: list[_V], places: NDArray[np.int64]) -> None:
        self.distinct, self.places = distinct, places

    @classmethod
    def of(cls, values: Iterable[_V]) -> Repeated[_V]:
        """Return some hashable values as such a column, as they are if they are one."""
        if isinstance(values, cls):
            return values
        numbers: defaultdict[_V, int] = defaultdict()
        numbers.default_factory = numbers.__len__
        places = np.array(list(map(numbers.__getitem__, values)), dtype=np.int64)
        return cls(list(numbers), places)

    def as_values(self, values: list[_W]) -> Repeated[_W]:
        """Return a column of other values, one for each of the distinct ones; some of them may be equal.

        Examples
        --------
        >>> column = Repeated.of(["B", "a", "b"]).as_values(["b", "a", "b"])
        >>> column.distinct, list(column)
        (['b', 'a'], ['b', 'a', 'b'])
        """
        if len(set(values)) == len(values):
            return Repeated(values, self.places)
        own = Repeated.of(values)
        return Repeated(own.distinct, own.places[self.places])

    def first_rows(self) -> list[int]:
        """Return the first row of each distinct value."""
        return np.flatnonzero(np.diff(np.maximum.accumulate(self.places), prepend=-1)).tolist()

    def __len__(self) -> int:
        return len(self.places)

    def __iter__(self) -> Iterator[_V]:
        return map(self.distinct.__getitem__, self.places.tolist())

    @overload
    def __getitem__(self, row: int) -> _V: ...

    @overload
    def __getitem__(self, row: slice) -> list[_V]: ...

    def __getitem__(self, row: Any) -> Any:
        found = self.places[row]
        return [self.distinct[place] for place in found] if isinstance(row, slice) else self.distinct[found]

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as of a list: its columns may be changed


class Later(Sequence[_V]):
    """A column that is made when somebody looks at it.

    Parameters
    ----------
    make
        Gives its values; called once at most.
    rows
        How many there are.

    Examples
    --------
    >>> column = Later(lambda: [4, 5], rows=2)
    >>> len(column), column[1], list(column)
    (2, 5, [4, 5])
    """

    __slots__ = ("_made", "_make", "_rows")

    def __init__(self, make: Callable[[], Sequence[_V]], rows: int) -> None:
        self._make, self._rows = make, rows
        self._made: Sequence[_V] | None = None

    @property
    def made(self) -> Sequence[_V]:
        """The values."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[_V]:
        return iter(self.made)

    @overload
    def __getitem__(self, row: int) -> _V: ...

    @overload
    def __getitem__(self, row: slice) -> Sequence[_V]: ...

    def __getitem__(self, row: Any) -> Any:
        return self.made[row]
