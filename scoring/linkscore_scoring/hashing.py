"""Stable hashes, of texts and of numbers: the same in every process and on every machine, unlike Python's."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Remembered

GOLDEN = 0x9E3779B97F4A7C15
"""2^64 / golden ratio, odd: the step of splitmix64."""

# Shifts and factors of the finaliser of splitmix64 (Stafford's variant 13).
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_PREFIX_CHARS = 32  # of a text block, those that its hash is of; chosen, not measured


def hash64(text: str) -> int:
    """Return an unsigned 64-bit hash of `text` (BLAKE2b of its UTF-8 bytes, 8 bytes, big endian).

    Examples
    --------
    >>> hex(hash64("http://a.example/"))
    '0x3a87aef1ec36efc3'
    """
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


hash_of = Remembered(hash64, 1 << 18)
"""Identity hash of a text; the last ones are kept (a bound), since the same links stand on many pages."""


def hash_block(text: str) -> int:
    """Return the hash of a text block: of its first 32 characters, white space collapsed.

    So an excerpt cut short is the same block as its original; how long each was is kept beside the hash.
    """
    # Four times as many are looked at, so that runs of white space leave 32 as a rule.
    return hash64(" ".join(text[: 4 * _PREFIX_CHARS].split())[:_PREFIX_CHARS])


def mix64(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers whose bits all depend on all bits of those given, (n,) uint64 in and out, one to one.

    Source: finaliser of splitmix64 (Steele, Lea and Flood 2014, Fast splittable pseudorandom number
    generators, OOPSLA).
    """
    mixed = x
    for shift, factor in _ROUNDS:
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))
