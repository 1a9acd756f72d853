"""States by declaration: layouts on the disk, what is refused, versions."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Annotated, Any, ClassVar, NamedTuple

import msgpack
import numpy as np
import pytest
from numpy.typing import NDArray

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.state import (
    Flat,
    Sparse,
    Stateful,
    Stored,
    Transient,
    from_state,
    load_state,
    stored_as,
    to_state,
)


class Colour(IntEnum):
    RED = 1
    BLUE = 2


class Place(NamedTuple):
    row: int
    name: str


@dataclass(frozen=True, slots=True)
class Page:
    url: str
    depth: int
    reward: float | None = None
    seen: Transient[int] = 0


@dataclass(frozen=True, slots=True)
class Site:
    name: str
    pages: tuple[Page, ...]
    colour: Colour
    places: list[Place]
    first: Flat[Page]
    days: dict[int, int] = field(default_factory=dict)


class Arms(Stateful):
    """Everything a mutable class may keep, under the names older files have."""

    total: Annotated[int, stored_as("counts")]
    found: Annotated[int, stored_as("counts")]
    _rows: Annotated[Flat[dict[tuple[int, int], list[float]]], stored_as("rows")]
    _pages: Stored[Flat[dict[int, Page]]]
    _order: Stored[OrderedDict[str, None]]
    _known: Annotated[dict[int, str], stored_as("keys", "values")]
    _recent: Stored[deque[float]]
    _off: Stored[set[int]]
    _words: Stored[Counter[str]]
    _vector: Stored[NDArray[np.float64]]
    _matrix: Stored[Sparse[NDArray[np.float64]]]

    def __init__(self, bound: int = 3) -> None:
        self.bound = bound
        self.total = self.found = self.loaded = 0
        self._rows, self._pages, self._order, self._known = {}, {}, OrderedDict(), {}
        self._recent, self._off, self._words = deque(maxlen=bound), set(), Counter()
        self._vector, self._matrix = np.zeros(2), np.zeros((2, 2))

    def after_load(self) -> None:
        self.loaded += 1
        if self.found > self.total:
            raise ValueError("more found than pulled")


class Crawl(Stateful):
    """A class with parts of its own."""

    state_name: ClassVar[str] = "small crawl"
    arms: Stored[Arms]
    by_name: Stored[dict[str, Arms]]
    learned: Stored[Site | None]

    def __init__(self) -> None:
        self.arms, self.by_name, self.learned = Arms(), {"a": Arms(), "b": Arms()}, None


def filled() -> Arms:
    arms = Arms()
    arms.total, arms.found = 5, 2
    arms._rows = {(1, 2): [0.5, 1.0], (3, 4): [0.0, 2.0]}
    arms._pages = {9: Page("u", 1, seen=7)}
    arms._order = OrderedDict.fromkeys(["b", "a"])
    arms._known = {2: "two", 1: "one"}
    arms._recent.extend([0.1, 0.2])
    arms._off, arms._words = {3, 1}, Counter(a=2)
    arms._vector, arms._matrix = np.array([1.0, 2.0]), np.array([[0.0, 1.0], [0.0, 0.0]])
    return arms


def through_bytes(state: Any) -> Any:
    return msgpack.unpackb(msgpack.packb(state), strict_map_key=False)


def test_layouts_are_the_ones_files_have() -> None:
    state = through_bytes(filled().to_state())
    assert {name: value for name, value in state.items() if name not in ("vector", "matrix")} == {
        "counts": [5, 2],
        "rows": [[1, 2, 0.5, 1.0], [3, 4, 0.0, 2.0]],
        "pages": [[9, "u", 1, None]],
        "order": ["b", "a"],
        "keys": [2, 1],
        "values": ["two", "one"],
        "recent": [0.1, 0.2],
        "off": [1, 3],
        "words": {"a": 2},
    }
    assert state["vector"]["shape"] == [2]
    assert state["matrix"].keys() == {"shape", "cells", "values"}


def test_a_mutable_object_is_what_it_was_after_bytes() -> None:
    arms, again = filled(), Arms(bound=2)
    again.load_state(through_bytes(arms.to_state()))
    assert through_bytes(again.to_state()) == through_bytes(arms.to_state())
    assert list(again._order) == ["b", "a"]
    assert again._recent.maxlen == 2, "settings are those of the object that loads"
    assert again._pages == {9: Page("u", 1)}, "what is transient has its default"
    assert again.loaded == 1


def test_a_frozen_dataclass_is_built_from_its_fields() -> None:
    site = Site("s", (Page("u", 1, 0.5),), Colour.BLUE, [Place(1, "x")], Page("f", 0), {3: 4})
    state = through_bytes(to_state(site))
    assert state == {
        "name": "s",
        "pages": [{"url": "u", "depth": 1, "reward": 0.5}],
        "colour": 2,
        "places": [[1, "x"]],
        "first": ["f", 0, None],
        "days": [[3, 4]],
    }
    assert from_state(Site, state) == site
    del state["days"]
    assert from_state(Site, state).days == {}, "a field older files lack has its default"


def test_a_frozen_part_is_replaced() -> None:
    class Holder(Stateful):
        site: Stored[Site]

        def __init__(self, name: str) -> None:
            self.site = Site(name, (), Colour.RED, [], Page("f", 0))

    known, again = Holder("known"), Holder("other")
    again.load_state(through_bytes(known.to_state()))
    assert again.site == known.site


def test_parts_are_loaded_in_place() -> None:
    crawl, again = Crawl(), Crawl()
    crawl.by_name["b"].total = 8
    crawl.learned = Site("s", (), Colour.RED, [], Page("f", 0))
    parts = again.arms, again.by_name["b"]
    again.load_state(through_bytes(crawl.to_state()))
    assert (again.arms, again.by_name["b"]) == parts
    assert parts[1].total == 8
    assert again.learned == crawl.learned


@pytest.mark.parametrize(
    ("field_name", "value", "message"),
    [
        ("counts", [1], "arms: field 'counts'"),
        ("counts", [1, "2"], "arms: field 'counts': want int, got '2'"),
        ("counts", [1, 2], "arms: more found than pulled"),
        ("rows", [[1, 2, "x"]], "arms: field 'rows': want float or int, got 'x'"),
        ("rows", 5, "arms: field 'rows': want a list, got 5"),
        ("pages", [[9, "u"]], "arms: field 'pages': want 3 values"),
        ("keys", [1], "arms: field 'keys'"),
        ("vector", {"shape": [3], "dtype": "<f8", "data": b""}, "arms: field 'vector': array state"),
        ("words", [1], "arms: field 'words': want a dict"),
    ],
)
def test_a_malformed_field_is_named(field_name: str, value: Any, message: str) -> None:
    with pytest.raises(CorruptState, match=message):
        Arms().load_state({**Arms().to_state(), field_name: value})


def test_missing_unknown_and_nested_fields_are_named() -> None:
    state = Crawl().to_state()
    with pytest.raises(CorruptState, match=r"arms: unknown fields \['x'\]"):
        Arms().load_state({**state["arms"], "x": 1})
    del state["arms"]["rows"]
    with pytest.raises(CorruptState, match="small crawl: field 'arms': arms: field 'rows' is missing"):
        Crawl().load_state(state)
    with pytest.raises(CorruptState, match="arms: want a dict"):
        load_state(Arms(), [])


def test_a_type_without_a_layout_is_a_programming_error() -> None:
    class Odd(Stateful):
        value: Annotated[complex, stored_as()]

    Odd.__annotations__["value"] = Annotated[complex, stored_as()]
    with pytest.raises(TypeError, match="no codec"):
        Odd().to_state()
