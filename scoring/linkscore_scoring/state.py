"""State by declaration: what a class keeps, as plain values for the disk and back.

Plain values are dict, list, tuple, str, int, float, bool, bytes and None: what msgpack can write. Annotations
say how a value is written, so a class lists what it keeps and needs no code for it:

>>> class Visits(Stateful):
...     count: Stored[int]
...     _latest: Stored[Flat[dict[int, tuple[float, bool]]]]
...
...     def __init__(self) -> None:
...         self.count, self._latest = 0, {}
>>> visits = Visits()
>>> visits.count, visits._latest = 2, {7: (0.5, True), 8: (0.0, False)}
>>> visits.to_state()
{'count': 2, 'latest': [[7, 0.5, True], [8, 0.0, False]]}
>>> again = Visits()
>>> again.load_state(visits.to_state())
>>> again._latest == visits._latest
True
>>> again.load_state({"count": "two", "latest": []})
Traceback (most recent call last):
...
linkscore_scoring.errors.CorruptState: visits: field 'count': want int, got 'two'

How each type is written:

=================================== ======================================================================
``int float bool str bytes None``   as it is; ``float`` takes whole numbers too
``Any``                             as it is, and not looked at: plain values only
``list tuple deque``                list; a deque that is loaded keeps its ``maxlen``
``set frozenset``                   sorted list
``dict Counter``, keys are text     dict
``dict Counter``, any other keys    list of ``[key, value]``; of keys alone if the values are None
``OrderedDict``                     the same list whatever the keys are: their order is part of the state
``Flat[dict[K, V]]``                list of ``[*key, *value]``; a value may be a tuple, list or dataclass
dataclass                           dict by field; ``Flat[...]`` makes it a list of its fields
NamedTuple                          list
enum                                its value
array                               shape, dtype and bytes (`pack_array`); ``Sparse[...]`` as `pack_sparse`
a class with ``to_state``           what that returns; read in place by ``load_state``, else by ``from_state``
=================================== ======================================================================

A dict of parts that can only be loaded in place is loaded part by part. A name on the disk is the attribute's
without leading underscore, unless ``Annotated[..., stored_as("name")]`` says another. Attributes that share a
name are written as one list; a dict with two names as two lists, its keys and its values. Names on the disk
are a file format: a renamed attribute is `stored_as` its old name.

What changes the format otherwise gets a ``state_version`` of its class, one above the last, and a ``migrate``
that turns what older versions wrote into what is written now. States without a number are of version 1.
"""

from __future__ import annotations

import hashlib
import re
import types
import typing
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from itertools import chain
from typing import Annotated, Any, ClassVar, TypeVar

import msgpack
import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import CorruptState

State = dict[str, Any]
T = TypeVar("T")

_VERSION = "state_version"
_MALFORMED = (LookupError, TypeError, ValueError, AttributeError)


