"""A part of a state whose kind only its reader knows."""

from __future__ import annotations

from typing import Any, TypeVar

from linkscore_scoring.state.arrays import State
from linkscore_scoring.state.stateful import from_state

_T = TypeVar("_T")


class Opaque:
    """Plain values that an annex wrote: kept as they are, and read when the annex asks.

    Parameters
    ----------
    plain
        What `to_state` gave for a value.
    value
        That value, if it is at hand.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Span:
    ...     days: int
    >>> kept = Opaque({"days": 3})
    >>> kept.as_a(Span), kept.to_state()
    (Span(days=3), {'days': 3})
    """

    __slots__ = ("_plain", "_value")

    def __init__(self, plain: State, value: Any = None) -> None:
        self._plain = plain
        self._value = value

    def as_a(self, kind: type[_T]) -> _T:
        """Return the value, which nobody may change.

        Raises
        ------
        CorruptState
            If it is none of this kind.
        """
        if self._value is None:
            self._value = from_state(kind, self._plain)
        found: _T = self._value
        return found

    def to_state(self) -> State:
        """Return the plain values."""
        return self._plain

    @classmethod
    def from_state(cls, state: State) -> Opaque:
        """Keep plain values."""
        return cls(state)
