"""A column of repeated texts is that column."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linkscore_scoring.columns import Repeated


@given(st.lists(st.sampled_from(["a", "b", "c", "d", ""])))
def test_it_gives_the_texts_back_in_their_order(texts: list[str]) -> None:
    column = Repeated.of(iter(texts))
    assert column == texts
    assert [column[row] for row in range(len(column))] == column[:] == texts
    assert column.distinct == list(dict.fromkeys(texts))
    assert column.first_rows() == [texts.index(text) for text in column.distinct]
