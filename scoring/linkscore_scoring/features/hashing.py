"""Stable 64-bit hashes: the same in every process and on every machine, unlike Python's own."""

from __future__ import annotations

from hashlib import blake2b


def hash64(text: str) -> int:
    """Return an unsigned 64-bit hash of `text` (BLAKE2b of its UTF-8 bytes, 8 bytes, big endian)."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def hash_block(text: str) -> int:
    """Return the hash of a text block, the same however its white space is broken into lines or indented."""
    even = "  " not in text and text.isprintable()
    return hash64(text if even else " ".join(text.split()))
