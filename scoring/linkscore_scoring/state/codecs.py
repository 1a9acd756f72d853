"""One codec a type of value. `records` makes them from annotations and adds those of classes.

Tables of a big site have some 100,000 rows, so codecs also take many values at once, and stay in C where rows
are numbers and texts only.
"""

from __future__ import annotations

import types
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from enum import Enum
from itertools import chain
from typing import Any

import numpy as np

from linkscore_scoring.state.arrays import pack_array, pack_sparse, unpack_array, unpack_sparse


class Codec:
    """Writes and reads the values of one type; this one takes them as they are."""

    is_plain = True
    """Whether values are written as they are."""
    is_leaf = True
    """Whether values hold no others, so that their types are all there is to check."""
    in_place = False
    """Whether values read their state themselves, where they are."""

    def pack(self, value: Any) -> Any:
        return value

    def unpack(self, plain: Any) -> Any:
        return plain

    def pack_all(self, values: Iterable[Any]) -> list[Any]:
        return list(values) if self.is_plain else list(map(self.pack, values))

    def unpack_all(self, plain: Sequence[Any]) -> list[Any]:
        return list(checked_list(plain)) if self.is_leaf else list(map(self.unpack, checked_list(plain)))

    def check(self, values: Collection[Any]) -> None:
        """Refuse leaves of other types, at the speed of C."""

    def load(self, value: Any, plain: Any) -> Any:
        """Return what takes the place of `value`: itself, filled, if it has settings of its own."""
        return self.unpack(plain)

    def cells(self, value: Any) -> Iterable[Any]:
        """Return a value as the cells of a flat row."""
        return (self.pack(value),)

    def of_cells(self, cells: Sequence[Any]) -> Any:
        """Return the value of the cells `cells` gave."""
        (plain,) = cells
        return self.unpack(plain)

    width: int | None = 1
    """Cells of a flat row; None if that differs."""


class ScalarCodec(Codec):
    """Numbers, texts, bytes and None: as they are, of the types accepted."""

    def __init__(self, *accepted: type[Any]) -> None:
        self.accepted = frozenset(accepted)

    def unpack(self, plain: Any) -> Any:
        if type(plain) not in self.accepted:
            raise self._wanted(plain)
        return plain

    def unpack_all(self, plain: Sequence[Any]) -> list[Any]:
        self.check(checked_list(plain))
        return list(plain)

    def check(self, values: Collection[Any]) -> None:
        if not self.accepted.issuperset(map(type, values)):
            raise self._wanted(next(value for value in values if type(value) not in self.accepted))

    def _wanted(self, plain: Any) -> ValueError:
        names = sorted(kind.__name__ for kind in self.accepted if kind is not bool) or ["bool"]
        return ValueError(f"want {' or '.join(names)}, got {plain!r:.100}")


class ListCodec(Codec):
    """Lists, sets and deques of one type; tuples of any length."""

    width = None
    is_leaf = False

    def __init__(self, item: Codec, made: Callable[[list[Any]], Any], *, is_set: bool = False) -> None:
        self.item, self.made, self.is_set = item, made, is_set
        self.is_plain = item.is_plain and not is_set and made in (list, tuple)

    def pack(self, value: Any) -> Any:
        if self.is_plain:
            return value
        packed = self.item.pack_all(value)
        return sorted(packed) if self.is_set else packed

    def unpack(self, plain: Any) -> Any:
        return self.made(self.item.unpack_all(plain))

    def unpack_all(self, plain: Sequence[Any]) -> list[Any]:
        if not self.item.is_leaf or not {list, tuple}.issuperset(map(type, checked_list(plain))):
            return super().unpack_all(plain)
        self.item.check(list(chain.from_iterable(plain)))
        return list(map(self.made, plain))

    def load(self, value: Any, plain: Any) -> Any:
        found = self.unpack(plain)
        return deque(found, value.maxlen) if isinstance(value, deque) else found

    def cells(self, value: Any) -> Iterable[Any]:
        return self.item.pack_all(value)

    def of_cells(self, cells: Sequence[Any]) -> Any:
        return self.unpack(cells)


class TupleCodec(Codec):
    """Tuples of a fixed length, NamedTuples and flat dataclasses."""

    is_leaf = False

    def __init__(
        self, items: Sequence[Codec], made: Callable[..., Any], cells: Callable[[Any], Iterable[Any]]
    ):
        self.items, self.made, self.of, self.width = items, made, cells, len(items)
        self.are_plain = all(item.is_plain for item in items)
        self.is_plain = made is tuple and self.are_plain

    def pack(self, value: Any) -> Any:
        return value if self.is_plain else self.cells(value)

    def unpack(self, plain: Any) -> Any:
        return self.of_cells(checked_list(plain))

    def cells(self, value: Any) -> list[Any]:
        if self.are_plain:
            return list(self.of(value))
        return [item.pack(cell) for item, cell in zip(self.items, self.of(value), strict=True)]

    def of_cells(self, cells: Sequence[Any]) -> Any:
        if len(cells) != len(self.items):
            raise ValueError(f"want {len(self.items)} values, got {cells!r:.100}")
        found = [item.unpack(cell) for item, cell in zip(self.items, cells, strict=True)]
        return tuple(found) if self.made is tuple else self.made(*found)


