"""Large values in pieces are the values in one piece."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkscore_server.pieces import packed_in_pieces, unpacked_in_pieces


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
        lambda each: st.lists(each, max_size=40) | st.dictionaries(st.text() | st.integers(0, 300), each),
        max_leaves=80,
    )
)
def test_a_state_is_packed_and_read_in_pieces_as_in_one(value: Any) -> None:
    raw = msgpack.packb(value)
    assert b"".join(packed_in_pieces(value)) == raw
    assert repr(unpacked_in_pieces(raw)) == repr(value)  # which NaN is equal to itself in


def test_a_state_of_long_parts_is_read_in_pieces_as_in_one() -> None:
    value = {"rows": [[n, "x" * n] for n in range(100)], "named": {n: {"of": [n]} for n in range(100)}}
    raw = msgpack.packb(value)
    assert b"".join(packed_in_pieces(value)) == raw
    assert unpacked_in_pieces(raw) == value
    for end in range(0, len(raw), 97):
        with pytest.raises((ValueError, IndexError)):
            unpacked_in_pieces(raw[:end])
