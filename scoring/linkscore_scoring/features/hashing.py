"""Stable 64-bit hashes: the same in every process and on every machine, unlike Python's own."""

from __future__ import annotations

from hashlib import blake2b


def hash64(text: str) -> int:
    """Return an unsigned 64-bit hash of `text` (BLAKE2b of its UTF-8 bytes, 8 bytes, big endian)."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


_PREFIX_CHARS = 32


def hash_block(text: str) -> int:
    """Return the hash of a text block: of its first 32 characters, white space collapsed.

    So an excerpt cut short is the same block as its original; how long each was is kept beside the hash.
    """
    return hash64(" ".join(text[: 4 * _PREFIX_CHARS].split())[:_PREFIX_CHARS])
