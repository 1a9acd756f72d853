"""From a map of pages to the way that leads to the most targets."""

from __future__ import annotations

import pytest

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.policies.tpm.target_map import ENTRY, OFF, MapPage, NavigationPattern, TargetMap
from linkscore_scoring.policies.tpm.url_shapes import url_shape
from linkscore_scoring.state import from_state, to_state


def site() -> TargetMap:
    """Entry -> two boards -> three threads; entry -> one thread, and a help page that leads nowhere."""
    pages = [
        ("/", ENTRY, False),
        ("/board/a", 0, False),
        ("/board/b", 0, False),
        ("/help", 0, False),
        ("/thread/7", 0, True),
        ("/thread/1", 1, True),
        ("/thread/22", 1, True),
        ("/thread/3", 2, True),
    ]
    known = TargetMap()
    for key, (path, parent, target) in enumerate(pages):
        known.add(MapPage(key, f"http://h{path}", parent, target), [], max_links=100)
    return known


def test_the_way_ends_where_most_targets_are() -> None:
    """K = 1: boards and the direct thread are two parts; three threads are below the boards."""
    way = site().navigation_pattern(max_differing=1)
    assert [str(shape) for shape in way.shapes] == ["h/board/[a-z]+", "h/thread/[0-9]+"]
    assert way.targets == 3


def test_a_large_k_puts_unlike_pages_into_one_part() -> None:
    """K = 2: `/board/a` and `/thread/7` differ on two levels, so they are alike; `/help` leads nowhere."""
    way = site().navigation_pattern()
    assert [str(shape) for shape in way.shapes] == [r"h/[a-z]+/\w+", "h/thread/[0-9]+"]
    assert way.targets == 3


def test_without_targets_there_is_no_way() -> None:
    known = TargetMap()
    known.add(MapPage(0, "http://h/", ENTRY), [1], max_links=100)
    assert len(known.navigation_pattern()) == 0


def test_links_belong_to_the_page_that_showed_them_first_and_those_of_targets_to_none() -> None:
    known = TargetMap()
    known.add(MapPage(1, "http://h/", ENTRY), [2, 3], max_links=100)
    known.add(MapPage(2, "http://h/a", 0), [3, 4], max_links=100)
    known.add(MapPage(3, "http://h/b", 0, target=True), [5], max_links=100)
    assert [known.found_on(key) for key in (2, 3, 4, 5)] == [0, 0, 1, None]
    assert known.targets == 1


def test_the_map_is_bounded() -> None:
    known = TargetMap()
    for key in range(5):
        known.add(MapPage(key, f"http://h/{key}", ENTRY), range(10 * key, 10 * key + 10), max_links=3)
    assert len(known) == 3
    assert [known.found_on(key) for key in (2, 3)] == [0, None]


def test_state_round_trip() -> None:
    known, other = site(), TargetMap()
    other.load_state(known.to_state())
    assert other.to_state() == known.to_state()
    assert to_state(other.navigation_pattern()) == to_state(known.navigation_pattern())
    with pytest.raises(CorruptState):
        other.load_state({"pages": [[1]]})


def test_a_step_counts_after_the_one_before_it() -> None:
    way = NavigationPattern(
        [url_shape(["http://h/a", "http://h/b"]), url_shape(["http://h/c", "http://h/1"])]
    )
    assert way.step("http://h/x") == 2
    assert way.step("http://h/x", after=[0]) == 1
    assert way.step("http://h/7", after=[0]) == OFF
    assert way.step("http://h/7", after=[0, 1]) == 2
    assert from_state(NavigationPattern, to_state(way)).step("http://h/7") == 2
