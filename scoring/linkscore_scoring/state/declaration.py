"""What the annotations of a class say it keeps, and under which names."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class stored_as:
    """Mark of an attribute that is kept: under one name, under two as keys and values, or under its own."""

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", names)


FLAT, SPARSE, TRANSIENT = object(), object(), object()  # marks in annotations
Stored = Annotated[T, stored_as()]
"""An attribute that is kept; fields of dataclasses are without saying so."""
Flat = Annotated[T, FLAT]
"""A dict as rows of key and value, a dataclass as the list of its fields."""
Sparse = Annotated[T, SPARSE]
"""A matrix that is mostly zero."""
Transient = Annotated[T, TRANSIENT]
"""A field of a dataclass that is not kept; it needs a default."""


def kept_attributes(cls: type[Any]) -> Iterator[tuple[str, Any, tuple[str, ...]]]:
    """Yield the attributes a class keeps with their annotations and names on the disk."""
    hints = typing.get_type_hints(cls, include_extras=True)
    own = {field.name for field in fields(cls)} if is_dataclass(cls) else set()
    for attribute, hint in hints.items():
        marks = getattr(hint, "__metadata__", ())
        named = [mark for mark in marks if isinstance(mark, stored_as)]
        if (attribute in own or named) and TRANSIENT not in marks:
            names = next((mark.names for mark in named if mark.names), (attribute.lstrip("_"),))
            yield attribute, hint, names


def name_of(cls: type[Any]) -> str:
    """Return the name of a class in words: ``target arms`` for ``TargetArms``."""
    return (
        getattr(cls, "state_name", "")
        or re.sub(r"(?<=[a-z])(?=[A-Z])", " ", cls.__name__.lstrip("_")).lower()
    )
