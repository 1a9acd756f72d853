"""The packed owners of text answer and store what the plain ones do; without the kernels it is skipped."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("linkscore_native", reason="the compiled kernels are not installed: make native")

import linkscore_native
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.site.packed_texts import PackedTextOwners
from linkscore_scoring.site.texts import TextOwners

PAGES = st.sampled_from([1, 2, 3, 4, 5, 2**64 - 1])
BLOCKS = st.tuples(
    st.sampled_from([*range(8), 2**63, 2**64 - 1]), st.sampled_from([0, 40, 44, 50, 100, 110, 111, 400])
)


@given(
    st.lists(st.tuples(PAGES, PAGES | st.none(), st.lists(BLOCKS, max_size=8)), max_size=40),
    st.integers(1, 12),
)
def test_both_owners_answer_and_store_the_same(steps: list[Any], blocks: int) -> None:
    plain = TextOwners(max_blocks=blocks)
    packed = PackedTextOwners(linkscore_native, max_blocks=blocks)
    for page, canonical, shown in steps:
        columns = [hash_ for hash_, _ in shown], [size for _, size in shown]
        mine, theirs = (owners.see(page, canonical or page, *columns) for owners in (plain, packed))
        assert theirs == mine
        assert list(theirs.lost) == list(mine.lost)
        assert (len(packed), packed.distinct_chars) == (len(plain), plain.distinct_chars)
    stored = msgpack.packb(plain.to_state())
    assert msgpack.packb(packed.to_state()) == stored
    again = PackedTextOwners(linkscore_native, max_blocks=blocks)
    again.load_state(msgpack.unpackb(stored))
    assert msgpack.packb(again.to_state()) == stored


@pytest.mark.parametrize("record", [[], [1, 2, 3, 4], [1, -2, 3, 4, 5], [1, 2, 3, 2**70, 5], 7, "x"])
def test_a_record_that_is_none_is_a_corrupt_state(record: Any) -> None:
    owners = PackedTextOwners(linkscore_native)
    with pytest.raises(CorruptState):
        owners.load_state({"distinct_chars": 0, "blocks": [7], "records": [record]})


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="length"):
        PackedTextOwners(linkscore_native).see(1, 1, [1], [])
