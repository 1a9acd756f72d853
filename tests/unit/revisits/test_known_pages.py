"""The table of known pages: found by key, bounded, the same after its state."""

from __future__ import annotations

from linkscore_scoring.revisits.pages import GONE, PageTable, Row


def filled(keys: list[int], most: int = 1_000) -> PageTable:
    table = PageTable(most)
    for at, key in enumerate(keys):
        table.add(Row(key, at), f"http://a.org/{key}")
    return table


def test_beyond_the_bound_those_gone_are_forgotten_then_those_fetched_longest_ago() -> None:
    table = filled(list(range(32)), 32)
    table.rows[table.find(20)]["flags"] |= GONE
    table.add(Row(99, 99), "http://a.org/99")
    assert len(table) == 31
    assert [key for key in range(32) if table.find(key) < 0] == [0, 20]
    assert table.url(table.find(31)) == "http://a.org/31"
