"""State by annotation: what a class keeps, as plain values and bytes, and back.

A class lists what it keeps and needs no code for it. Values are of any type that msgspec takes, arrays,
deques, and objects that write themselves by `to_state`. Numbers begin at 0, texts and tables empty:

>>> class Visits(Stateful):
...     count: Stored[int]
...     _latest: Stored[dict[int, tuple[float, bool]]]
>>> visits = Visits()
>>> visits.count, visits._latest = 2, {7: (0.5, True)}
>>> visits.to_state()
{'count': 2, 'latest': {7: (0.5, True)}}
>>> again = Visits()
>>> again.load_state(unpacked(packed(visits.to_state())))
>>> again._latest == visits._latest
True
>>> again.load_state({"count": "two", "latest": {}})
Traceback (most recent call last):
...
linkscore_scoring.errors.CorruptState: visits: field 'count': Expected `int`, got `str`

A name in the state is the attribute's without leading underscore. A dataclass keeps all, sets in any order.
"""

from __future__ import annotations

import re
import threading
import typing
from collections import Counter, OrderedDict, deque
from dataclasses import fields, is_dataclass
from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Self, TypeVar, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import MALFORMED, CorruptState, reading_state

T = TypeVar("T")
State = dict[str, Any]
"""Plain values by name: dict, list, tuple, str, int, float, bool, bytes and None."""
_STORED = object()
Stored = Annotated[T, _STORED]
"""An attribute that is kept."""
_MOST_CELLS = 1 << 24
"""A bound: cells of a matrix of which only those that are not zero are written, 128 MB. Templates have 4,000
columns at most, and a row each."""
_EMPTY = (int, float, bool, str, dict, list, set, deque, Counter, OrderedDict)
"""Types that begin empty."""


class Stateful:
    """Gives a class `to_state` and `load_state` by its annotations."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Return an object whose numbers, texts and tables are there, and empty."""
        made, known = super().__new__(cls), cast(Any, cls)
        for attribute, kind in _empties(known):
            setattr(made, attribute, kind())
        return made

    def to_state(self) -> State:
        """Return what the object keeps as plain values of their own."""
        return plain(self.state_parts())

    def state_parts(self) -> State:
        """Return what the object keeps as it is, for `packed`; sets are sorted."""
        cls: Any = type(self)
        kept = ((name, getattr(self, attribute)) for name, attribute, _ in _kept(cls))
        return {name: sorted(part) if isinstance(part, set | frozenset) else part for name, part in kept}

    def load_state(self, state: State) -> None:
        """Take over what `to_state` returned; parts that read their state themselves do so where they are.

        Raises `CorruptState` if a field is missing, unknown or malformed.
        """
        cls: Any = type(self)
        kept, title = _kept(cls), _title(cls)
        if not isinstance(state, dict) or state.keys() != {name for name, _, _ in kept}:
            names = sorted(name for name, _, _ in kept)
            raise CorruptState(f"{title}: want the fields {names}, got {state!r:.200}")
        for name, attribute, hint in kept:
            part: Any = getattr(self, attribute, None)
            try:
                if hasattr(part, "load_state") and state[name] is not None:
                    part.load_state(state[name])
                    continue
                found = _read(hint, state[name])
                setattr(self, attribute, deque(found, part.maxlen) if isinstance(part, deque) else found)
            except MALFORMED as exc:
                raise CorruptState(f"{title}: field {name!r}: {exc}") from exc
        with reading_state(title):
            self.after_load()

    def after_load(self) -> None:
        """Make what follows from the state, and raise ValueError if its parts do not fit each other."""


def plain(value: Any) -> State:
    """Return an object as plain values of their own."""
    if hasattr(value, "to_state") and not is_dataclass(value):
        return cast(State, value.to_state())
    return cast(State, msgspec.to_builtins(value, builtin_types=(bytes,), enc_hook=_written))


def from_state(cls: type[T], state: Any) -> T:
    """Return the value that `plain` gave.

    Raises `CorruptState` if a field is missing (and has no default) or malformed; the message names it.
    """
    with reading_state(_title(cast(Any, cls))):
        return cast(T, _read(cls, state))


def packed(state: Any) -> bytes:
    """Return values as bytes of msgpack: plain ones, or objects that write themselves, without a copy."""
    return msgspec.msgpack.encode(state, enc_hook=_written)


