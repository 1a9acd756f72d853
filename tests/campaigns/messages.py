"""Requests of any shape, made from the descriptors of a contract: likely values, odd ones, broken bytes."""

from __future__ import annotations

import gzip
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from support.hostile import PAGES
from support.small_site import body_of

_TEXTS = (
    *(
        "",
        " ",
        "\x00",
        "\ud7ff",
        "é" * 3,
        "中文",
        "a" * 300,
        "a/b/c",
        "../..",
        "%00%zz",
        "http://[::1]:99999/",
    ),
    *("javascript:x", "-1", "1e999", "\u202e", "(a+)+$", "a" * 20_000, "'; DROP TABLE event", "404", "nan"),
)
_INTS = (
    0,
    1,
    2,
    3,
    7,
    30,
    100,
    1_001,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**53 + 1,
    2**63 - 1,
    2**64 - 1,
    -1,
    -(2**63),
)
_FLOATS = (0.0, 0.5, 1.0, 1.0000001, -0.0, -1.0, 5e-324, 1e308, float("inf"), float("-inf"), float("nan"))
_COUNTS = (0, 1, 1, 2, 3, 8)
_DEEP = 5  # messages in one another: a policy that falls back on one that falls back
_BODY_BYTES = 3_000
"""Of most bodies: what is wrong with a page shows in few tags, and a million pages take an hour."""
_BITS = {
    FieldDescriptor.CPPTYPE_INT32: (31, 31),
    FieldDescriptor.CPPTYPE_UINT32: (0, 32),
    FieldDescriptor.CPPTYPE_INT64: (63, 63),
    FieldDescriptor.CPPTYPE_UINT64: (0, 64),
}
_HOSTILE = [page.body(size) for page in PAGES.values() for size in (40, 2_000)]
_BODIES = [*map(body_of, range(10)), *_HOSTILE]


class Messages:
    """Makes requests; knows values of earlier answers, so that requests ask for what is there.

    `likely`: values by the name of a field, or by message and field; `same`: other names of fields whose
    answers they come from; `rare`: fields that most requests leave out; `broken`: share that is no message.
    """

    def __init__(
        self,
        rng: random.Random,
        likely: Mapping[str, Sequence[Any]],
        same: Mapping[str, str] | None = None,
        rare: frozenset[str] = frozenset(),
        broken: float = 0.12,
    ) -> None:
        self._rng, self._likely, self._same, self._rare = rng, likely, same or {}, rare
        self._share = broken
        self._seen: defaultdict[str, list[Any]] = defaultdict(list)

    def learn(self, answer: Message) -> None:
        """Keep texts and bytes of an answer for later requests, the latest of each name."""
        for field, value in answer.ListFields():
            if field.message_type is not None and field.message_type.GetOptions().map_entry:
                continue
            for each in list(value)[:5] if field.is_repeated else [value]:
                if isinstance(each, Message):
                    self.learn(each)
                elif isinstance(each, str | bytes):
                    kept = self._seen[self._same.get(field.name, field.name)]
                    kept.append(each)
                    del kept[:-50]

    def requests(self, method: MethodDescriptor) -> list[bytes]:
        """Return the requests of a call: one, or those of a stream."""
        n = self._rng.choice((0, 1, 2, 5)) if method.client_streaming else 1
        made = [self._filled(method.input_type, 0).SerializeToString() for _ in range(n)]
        return [self._broken(raw) if self._rng.random() < self._share else raw for raw in made]

    def _filled(self, descriptor: Descriptor, depth: int) -> Any:
        message, rng = GetMessageClass(descriptor)(), self._rng
        chosen = {oneof.name: rng.choice(oneof.fields).name for oneof in descriptor.oneofs}
        for field in descriptor.fields:
            oneof = field.containing_oneof
            is_other = oneof is not None and len(oneof.fields) > 1 and chosen[oneof.name] != field.name
            if is_other or (field.message_type is not None and depth >= _DEEP):
                continue
            often = 0.97 if self._likely_of(field) else 0.5
            rarely = 0.1 if field.name in self._rare or descriptor.name.endswith("Params") else often
            if rng.random() < rarely:
                self._fill(message, field, depth)
        return message

    def _fill(self, message: Any, field: FieldDescriptor, depth: int) -> None:
        target = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            key, value = field.message_type.fields
            for _ in range(self._rng.choice(_COUNTS)):
                if value.message_type is None:
                    target[self._value(key, depth)] = self._value(value, depth)
        elif field.is_repeated:
            n = self._rng.choice(_COUNTS) if self._rng.random() < 0.98 else 200
            target.extend(self._value(field, depth) for _ in range(n))
        elif field.message_type is not None:
            target.CopyFrom(self._value(field, depth))
            target.SetInParent()
        else:
            setattr(message, field.name, self._value(field, depth))

    def _value(self, field: FieldDescriptor, depth: int) -> Any:
        rng, kind = self._rng, field.cpp_type
        is_odd, likely = rng.random() < 0.2, self._likely_of(field)
        if likely and not is_odd:
            return rng.choice(likely)
        if kind == FieldDescriptor.CPPTYPE_MESSAGE:
            return self._filled(field.message_type, depth + 1)
        if kind == FieldDescriptor.CPPTYPE_ENUM:
            return rng.choice([*(value.number for value in field.enum_type.values), 99])
        if kind == FieldDescriptor.CPPTYPE_BOOL:
            return rng.random() < 0.5
        if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
            return rng.choice(_FLOATS) if is_odd else rng.random()
        if kind in _BITS:
            below, above = _BITS[kind]
            value = rng.choice(_INTS) if is_odd else rng.randrange(20)
            return min(max(value, -(2**below) if below else 0), 2**above - 1)
        if field.type == FieldDescriptor.TYPE_BYTES:
            return self._bytes(field.name)
        return rng.choice(_TEXTS)

    def _likely_of(self, field: FieldDescriptor) -> list[Any]:
        kind = int if field.cpp_type in _BITS else str
        if kind is str and field.type != FieldDescriptor.TYPE_STRING:
            return []
        named = f"{field.containing_type.name}.{field.name}"
        known = [*self._likely.get(named, self._likely.get(field.name, ())), *self._seen[field.name]]
        return [value for value in known if isinstance(value, kind)]

    def _bytes(self, name: str) -> bytes:
        rng = self._rng
        if name == "body":
            page = rng.choice(_BODIES)[:_BODY_BYTES]
            for _ in range(rng.choice((0, 1, 1, 2, 3))):
                at = rng.randrange(len(page) + 1)
                page = rng.choice((self._broken(page), page[:at], page[:at] + rng.choice(_BODIES)[-at:]))
            return gzip.compress(page, 1, mtime=0) if rng.random() < 0.1 else page
        made = rng.randbytes(rng.choice((0, 1, 33, 500)))
        if self._seen[name] and rng.random() < 0.7:
            made = rng.choice(self._seen[name])
        return self._broken(made) if rng.random() < 0.2 else made

    def _broken(self, raw: bytes) -> bytes:
        rng, changed = self._rng, bytearray(raw or b"x")
        for _ in range(rng.choice((1, 1, 2, 5))):
            at = rng.randrange(len(changed) + 1)
            changed[at : at + rng.choice((0, 1, 4, 40))] = rng.randbytes(rng.choice((0, 1, 4)))
        return bytes(changed)
