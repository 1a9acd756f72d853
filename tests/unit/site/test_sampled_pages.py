"""Pages kept for learning: they share names, their links are columns, and damage is refused."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.features.html import extract
from linkscore_scoring.features.types import PathTrie
from linkscore_scoring.hashing import hash64
from linkscore_scoring.site.sampled_pages import SampledLinks, SampledPage, SampledPaths
from linkscore_scoring.state import from_state, to_state
from linkscore_scoring.testing.subject import packed, unpacked

BODY = b"<html><body><div class='posting first'><a class='headline' href='/a'>a</a></div></body></html>"
ROWS = [(5, 6, hash64("http://h/a")), (0, 0, 2**64 - 1)]


def kept(seq: int) -> SampledPage:
    """Return a page as its state is read again, apart from all others."""
    features = extract(BODY, url=f"http://h/{seq}")
    page = SampledPage(
        seq,
        features.key,
        hash64(features.key),
        SampledPaths(features.paths),
        SampledLinks.of(*zip(*ROWS, strict=True)),
    )
    return from_state(SampledPage, unpacked(packed(to_state(page))))


def before_7(page: SampledPage) -> Any:
    """Return the state of a page as snapshots below number 7 had it."""
    return {**to_state(page), "paths": to_state(page.paths), "links": [list(row) for row in page.links]}


def test_pages_read_from_a_snapshot_share_their_names() -> None:
    first, second = kept(1), kept(2)
    assert first.paths == second.paths
    assert "first posting" in first.paths.classes
    pairs = zip(first.paths.classes + first.paths.tags, second.paths.classes + second.paths.tags, strict=True)
    assert all(mine is other for mine, other in pairs)


def test_links_come_back_as_they_were() -> None:
    page = kept(1)
    assert list(page.links) == ROWS
    assert list(SampledLinks.of([], [], [])) == []
    nothing = SampledLinks.of([], [], [])
    assert SampledLinks.from_state(nothing.to_state()) == nothing


def test_pages_of_snapshots_from_before_they_were_columns_are_read() -> None:
    page = kept(1)
    old = from_state(SampledPage, unpacked(packed(before_7(page))))
    assert old == page
    assert to_state(old) == to_state(page)


def test_columns_are_little_endian_wherever_they_are_written() -> None:
    links = SampledLinks.of([1], [2], [3])
    eight = (b"\1" + bytes(7), b"\2" + bytes(7), b"\3" + bytes(7))
    assert links.to_state() == {
        "link_paths": ("Q", eight[0]),
        "classless": ("Q", eight[1]),
        "rows": ("B", b"\0"),
        "targets": ("Q", eight[2]),
    }


@pytest.mark.parametrize("rows", [[(1, 2)], [(1, 2, -3)], [(1, 2, 2**64)], [(1, 2, "x")], 7], ids=repr)
def test_damaged_links_are_refused(rows: Any) -> None:
    state = before_7(kept(1))
    state["links"] = rows
    with pytest.raises(CorruptState):
        from_state(SampledPage, state)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": ("B", b"\0\2")},  # there are two pairs
        {"rows": ("B", b"\0")},
        {"rows": ("d", bytes(16))},
        {"targets": ("Q", bytes(15))},
        {"targets": ("Q", "text")},
        {"targets": ("I", bytes(8))},
        {"classless": ("Q", bytes(8))},
        {"classless": 7},
    ],
    ids=repr,
)
def test_damaged_columns_of_links_are_refused(wrong: dict[str, Any]) -> None:
    state: Any = to_state(kept(1))
    state["links"] |= wrong
    with pytest.raises(CorruptState):
        from_state(SampledPage, state)


@pytest.mark.parametrize(
    ("column", "wrong"),
    [
        (0, ("Q", bytes(8))),
        (0, ("h", bytes(1))),
        (1, (("a",), ("B", b"\1"))),
        (1, ((7,), ("B", b"\0"))),
        (2, ()),
        (3, ("B", b"\1\1\1\1\1\1\1")),
        (3, ("h", b"\xff\xff")),
    ],
    ids=repr,
)
def test_damaged_columns_of_paths_are_refused(column: int, wrong: Any) -> None:
    state: Any = to_state(kept(1))
    state["paths"][column] = wrong
    with pytest.raises(CorruptState):
        from_state(SampledPage, state)


@pytest.mark.parametrize("n", [0, 1, 300, 70_000])
def test_packed_paths_are_read_as_they_were(n: int) -> None:
    """Parents and leaves that take one, two and four bytes each."""
    trie = PathTrie(list(range(-1, n - 1)), ["li"] * n, [f"item-{at % 300}" for at in range(n)], [n] * n)
    paths = SampledPaths(trie)
    before = paths.to_state()
    paths.pack()
    assert (paths.trie, len(paths), paths.to_state()) == (trie, n, before)
    paths.pack()
    assert paths.trie == SampledPaths.from_state(before).trie == trie


@pytest.mark.parametrize(("column", "value"), [("parents", [2**15]), ("leaves", [-1]), ("leaves", [2**64])])
def test_damaged_paths_are_refused(column: str, value: list[int]) -> None:
    state = before_7(kept(1))
    state["paths"] = {"parents": [-1], "tags": ["a"], "classes": [""], "leaves": [1]} | {column: value}
    with pytest.raises(CorruptState, match="fewer bits"):
        from_state(SampledPage, state)
