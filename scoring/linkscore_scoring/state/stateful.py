"""State of objects: what a class is given by its annotations, and functions for dataclasses."""

from __future__ import annotations

import hashlib
from typing import Any, ClassVar, TypeVar

import msgpack

from linkscore_scoring.state.arrays import State
from linkscore_scoring.state.records import record_of

T = TypeVar("T")


class Stateful:
    """Gives a class `to_state` and `load_state` by the annotations of its attributes; see the package.

    Attributes
    ----------
    state_name
        What the state is of, in messages; by default the name of the class.
    """

    __slots__ = ()
    state_name: ClassVar[str] = ""

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
            If a field is missing, unknown or malformed.
        """
        load_state(self, state)

    def after_load(self) -> None:
        """Make what follows from the state, and raise ValueError if its parts do not fit each other."""


def to_state(value: Any) -> Any:
    """Return a dataclass or `Stateful` as plain values."""
    return record_of(type(value)).pack(value)


def from_state(cls: type[T], state: Any) -> T:
    """Return the dataclass `to_state` stored.

    Raises
    ------
    CorruptState
        If a field is missing (and has no default), unknown or malformed; the message names it.
    """
    made: T = record_of(cls).unpack(state)
    return made


def load_state(value: Any, state: Any) -> None:
    """Give an object the state of another, in place.

    Raises
    ------
    CorruptState
        As `from_state`; fields have no defaults here.
    """
    record_of(type(value)).load(value, state)


def digest(state: State) -> str:
    """Return the sha256 of the canonical bytes of a state, hexadecimal; equal states give equal digests."""
    return hashlib.sha256(msgpack.packb(_sorted(state))).hexdigest()


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list | tuple):
        return [_sorted(item) for item in value]
    return value