@dataclass(frozen=True, slots=True)
class stored_as:
    """Mark of an attribute that is kept: under one name, under two as keys and values, or under its own."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


_FLAT, _SPARSE, _TRANSIENT = object(), object(), object()
Stored = Annotated[T, stored_as()]
"""An attribute that is kept; fields of dataclasses are without saying so."""
Flat = Annotated[T, _FLAT]
"""A dict as rows of key and value, a dataclass as the list of its fields."""
Sparse = Annotated[T, _SPARSE]
"""A matrix that is mostly zero."""
Transient = Annotated[T, _TRANSIENT]
"""A field of a dataclass that is not kept; it needs a default."""


class Stateful:
    """Gives a class `to_state` and `load_state` by the annotations of its attributes; see the module.

    Attributes
    ----------
    state_name
        What the state is of, in messages; by default the name of the class.
    state_version
        Number of the format, written from 2 on.
    """

    __slots__ = ()
    state_name: ClassVar[str] = ""
    state_version: ClassVar[int] = 1

    def to_state(self) -> State:
        """Return what the object keeps as plain values.

        They may share lists with the object: write or copy them before it changes.
        """
        state: State = to_state(self)
        return state

    def load_state(self, state: State) -> None:
        """Take over what `to_state` returned.

        Raises
        ------
        CorruptState
            If a field is missing, unknown or malformed, or if the state is of a later version.
        """
        load_state(self, state)

    @classmethod
    def migrate(cls, state: State, version: int) -> State:
        """Return a state of an older version as the present one would have written it."""
        raise CorruptState(f"{_name_of(cls)}: cannot read states of version {version}")

    def after_load(self) -> None:
        """Make what follows from the state, and raise ValueError if its parts do not fit each other."""


def to_state(value: Any) -> Any:
    """Return a dataclass or `Stateful` as plain values."""
    return _record_of(type(value)).pack(value)


def from_state(cls: type[T], state: Any) -> T:
    """Return the dataclass `to_state` stored.

    Raises
    ------
    CorruptState
        If a field is missing (and has no default), unknown or malformed; the message names it.
    """
    made: T = _record_of(cls).unpack(state)
    return made


def load_state(value: Any, state: Any) -> None:
    """Give an object the state of another, in place.

    Raises
    ------
    CorruptState
        As `from_state`; fields have no defaults here.
    """
    _record_of(type(value)).load(value, state)


def pack_array(array: NDArray[Any]) -> State:
    """Return a dense array as shape, little-endian dtype and bytes."""
    plain = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    return {"shape": list(array.shape), "dtype": plain.dtype.str, "data": plain.tobytes()}


def unpack_array(state: State) -> NDArray[Any]:
    """Return the array `pack_array` stored.

    Raises
    ------
    CorruptState
        If shape, dtype and length disagree.
    """
    try:
        flat = np.frombuffer(state["data"], dtype=np.dtype(state["dtype"]))
        return flat.reshape(state["shape"]).astype(flat.dtype.newbyteorder("="))
    except (KeyError, TypeError, ValueError) as exc:
        raise CorruptState(f"array state: shape, dtype and data must agree, got {exc}") from exc


def pack_sparse(matrix: NDArray[np.float64]) -> State:
    """Return a mostly zero matrix of shape (n, m) as its non-zero cells in row order."""
    cells = np.flatnonzero(matrix)
    values = np.ascontiguousarray(matrix).ravel()[cells]
    return {"shape": list(matrix.shape), "cells": pack_array(cells), "values": pack_array(values)}


def unpack_sparse(state: State) -> NDArray[np.float64]:
    """Return the matrix `pack_sparse` stored.

    Raises
    ------
    CorruptState
        If a cell lies outside the shape or the parts disagree.
    """
    try:
        matrix = np.zeros(state["shape"], dtype=np.float64)
        matrix.reshape(-1)[unpack_array(state["cells"])] = unpack_array(state["values"])
    except (KeyError, TypeError, ValueError, IndexError) as exc:
        raise CorruptState(f"matrix state: cells and values must fit the shape, got {exc}") from exc
    return matrix


def digest(state: State) -> str:
    """Return the sha256 of the canonical bytes of a state, hexadecimal; equal states give equal digests."""
    return hashlib.sha256(msgpack.packb(_sorted(state))).hexdigest()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in value]
    return value


# From here on: one codec a type, made once from its annotation. Tables of a big site have some 100,000 rows,
# so codecs also take many values at once, and stay in C where rows are numbers and texts only.


class _Codec:
    """Writes and reads the values of one type; this one takes them as they are."""

    is_plain = True
    """Whether values are written as they are."""
    is_leaf = True
    """Whether values hold no others, so that their types are all there is to check."""

    def pack(self, value: Any) -> Any:
        return value

    def unpack(self, plain: Any) -> Any:
        return plain

    def pack_all(self, values: Iterable[Any]) -> list[Any]:
        return list(values) if self.is_plain else list(map(self.pack, values))

    def unpack_all(self, plain: Sequence[Any]) -> list[Any]:
        return list(_sequence(plain)) if self.is_leaf else list(map(self.unpack, _sequence(plain)))

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


class _Scalar(_Codec):
    def __init__(self, *accepted: type[Any]) -> None:
        self.accepted = frozenset(accepted)

    def unpack(self, plain: Any) -> Any:
        if type(plain) not in self.accepted:
            raise self._wanted(plain)
        return plain

    def unpack_all(self, plain: Sequence[Any]) -> list[Any]:
        self.check(_sequence(plain))
        return list(plain)

    def check(self, values: Collection[Any]) -> None:
        if not self.accepted.issuperset(map(type, values)):
            raise self._wanted(next(value for value in values if type(value) not in self.accepted))

    def _wanted(self, plain: Any) -> ValueError:
        names = sorted(kind.__name__ for kind in self.accepted if kind is not bool) or ["bool"]
        return ValueError(f"want {' or '.join(names)}, got {plain!r:.100}")


class _Sequence(_Codec):
    """Lists, sets and deques of one type; tuples of any length."""

    width = None
    is_leaf = False

    def __init__(self, item: _Codec, made: Callable[[list[Any]], Any], *, is_set: bool = False) -> None:
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
        if not self.item.is_leaf or not {list, tuple}.issuperset(map(type, _sequence(plain))):
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


class _Tuple(_Codec):
    """Tuples of a fixed length, NamedTuples and flat dataclasses."""

    is_leaf = False

    def __init__(
        self, items: Sequence[_Codec], made: Callable[..., Any], cells: Callable[[Any], Iterable[Any]]
    ):
        self.items, self.made, self.of, self.width = items, made, cells, len(items)
        self.is_plain = made is tuple and all(item.is_plain for item in items)

    def pack(self, value: Any) -> Any:
        return value if self.is_plain else self.cells(value)

    def unpack(self, plain: Any) -> Any:
        return self.of_cells(_sequence(plain))

    def cells(self, value: Any) -> list[Any]:
        return [item.pack(cell) for item, cell in zip(self.items, self.of(value), strict=True)]

    def of_cells(self, cells: Sequence[Any]) -> Any:
        if len(cells) != len(self.items):
            raise ValueError(f"want {len(self.items)} values, got {cells!r:.100}")
        found = [item.unpack(cell) for item, cell in zip(self.items, cells, strict=True)]
        return tuple(found) if self.made is tuple else self.made(*found)


class _Map(_Codec):
    """Dicts: by name, as pairs, as keys alone, as flat rows, or as two lists."""

    is_leaf = False

    def __init__(self, name: _Codec, item: _Codec, made: type[Any], layout: str) -> None:
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
                return self.filled([self._row(_sequence(row)) for row in _sequence(plain)])
            case _ if self.name.is_leaf and self.item.is_leaf:
                found = self.filled(_sequence(plain))
                self.name.check(found)
                self.item.check(found.values())
                return found
            case _:
                names = [at for at, _ in _sequence(plain)]
                return self.of_columns(names, [one for _, one in plain])

    def of_columns(self, names: Sequence[Any], values: Sequence[Any]) -> Any:
        return self.filled(zip(self.name.unpack_all(names), self.item.unpack_all(values), strict=True))

    def load(self, value: Any, plain: Any) -> Any:
        if not isinstance(self.item, _Part) or not self.item.in_place or not isinstance(value, dict):
            return self.unpack(plain)
        for at, part in value.items():
            part.load_state(plain[at])
        return value

    def filled(self, items: Any) -> Any:
        return Counter(dict(items)) if self.made is Counter else self.made(items)

    def _row(self, row: Sequence[Any]) -> tuple[Any, Any]:
        n = self.name.width
        return self.name.of_cells(row[:n]), self.item.of_cells(row[n:])


class _Array(_Codec):
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


class _Enum(_Codec):
    is_plain = is_leaf = False

    def __init__(self, kind: type[Enum]) -> None:
        self.kind = kind

    def pack(self, value: Any) -> Any:
        return value.value

    def unpack(self, plain: Any) -> Any:
        return self.kind(plain)


class _Optional(_Codec):
    is_leaf = False

    def __init__(self, item: _Codec) -> None:
        self.item, self.is_plain = item, item.is_plain

    def pack(self, value: Any) -> Any:
        return None if value is None else self.item.pack(value)

    def unpack(self, plain: Any) -> Any:
        return None if plain is None else self.item.unpack(plain)


class _Part(_Codec):
    """Objects that know their state themselves."""

    is_plain = is_leaf = False

    def __init__(self, kind: Any) -> None:
        self.kind, self.in_place = kind, hasattr(kind, "load_state")

    def pack(self, value: Any) -> Any:
        return value.to_state()

    def unpack(self, plain: Any) -> Any:
        return (
            self.kind.from_state(plain) if hasattr(self.kind, "from_state") else from_state(self.kind, plain)
        )

    def load(self, value: Any, plain: Any) -> Any:
        if not self.in_place or value is None:
            return self.unpack(plain)
        value.load_state(plain)
        return value


class _Field(typing.NamedTuple):
    attribute: str
    codec: _Codec


class _Record(_Codec):
    """Dataclasses and `Stateful`s as dicts by field."""

    is_plain = is_leaf = False

    def __init__(self, cls: type[Any]) -> None:
        self.cls, self.title = cls, _name_of(cls)
        self.version: int = getattr(cls, _VERSION, 1)
        self.is_frozen = is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
        self.groups: dict[tuple[str, ...], list[_Field]] = {}
        for attribute, hint, names in _kept(cls):
            self.groups.setdefault(names, []).append(_Field(attribute, _codec(hint)))
        self.names = frozenset(chain.from_iterable(self.groups))
        self.defaults = _defaults(cls)

    def pack(self, value: Any) -> State:
        state: State = {_VERSION: self.version} if self.version > 1 else {}
        for names, parts in self.groups.items():
            if len(parts) > 1:
                state[names[0]] = [codec.pack(getattr(value, attribute)) for attribute, codec in parts]
                continue
            attribute, codec = parts[0]
            if len(names) == 2:
                state[names[0]], state[names[1]] = codec.columns(getattr(value, attribute))  # type: ignore
            else:
                state[names[0]] = codec.pack(getattr(value, attribute))
        return state

    def unpack(self, plain: Any) -> Any:
        made = self.cls(**dict(self._read(plain, None)))
        self._finish(made)
        return made

    def load(self, value: Any, plain: Any) -> Any:
        if self.is_frozen:
            return self.unpack(plain)
        for attribute, found in self._read(plain, value):
            setattr(value, attribute, found)
        self._finish(value)
        return value

    def _finish(self, value: Any) -> None:
        if hasattr(value, "after_load"):
            try:
                value.after_load()
            except _MALFORMED as exc:
                raise CorruptState(f"{self.title}: {exc}") from exc

    def _read(self, plain: Any, value: Any) -> Iterator[tuple[str, Any]]:
        """Yield attributes and what is read for them; parts of `value` are filled in place."""
        state = self._current(plain)
        for names, parts in self.groups.items():
            if (
                value is None
                and names[0] not in state
                and self.defaults.issuperset(part.attribute for part in parts)
            ):
                continue
            try:
                yield from self._group(names, parts, state, value)
            except KeyError as exc:
                raise CorruptState(f"{self.title}: field {exc} is missing or malformed") from exc
            except (CorruptState, *_MALFORMED) as exc:
                raise CorruptState(f"{self.title}: field {names[0]!r}: {exc}") from exc

    def _group(
        self, names: tuple[str, ...], parts: list[_Field], state: State, value: Any
    ) -> Iterator[tuple[str, Any]]:
        if len(parts) > 1:
            for (attribute, codec), cell in zip(parts, _sequence(state[names[0]]), strict=True):
                yield attribute, self._one(codec, value, attribute, cell)
            return
        attribute, codec = parts[0]
        if len(names) == 2:
            assert isinstance(codec, _Map)
            yield attribute, codec.of_columns(_sequence(state[names[0]]), _sequence(state[names[1]]))
        else:
            yield attribute, self._one(codec, value, attribute, state[names[0]])

    @staticmethod
    def _one(codec: _Codec, value: Any, attribute: str, plain: Any) -> Any:
        return codec.unpack(plain) if value is None else codec.load(getattr(value, attribute, None), plain)

    def _current(self, plain: Any) -> State:
        if not isinstance(plain, dict):
            raise CorruptState(f"{self.title}: want a dict of {sorted(self.names)}, got {plain!r:.100}")
        version = plain.get(_VERSION, 1)
        if version != self.version:
            if not isinstance(version, int) or version > self.version:
                rule = f"this linkscore reads versions up to {self.version}"
                raise CorruptState(f"{self.title}: {rule}, got {version!r}")
            plain = self.cls.migrate({name: plain[name] for name in plain if name != _VERSION}, version)
        if unknown := [name for name in plain if name not in self.names and name != _VERSION]:
            raise CorruptState(f"{self.title}: unknown fields {sorted(map(str, unknown))}")
        return dict(plain)


def _record_of(cls: Any) -> _Record:
    found = _RECORDS.get(cls)
    if found is None:
        found = _RECORDS[cls] = _Record(cls)
    return found


_RECORDS: dict[Any, _Record] = {}


def _name_of(cls: type[Any]) -> str:
    """Return the name of a class in words: ``target arms`` for ``TargetArms``."""
    return (
        getattr(cls, "state_name", "")
        or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cls.__name__.lstrip("_")).lower()
    )


def _kept(cls: type[Any]) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """Yield the attributes a class keeps with their annotations and names on the disk."""
    hints = typing.get_type_hints(cls, include_extras=True)
    own = {field.name for field in fields(cls)} if is_dataclass(cls) else set()
    for attribute, hint in hints.items():
        marks = getattr(hint, "__metadata__", ())
        named = [mark for mark in marks if isinstance(mark, stored_as)]
        if (attribute in own or named) and _TRANSIENT not in marks:
            names = next((mark.names for mark in named if mark.names), (attribute.lstrip("_"),))
            yield attribute, hint, names


def _defaults(cls: type[Any]) -> frozenset[str]:
    if not is_dataclass(cls):
        return frozenset()
    return frozenset(
        field.name
        for field in fields(cls)
        if field.default is not MISSING or field.default_factory is not MISSING
    )


def _codec(hint: Any) -> _Codec:
    """Return the codec of an annotation."""
    marks: tuple[Any, ...] = getattr(hint, "__metadata__", ())
    kind = hint.__origin__ if marks else hint
    origin, args = typing.get_origin(kind) or kind, typing.get_args(kind)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if origin is typing.Union or origin is types.UnionType:
        return _union(args)
    if origin is typing.Literal:
        return _Scalar(*{type(arg) for arg in args})
    if isinstance(origin, type) and issubclass(origin, np.ndarray):
        dtype = typing.get_args(args[1])[0] if len(args) > 1 and typing.get_args(args[1]) else None
        return _Array(dtype, sparse=_SPARSE in marks)
    if not isinstance(origin, type):
        raise TypeError(f"no codec for {hint}")
    return _codec_of_class(origin, args, flat=_FLAT in marks)


def _codec_of_class(origin: type[Any], args: tuple[Any, ...], *, flat: bool) -> _Codec:
    if hasattr(origin, "to_state") and not flat:
        return _Part(origin)
    if is_dataclass(origin):
        return _flat_record(origin) if flat else _record_of(origin)
    if issubclass(origin, Enum):
        return _Enum(origin)
    if hasattr(origin, "_fields"):
        return _Tuple([_codec(hint) for hint in typing.get_type_hints(origin).values()], origin, tuple)
    if issubclass(origin, dict) or origin is Mapping:
        return _map(origin, args, flat=flat)
    if issubclass(origin, tuple) and args[1:] != (...,):
        return _Tuple([_codec(arg) for arg in args], tuple, tuple)
    if issubclass(origin, set | frozenset):
        return _Sequence(_codec(args[0]), origin, is_set=True)
    if issubclass(origin, list | tuple | deque) or origin is Sequence:
        return _Sequence(_codec(args[0]), list if origin is Sequence else origin)
    raise TypeError(f"no codec for {origin}: it is no dataclass and has no to_state")


def _union(args: Sequence[Any]) -> _Codec:
    codecs = [_codec(arg) for arg in args if arg is not types.NoneType]
    if len(codecs) == 1:
        return _Optional(codecs[0])
    if all(isinstance(codec, _Scalar) for codec in codecs):
        found = _Scalar(*chain.from_iterable(codec.accepted for codec in codecs))  # type: ignore[attr-defined]
        return _Optional(found) if types.NoneType in args else found
    raise TypeError(f"no codec for a union of {args}")


def _map(origin: type[Any], args: tuple[Any, ...], *, flat: bool) -> _Codec:
    made = dict if origin is Mapping else origin
    name, item = _codec(args[0]), _codec(args[1]) if len(args) > 1 else _SCALARS[int]
    if len(args) > 1 and args[1] in (None, types.NoneType):
        return _Map(name, item, made, "keys")
    if flat:
        return _Map(name, _flat_record(args[1]) if is_dataclass(args[1]) else item, made, "flat")
    by_name = args[0] is str and not issubclass(made, OrderedDict)
    return _Map(name, item, made, "map" if by_name else "pairs")


def _flat_record(cls: Any) -> _Codec:
    kept = list(_kept(cls))
    names = [attribute for attribute, _, _ in kept]

    def made(*values: Any) -> Any:
        return cls(**dict(zip(names, values, strict=True)))

    def cells(value: Any) -> list[Any]:
        return [getattr(value, name) for name in names]

    return _Tuple([_codec(hint) for _, hint, _ in kept], made, cells)


_SCALARS: dict[Any, _Codec] = {
    Any: _Codec(),
    object: _Codec(),
    int: _Scalar(int, bool),
    float: _Scalar(float, int, bool),
    bool: _Scalar(bool),
    str: _Scalar(str),
    bytes: _Scalar(bytes),
    None: _Scalar(types.NoneType),
    types.NoneType: _Scalar(types.NoneType),
}


def _sequence(plain: Any) -> Sequence[Any]:
    if not isinstance(plain, list | tuple):
        raise ValueError(f"want a list, got {plain!r:.100}")
    return plain
