"""The table of known pages: found by key, bounded, the same after its state."""

from __future__ import annotations

import numpy as np

from linkscore_scoring.revisits.pages import GONE, PageTable, Row
from linkscore_scoring.state import packed, unpacked


def filled(keys: list[int], most: int = 1_000) -> PageTable:
    table = PageTable(most)
    for at, key in enumerate(keys):
        table.add(Row(key, at), f"http://a.org/{key}")
    return table


def test_pages_are_found_when_many_were_sorted_in() -> None:
    keys = [int(key) for key in np.random.default_rng(1).permutation(5_000)]
    table = filled(keys, 10_000)
    assert [int(table.rows[table.find(key)]["last"]) for key in keys] == list(range(5_000))


def test_beyond_the_bound_those_gone_are_forgotten_then_those_fetched_longest_ago() -> None:
    table = filled(list(range(32)), 32)
    table.rows[table.find(20)]["flags"] |= GONE
    table.add(Row(99, 99), "http://a.org/99")
    assert len(table) == 31
    assert [key for key in range(32) if table.find(key) < 0] == [0, 20]
    assert table.url(table.find(31)) == "http://a.org/31"


def test_state_gives_the_same_table_and_goes_on_the_same() -> None:
    table = filled(list(range(3_000, 0, -1)), 4_000)
    again = PageTable(4_000)
    again.load_state(unpacked(packed(table.to_state())))
    for one in (table, again):
        one.add(Row(9_999, 7), "http://a.org/9999")
    assert again.to_state() == table.to_state()
    assert again.url(again.find(1_500)) == "http://a.org/1500"
