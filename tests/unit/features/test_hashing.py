"""Hashes that are the same in every process."""

from __future__ import annotations

from hashlib import blake2b

from linkscore_scoring.features.hashing import hash64, hash_block


def test_the_hash_is_eight_bytes_of_blake2b_big_endian() -> None:
    assert hash64("é") == int.from_bytes(blake2b("é".encode(), digest_size=8).digest(), "big")


def test_a_lone_surrogate_can_be_hashed() -> None:
    assert hash64("\udc80") != hash64("")


def test_white_space_does_not_change_a_block() -> None:
    assert hash_block("one two three") == hash_block("one\n  two\tthree") == hash_block("one two\u00a0three")
