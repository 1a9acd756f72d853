"""Long columns of numbers as fields of a message, in the wire format: ``MergeFromString`` takes them over.

A number given to protobuf from Python costs 30 ns, one that it reads from bytes 2: of an answer with 10,000
buckets that was 1.2 ms of 4.5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_LENGTH_DELIMITED = 2  # wire type of packed fields
_VARINT_BITS = 7  # of a number in each byte
_CONTINUES = 0x80  # set in every byte of a number but the last


def doubles(field: int, values: NDArray[np.float64]) -> bytes:
    """Return a packed field of doubles; none for no values.

    Examples
    --------
    >>> doubles(2, np.array([1.0])).hex(" ")
    '12 08 00 00 00 00 00 00 f0 3f'
    """
    return _packed(field, values.astype("<f8").tobytes())


def uints(field: int, values: NDArray[Any]) -> bytes:
    """Return a packed field of unsigned numbers below 2^32; none for no values.

    Examples
    --------
    >>> uints(1, np.array([5, 300])).hex(" ")
    '0a 03 05 ac 02'
    """
    return _packed(field, _varints(values.astype(np.uint32)))


def _packed(field: int, content: bytes) -> bytes:
    if not content:
        return b""
    head = np.array([field << 3 | _LENGTH_DELIMITED, len(content)], dtype=np.uint32)
    return _varints(head) + content


def _varints(values: NDArray[np.uint32]) -> bytes:
    width = -(-int(values.max(initial=1)).bit_length() // _VARINT_BITS)
    parts = np.empty((len(values), width), dtype=np.uint8)
    is_needed = np.ones((len(values), width), dtype=bool)
    for at in range(width):
        rest = values >> np.uint32(at * _VARINT_BITS)
        parts[:, at] = rest & np.uint32(_CONTINUES - 1)
        if at:  # a first byte is there of 0 too
            is_needed[:, at] = rest
            parts[:, at - 1] |= is_needed[:, at] * np.uint8(_CONTINUES)
    return parts[is_needed].tobytes()