def unpacked(raw: bytes) -> Any:
    """Return the plain values of some bytes; lists stand for tuples.

    Raises `CorruptState` if the bytes end early or are no msgpack.
    """
    with reading_state("state"):
        return msgspec.msgpack.decode(raw)


def pack_array(array: NDArray[Any]) -> State:
    """Return an array as shape, little-endian dtype and bytes; of mostly zero matrices other cells."""
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    found: State = {"shape": list(array.shape), "dtype": little.dtype.str}
    if array.ndim == 2 and 4 * np.count_nonzero(little) < array.size:
        cells = np.flatnonzero(little)
        return {**found, "cells": cells.astype("<u4").tobytes(), "data": little.ravel()[cells].tobytes()}
    return {**found, "data": little.tobytes()}


def unpack_array(state: State) -> NDArray[Any]:
    """Return the array `pack_array` stored.

    Raises `CorruptState` if shape, dtype and length disagree.
    """
    with reading_state("array: shape, dtype and data must agree"):
        data = np.frombuffer(state["data"], np.dtype(state["dtype"]))
        if "cells" in state:
            rows, columns = state["shape"]
            if not 0 <= rows * columns <= _MOST_CELLS:
                raise ValueError(f"{rows} x {columns} cells are more than {_MOST_CELLS}")
            cells, values = np.frombuffer(state["cells"], "<u4"), data
            data = np.zeros(rows * columns, values.dtype)
            data[cells] = values
        return data.reshape(state["shape"]).astype(data.dtype.newbyteorder("="))


_ALIKE: tuple[tuple[type[Any], type[Any]], ...] = ((deque, list), (Counter, dict), (OrderedDict, dict))
"""Types that msgspec does not read, and as what it reads them."""


@cache
def _kept(cls: Any) -> tuple[tuple[str, str, Any], ...]:
    """Return name in the state, attribute and type of what a class keeps."""
    hints, plain = typing.get_type_hints(cls, include_extras=True), typing.get_type_hints(cls)
    own = [field.name for field in fields(cls)] if is_dataclass(cls) else []
    marked = [name for name, hint in hints.items() if _STORED in getattr(hint, "__metadata__", ())]
    return tuple((name.lstrip("_"), name, plain[name]) for name in dict.fromkeys([*own, *marked]))


@cache
def _empties(cls: Any) -> tuple[tuple[str, type[Any]], ...]:
    """Return attribute and type of what a class keeps that begins empty; fields of a dataclass do not."""
    kept = () if is_dataclass(cls) else _kept(cls)
    kinds = ((name, typing.get_origin(hint) or hint) for _, name, hint in kept)
    return tuple((name, kind) for name, kind in kinds if kind in _EMPTY)


@cache
def _title(cls: Any) -> str:
    """Return the name of a class in words: ``target arms`` for ``TargetArms``."""
    name = getattr(cls, "__name__", str(cls)).lstrip("_")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


_MEETING = threading.Lock()


@cache
def _met(kind: Any) -> Any:
    """Return a type of which msgspec knows all: two threads that meet one at once end the process."""
    with _MEETING:
        msgspec.msgpack.Decoder(kind, dec_hook=_made)
    return kind


def _read(kind: Any, state: Any) -> Any:
    return msgspec.convert(state, _met(kind), dec_hook=_made)


def _written(value: Any) -> Any:
    """Return what msgspec does not write itself as what it does."""
    if isinstance(value, Stateful) and type(value).to_state is Stateful.to_state:
        return value.state_parts()
    if hasattr(value, "to_state"):
        return value.to_state()
    if isinstance(value, np.ndarray):
        return pack_array(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, deque):
        return list(value)
    raise TypeError(f"{type(value).__name__} is no dataclass and has no to_state")


def _made(kind: Any, state: Any) -> Any:
    """Return a value of a type that msgspec does not read itself."""
    origin, args = typing.get_origin(kind) or kind, typing.get_args(kind)
    if issubclass(origin, np.ndarray):
        array, dtype = unpack_array(state), typing.get_args(args[1])
        if dtype and array.dtype != np.dtype(dtype[0]):
            raise ValueError(f"want an array of {np.dtype(dtype[0])}, got {array.dtype}")
        return array
    for made, alike in _ALIKE:
        if issubclass(origin, made):
            return origin(_read(GenericAlias(alike, (*args, int) if made is Counter else args), state))
    if hasattr(origin, "from_state"):
        return origin.from_state(state)
    made = origin()
    made.load_state(state)
    return made
