"""Large values as msgpack, written and read in pieces: in one go they would hold the interpreter for long."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from io import BytesIO
from itertools import islice
from typing import Any

import msgpack

_SHORT = 32
"""Items of a state that are packed together, and up to which a list or dict may hold all there is. Measured
on stored sites of 240 and 1,000 pages: a tenth slower than all in one, pieces of 350 KB at most."""

_FIXMAP, _FIXARRAY = 0x8, 0x9
_MAPS, _ARRAYS = (0xDE, 0xDF), (0xDC, 0xDD)
"""First bytes of maps and arrays: half a byte of short ones, a byte of long ones (msgpack's format)."""


def packed_in_pieces(value: Any, packer: msgpack.Packer | None = None) -> Iterator[bytes]:
    """Yield a value as msgpack, in pieces: packing it in one would hold the interpreter for seconds.

    What is short is opened, for it may hold what is long; of what is long, some items are packed at a time.
    """
    packer = packer or msgpack.Packer()
    if isinstance(value, dict) and len(value) <= _SHORT:
        yield packer.pack_map_header(len(value))
        for name, part in value.items():
            yield packer.pack(name)
            yield from packed_in_pieces(part, packer)
    elif isinstance(value, dict):
        yield packer.pack_map_header(len(value))
        parts = iter(value.items())
        while some := list(islice(parts, _SHORT)):
            yield b"".join(packer.pack(name) + packer.pack(part) for name, part in some)
    elif not isinstance(value, list | tuple):
        yield packer.pack(value)
    elif len(value) > _SHORT:
        yield packer.pack_array_header(len(value))
        for at in range(0, len(value), _SHORT):
            yield b"".join(map(packer.pack, value[at : at + _SHORT]))
    elif any(isinstance(part, list | tuple | dict) for part in value):
        yield packer.pack_array_header(len(value))
        for part in value:
            yield from packed_in_pieces(part, packer)
    else:
        yield packer.pack(value)


def unpacked_in_pieces(raw: bytes) -> Any:
    """Return the value of bytes of msgpack, read in the pieces that `packed_in_pieces` made."""
    reader = msgpack.Unpacker(BytesIO(raw), strict_map_key=False, max_buffer_size=0)
    try:
        return _next_value(reader, raw)
    except msgpack.OutOfData as exc:
        raise ValueError("the state ends early") from exc


def _next_value(reader: msgpack.Unpacker, raw: bytes) -> Any:
    """Read one value: what is short is opened, of what is long the items are read one by one."""
    first = raw[reader.tell()]
    if first >> 4 == _FIXMAP or first in _MAPS:
        count = reader.read_map_header()
        next_part = partial(_next_value, reader, raw) if count <= _SHORT else reader.unpack
        return {reader.unpack(): next_part() for _ in range(count)}
    if first >> 4 == _FIXARRAY or first in _ARRAYS:
        count = reader.read_array_header()
        if count > _SHORT:
            return [item for item in islice(reader, count)]  # noqa: C416  others have their turn between two
        return [_next_value(reader, raw) for _ in range(count)]
    return reader.unpack()
