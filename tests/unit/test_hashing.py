"""Hashes that are the same in every process."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from linkscore_scoring.hashing import GOLDEN, hash64, hash_block, mix64


def test_the_hash_is_eight_bytes_of_blake2b_big_endian() -> None:
    assert hash64("é") == int.from_bytes(blake2b("é".encode(), digest_size=8).digest(), "big")


def test_a_lone_surrogate_can_be_hashed() -> None:
    assert hash64("\udc80") != hash64("")


def test_white_space_does_not_change_a_block() -> None:
    assert hash_block("one two three") == hash_block("one\n  two\tthree") == hash_block("one two\u00a0three")


def test_mixed_steps_of_the_golden_ratio_are_the_numbers_of_splitmix64() -> None:
    """The first two outputs of the reference generator seeded with 0."""
    steps = np.array([GOLDEN, 2 * GOLDEN % 2**64], dtype=np.uint64)
    assert mix64(steps).tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]