class MapCodec(Codec):
    """Dicts: by name, as pairs, as keys alone, as flat rows, or as two lists."""

    is_leaf = False

    def __init__(self, name: Codec, item: Codec, made: type[Any], layout: str) -> None:
        self.name, self.item, self.made, self.layout = name, item, made, layout
        self.is_plain = layout == "map" and item.is_plain

    def pack(self, value: Any) -> Any:
        match self.layout:
            case "map":
                return dict(zip(value, self.item.pack_all(value.values()), strict=True))
            case "keys":
                return self.name.pack_all(value)
            case "flat":
                name, item = self.name, self.item
                return [[*name.cells(at), *item.cells(one)] for at, one in value.items()]
            case _ if self.name.is_plain and self.item.is_plain:
                return list(value.items())
            case _:
                return [list(pair) for pair in zip(*self.columns(value), strict=True)]

    def columns(self, value: Any) -> tuple[list[Any], list[Any]]:
        return self.name.pack_all(value), self.item.pack_all(value.values())

    def unpack(self, plain: Any) -> Any:
        match self.layout:
            case "map":
                if not isinstance(plain, dict):
                    raise ValueError(f"want a dict, got {plain!r:.100}")
                return self.of_columns(list(plain), list(plain.values()))
            case "keys":
                return self.filled(dict.fromkeys(self.name.unpack_all(plain)))
            case "flat":
                return self.filled([self._row(checked_list(row)) for row in checked_list(plain)])
            case _ if self.name.is_leaf and self.item.is_leaf:
                found = self.filled(checked_list(plain))
                self.name.check(found)
                self.item.check(found.values())
                return found
            case _:
                names = [at for at, _ in checked_list(plain)]
                return self.of_columns(names, [one for _, one in plain])

    def of_columns(self, names: Sequence[Any], values: Sequence[Any]) -> Any:
        return self.filled(zip(self.name.unpack_all(names), self.item.unpack_all(values), strict=True))

    def load(self, value: Any, plain: Any) -> Any:
        if not self.item.in_place or not isinstance(value, dict):
            return self.unpack(plain)
        for at, part in value.items():
            part.load_state(plain[at])
        return value

    def filled(self, items: Any) -> Any:
        return Counter(dict(items)) if self.made is Counter else self.made(items)

    def _row(self, row: Sequence[Any]) -> tuple[Any, Any]:
        n = self.name.width
        return self.name.of_cells(row[:n]), self.item.of_cells(row[n:])


class ArrayCodec(Codec):
    """Arrays, of one dtype if the annotation names it."""

    is_plain = is_leaf = False

    def __init__(self, dtype: Any, *, sparse: bool) -> None:
        self.dtype = None if dtype in (None, Any) else np.dtype(dtype)
        self.sparse = sparse

    def pack(self, value: Any) -> Any:
        return pack_sparse(value) if self.sparse else pack_array(value)

    def unpack(self, plain: Any) -> Any:
        array = unpack_sparse(plain) if self.sparse else unpack_array(plain)
        if self.dtype is not None and array.dtype != self.dtype:
            raise ValueError(f"want an array of {self.dtype}, got {array.dtype}")
        return array


class EnumCodec(Codec):
    """Members of an enum by their values."""

    is_plain = is_leaf = False

    def __init__(self, kind: type[Enum]) -> None:
        self.kind = kind

    def pack(self, value: Any) -> Any:
        return value.value

    def unpack(self, plain: Any) -> Any:
        return self.kind(plain)


class OptionalCodec(Codec):
    """A value or None."""

    is_leaf = False

    def __init__(self, item: Codec) -> None:
        self.item, self.is_plain = item, item.is_plain

    def pack(self, value: Any) -> Any:
        return None if value is None else self.item.pack(value)

    def unpack(self, plain: Any) -> Any:
        return None if plain is None else self.item.unpack(plain)


SCALARS: dict[Any, Codec] = {
    Any: Codec(),
    object: Codec(),
    int: ScalarCodec(int, bool),
    float: ScalarCodec(float, int, bool),
    bool: ScalarCodec(bool),
    str: ScalarCodec(str),
    bytes: ScalarCodec(bytes),
    None: ScalarCodec(types.NoneType),
    types.NoneType: ScalarCodec(types.NoneType),
}


def checked_list(plain: Any) -> Sequence[Any]:
    """Return a list or tuple as it is; ValueError for anything else."""
    if not isinstance(plain, list | tuple):
        raise ValueError(f"want a list, got {plain!r:.100}")
    return plain
