"""Pages kept for learning: they share names, their links are columns, and damage is refused."""

from __future__ import annotations

from typing import Any

import pytest

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.features.html import extract
from linkscore_scoring.hashing import hash64
from linkscore_scoring.site.learning import SampledLinks, SampledPage
from linkscore_scoring.state import from_state, to_state

BODY = b"<html><body><div class='posting first'><a class='headline' href='/a'>a</a></div></body></html>"
ROWS = [(5, 6, hash64("http://h/a")), (0, 0, 2**64 - 1)]


def kept(seq: int) -> SampledPage:
    """Return a page as its state is read again, apart from all others."""
    features = extract(BODY, url=f"http://h/{seq}")
    page = SampledPage(
        seq, features.key, hash64(features.key), features.paths, SampledLinks.of(*zip(*ROWS, strict=True))
    )
    state: Any = to_state(page)
    state["paths"]["classes"] = ["".join(list(name)) for name in state["paths"]["classes"]]
    return from_state(SampledPage, state)


def test_pages_read_from_a_snapshot_share_their_names() -> None:
    first, second = kept(1), kept(2)
    assert first.paths == second.paths
    assert "first posting" in first.paths.classes
    pairs = zip(first.paths.classes + first.paths.tags, second.paths.classes + second.paths.tags, strict=True)
    assert all(mine is other for mine, other in pairs)


def test_links_come_back_as_they_were() -> None:
    page = kept(1)
    assert list(page.links) == ROWS
    assert to_state(page)["links"] == ROWS
    assert list(SampledLinks.of([], [], [])) == []


@pytest.mark.parametrize("rows", [[(1, 2)], [(1, 2, -3)], [(1, 2, 2**64)], [(1, 2, "x")], 7], ids=repr)
def test_damaged_links_are_refused(rows: Any) -> None:
    state: Any = to_state(kept(1))
    state["links"] = rows
    with pytest.raises(CorruptState):
        from_state(SampledPage, state)
