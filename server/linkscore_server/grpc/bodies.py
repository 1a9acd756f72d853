"""Bodies of pages that are larger than any may be, cut while their message is still bytes.

A message that is parsed has copied its bodies, asking for one copies it again, and so does asking for the
size of a message. What a body has beyond the bound is never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb

_PAGES = {
    "LinkScoringService/IngestPages": pb.IngestPagesRequest.PAGES_FIELD_NUMBER,
    "LinkScoringService/ClassifyPages": pb.ClassifyPagesRequest.PAGES_FIELD_NUMBER,
    "LinkScoringService/StreamPages": pb.StreamPagesRequest.PAGE_FIELD_NUMBER,
}
_BODY = common_pb2.Page.BODY_FIELD_NUMBER

_PACKED_BYTES = 1 << 16
"""What encoding may add to a body of the largest size: gzip adds 5 bytes to every 16 KB that cannot be packed
at most. A bound."""

_MOST_FIELDS = 2_000
"""Fields of a message that are looked at: more than the pages of a call, or the fields of a page beside its
links. A bound, of time."""

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}


class _Field(NamedTuple):
    """Bytes of a field: where its number begins, where its value begins and ends."""

    number: int
    begin: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start


def cut_bodies(raw: bytes, method: str, max_bytes: int) -> bytes:
    """Return a message without what its pages' bodies have beyond a bound, or as it is.

    A body that was cut is still larger than `max_bytes`, also when it is unpacked, and refused for that. A
    message that is none of the protocol, or has very many fields, stays as it is.

    Parameters
    ----------
    raw
        The message.
    method
        Of the contract, as ``Service/Method``.
    max_bytes
        Bound of a body, decompressed.
    """
    most = max_bytes + _PACKED_BYTES
    if method not in _PAGES or len(raw) <= most:
        return raw
    pieces: list[bytes | memoryview] = []
    view, at = memoryview(raw), 0
    for page in _large(raw, _PAGES[method], 0, len(raw), most):
        for body in islice(_large(raw, _BODY, page.start, page.stop, most), 1):
            kept: list[bytes | memoryview] = [
                view[page.start : body.begin],
                _head(_BODY, most),
                view[body.start : body.start + most],
                view[body.stop : page.stop],
            ]
            head = _head(page.number, sum(map(len, kept)))
            pieces += [view[at : page.begin], head, *kept]
            at = page.stop
    return b"".join([*pieces, view[at:]]) if pieces else raw


def _large(raw: bytes, number: int, at: int, end: int, most: int) -> Iterator[_Field]:
    """Yield the fields of a number that have more bytes than `most`."""
    for field in islice(_fields(raw, at, end), _MOST_FIELDS):
        if field.number == number and field.size > most:
            yield field


def _fields(raw: bytes, at: int, end: int) -> Iterator[_Field]:
    """Yield the fields of a message between two places, up to the first that is none."""
    while at < end:
        begin = at
        key, at = _varint(raw, at)
        kind = key & 7
        if kind == _BYTES:
            size, at = _varint(raw, at)
        elif kind == _VARINT:
            size = _varint(raw, at)[1] - at
        else:
            size = _FIXED.get(kind, end)
        if at + size > end:
            return
        yield _Field(key >> 3, begin, at, at + size)
        at += size


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    """Return a number and where it ends; beyond the end of the bytes there are zeros."""
    value = shift = 0
    while True:
        byte = raw[at] if at < len(raw) else 0
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80 or shift > 63:
            return value, at


def _head(number: int, size: int) -> bytes:
    """Return what stands before the bytes of a field."""
    return _number(number << 3 | _BYTES) + _number(size)


def _number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
