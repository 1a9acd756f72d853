"""Codecs of classes, dict by field, and the codec of any annotation; each class is looked at once."""

from __future__ import annotations

import types
import typing
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from itertools import chain
from typing import Any

import numpy as np

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.state.arrays import State
from linkscore_scoring.state.codecs import (
    SCALARS,
    ArrayCodec,
    Codec,
    EnumCodec,
    ListCodec,
    MapCodec,
    OptionalCodec,
    ScalarCodec,
    TupleCodec,
    checked_list,
)
from linkscore_scoring.state.declaration import FLAT, SPARSE, kept_attributes, name_of

_MALFORMED = (LookupError, TypeError, ValueError, AttributeError)


class _PartCodec(Codec):
    """Objects that know their state themselves."""

    is_plain = is_leaf = False

    def __init__(self, kind: Any) -> None:
        self.kind, self.in_place = kind, hasattr(kind, "load_state")

    def pack(self, value: Any) -> Any:
        return value.to_state()

    def unpack(self, plain: Any) -> Any:
        if hasattr(self.kind, "from_state"):
            return self.kind.from_state(plain)
        return record_of(self.kind).unpack(plain)

    def load(self, value: Any, plain: Any) -> Any:
        if not self.in_place or value is None:
            return self.unpack(plain)
        value.load_state(plain)
        return value


class _Field(typing.NamedTuple):
    attribute: str
    codec: Codec


class RecordCodec(Codec):
    """Dataclasses and `Stateful`s as dicts by field."""

    is_plain = is_leaf = False

    def __init__(self, cls: type[Any]) -> None:
        self.cls, self.title = cls, name_of(cls)
        self.is_frozen = is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]
        self.groups: dict[tuple[str, ...], list[_Field]] = {}
        for attribute, hint, names in kept_attributes(cls):
            self.groups.setdefault(names, []).append(_Field(attribute, _codec(hint)))
        self.names = frozenset(chain.from_iterable(self.groups))
        self.defaults = _defaults(cls)

    def pack(self, value: Any) -> State:
        state: State = {}
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
            for (attribute, codec), cell in zip(parts, checked_list(state[names[0]]), strict=True):
                yield attribute, self._one(codec, value, attribute, cell)
            return
        attribute, codec = parts[0]
        if len(names) == 2:
            assert isinstance(codec, MapCodec)
            yield attribute, codec.of_columns(checked_list(state[names[0]]), checked_list(state[names[1]]))
        else:
            yield attribute, self._one(codec, value, attribute, state[names[0]])

    @staticmethod
    def _one(codec: Codec, value: Any, attribute: str, plain: Any) -> Any:
        return codec.unpack(plain) if value is None else codec.load(getattr(value, attribute, None), plain)

    def _current(self, plain: Any) -> State:
        if not isinstance(plain, dict):
            raise CorruptState(f"{self.title}: want a dict of {sorted(self.names)}, got {plain!r:.100}")
        if unknown := [name for name in plain if name not in self.names]:
            raise CorruptState(f"{self.title}: unknown fields {sorted(map(str, unknown))}")
        return plain


def record_of(cls: Any) -> RecordCodec:
    """Return the codec of a dataclass or `Stateful`, made when it is first asked for."""
    found = _RECORDS.get(cls)
    if found is None:
        found = _RECORDS[cls] = RecordCodec(cls)
    return found


_RECORDS: dict[Any, RecordCodec] = {}


def _defaults(cls: type[Any]) -> frozenset[str]:
    if not is_dataclass(cls):
        return frozenset()
    return frozenset(
        field.name
        for field in fields(cls)
        if field.default is not MISSING or field.default_factory is not MISSING
    )


def _codec(hint: Any) -> Codec:
    """Return the codec of an annotation."""
    marks: tuple[Any, ...] = getattr(hint, "__metadata__", ())
    kind = _meant(hint.__origin__ if marks else hint)
    origin, args = typing.get_origin(kind) or kind, typing.get_args(kind)
    if kind in SCALARS:
        return SCALARS[kind]
    if origin is typing.Union or origin is types.UnionType:
        return _union(args)
    if origin is typing.Literal:
        return ScalarCodec(*{type(arg) for arg in args})
    if isinstance(origin, type) and issubclass(origin, np.ndarray):
        dtype = typing.get_args(args[1])[0] if len(args) > 1 and typing.get_args(args[1]) else None
        return ArrayCodec(dtype, sparse=SPARSE in marks)
    if not isinstance(origin, type):
        raise TypeError(f"no codec for {hint}")
    return _codec_of_class(origin, args, flat=FLAT in marks)


def _meant(kind: Any) -> Any:
    """Return what an alias stands for: from Python 3.12 on `NDArray` of numpy 2.5 is one."""
    value = getattr(typing.get_origin(kind), "__value__", None)
    return kind if value is None else value[typing.get_args(kind)]


def _codec_of_class(origin: type[Any], args: tuple[Any, ...], *, flat: bool) -> Codec:
    if hasattr(origin, "to_state") and not flat:
        return _PartCodec(origin)
    if is_dataclass(origin):
        return _flat_record(origin) if flat else record_of(origin)
    if issubclass(origin, Enum):
        return EnumCodec(origin)
    if hasattr(origin, "_fields"):
        return TupleCodec([_codec(hint) for hint in typing.get_type_hints(origin).values()], origin, tuple)
    if issubclass(origin, dict) or origin is Mapping:
        return _map(origin, args, flat=flat)
    if issubclass(origin, tuple) and args[1:] != (...,):
        return TupleCodec([_codec(arg) for arg in args], tuple, tuple)
    if issubclass(origin, set | frozenset):
        return ListCodec(_codec(args[0]), origin, is_set=True)
    if issubclass(origin, list | tuple | deque) or origin is Sequence:
        return ListCodec(_codec(args[0]), list if origin is Sequence else origin)
    raise TypeError(f"no codec for {origin}: it is no dataclass and has no to_state")


def _union(args: Sequence[Any]) -> Codec:
    codecs = [_codec(arg) for arg in args if arg is not types.NoneType]
    if len(codecs) == 1:
        return OptionalCodec(codecs[0])
    if all(isinstance(codec, ScalarCodec) for codec in codecs):
        found = ScalarCodec(*chain.from_iterable(codec.accepted for codec in codecs))  # type: ignore[attr-defined]
        return OptionalCodec(found) if types.NoneType in args else found
    raise TypeError(f"no codec for a union of {args}")


def _map(origin: type[Any], args: tuple[Any, ...], *, flat: bool) -> Codec:
    made = dict if origin is Mapping else origin
    name, item = _codec(args[0]), _codec(args[1]) if len(args) > 1 else SCALARS[int]
    if len(args) > 1 and args[1] in (None, types.NoneType):
        return MapCodec(name, item, made, "keys")
    if flat:
        return MapCodec(name, _flat_record(args[1]) if is_dataclass(args[1]) else item, made, "flat")
    by_name = args[0] is str and not issubclass(made, OrderedDict)
    return MapCodec(name, item, made, "map" if by_name else "pairs")


def _flat_record(cls: Any) -> Codec:
    kept = list(kept_attributes(cls))
    names = [attribute for attribute, _, _ in kept]

    def made(*values: Any) -> Any:
        return cls(**dict(zip(names, values, strict=True)))

    def cells(value: Any) -> list[Any]:
        return [getattr(value, name) for name in names]

    return TupleCodec([_codec(hint) for _, hint, _ in kept], made, cells)
