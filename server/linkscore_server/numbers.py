"""Every number of every request is finite and within bounds, by one table; checked before a service has it.

Numbers of 32 bits need no bound: none overflows what is made of it. Those of pages and feedback are checked
one by one, where they are read: one that is wrong does not cost the rest of its call.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from linkscore_scoring.errors import FieldProblem

_MOST_FLOAT = 1e12
"""Of a number without a bound of its own: sums of a billion of them are far from infinite. A bound."""
_MOST_INT = 1 << 53
"""Of a whole number of 64 bits: those above are not exact as JSON has them, nor as floats. A bound."""
_MOST_SECONDS = 100 * 365 * 86_400
"""Of a duration: a century. A bound."""
_MOST = {
    "linkscore.v1.Page.fetched_bytes": 1 << 40,
    "linkscore.v1.Budget.fetch_cost": 1e9,
    "linkscore.v1.Revisit.fetches_per_day": 1e9,
    "google.protobuf.Timestamp.seconds": 253_402_300_799,  # the year 9999
    "linkscore.v1.Crawl.seed": (1 << 64) - 1,
}
"""Bounds of their own."""
_ONE_BY_ONE = frozenset({"linkscore.v1.Page", "linkscore.v1.Feedback"})
_DURATION = "google.protobuf.Duration"
_FLOATS = (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT)
_INTS = (
    FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_SINT64,
    FieldDescriptor.TYPE_FIXED64,
    FieldDescriptor.TYPE_SFIXED64,
)


class _Bounded(NamedTuple):
    """A field of numbers, or of messages that have some."""

    name: str
    is_repeated: bool
    most: float
    inner: Descriptor | None


def wrong_numbers(message: Message, path: str = "") -> Iterator[FieldProblem]:
    """Yield the numbers of a message that are not finite or beyond their bounds."""
    for field in _bounded(message.DESCRIPTOR):
        value = getattr(message, field.name)
        if not value and field.inner is None:
            continue
        for row, each in enumerate(value if field.is_repeated else [value]):
            at = f"{path}{field.name}[{row}]" if field.is_repeated else path + field.name
            if field.inner is None:
                yield from _wrong(at, each, field.most)
            elif field.inner.full_name == _DURATION:
                yield from _wrong(at, each.seconds, _MOST_SECONDS)
            elif field.is_repeated or message.HasField(field.name):
                yield from wrong_numbers(each, f"{at}.")


def _wrong(at: str, number: Any, most: float) -> Iterator[FieldProblem]:
    if not (math.isfinite(number) and abs(number) <= most):
        yield FieldProblem(at, f"must be finite and at most {most:g}, got {number:g}")


@cache
def _bounded(message: Descriptor) -> tuple[_Bounded, ...]:
    return tuple(_fields(message))


def _fields(message: Descriptor) -> Iterator[_Bounded]:
    for field in message.fields:
        inner = field.message_type
        if field.type in _FLOATS or field.type in _INTS:
            default = _MOST_FLOAT if field.type in _FLOATS else _MOST_INT
            yield _Bounded(field.name, field.is_repeated, _MOST.get(field.full_name, default), None)
        elif (
            inner is not None and not inner.has_options and _has_numbers(inner, ())
        ):  # entries of maps have some
            yield _Bounded(field.name, field.is_repeated, 0, inner)


def _has_numbers(message: Descriptor, seen: tuple[str, ...]) -> bool:
    """Say whether there is something to look at: asked once a type, so that links are not gone through."""
    if message.full_name in seen or message.full_name in _ONE_BY_ONE:
        return False
    seen = (*seen, message.full_name)
    return message.full_name == _DURATION or any(
        field.type in _FLOATS
        or field.type in _INTS
        or (field.message_type is not None and _has_numbers(field.message_type, seen))
        for field in message.fields
    )
