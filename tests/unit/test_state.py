"""States by annotation: what comes back from bytes, and what is refused."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import linkscore_scoring
import linkscore_server
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.state import Stateful, Stored, from_state, packed, unpacked
from support.forked import Script


class Place(NamedTuple):
    row: int
    name: str


@dataclass(frozen=True, slots=True)
class Page:
    url: str
    place: Place
    reward: float | None = None


class Arms(Stateful):
    """Everything a class may keep beside numbers and texts."""

    total: Stored[int]
    found: Stored[int]
    _rows: Stored[dict[tuple[int, int], list[float]]]
    _pages: Stored[dict[int, Page]]
    _order: Stored[OrderedDict[str, None]]
    _recent: Stored[deque[float]]
    _off: Stored[set[int]]
    _words: Stored[Counter[str]]
    _matrix: Stored[NDArray[np.float64]]

    def __init__(self) -> None:
        self.total = self.found = self.loaded = 0
        self._rows, self._pages, self._order = {}, {}, OrderedDict()
        self._recent, self._off, self._words = deque(maxlen=3), set(), Counter()
        self._matrix = np.zeros((2, 2))

    def after_load(self) -> None:
        if self.found > self.total:
            raise ValueError("more found than pulled")


class SmallCrawl(Stateful):
    """A class with a part that is there, and one that may come."""

    arms: Stored[Arms]
    later: Stored[Arms | None]

    def __init__(self) -> None:
        self.arms, self.later = Arms(), None


def filled() -> SmallCrawl:
    crawl = SmallCrawl()
    crawl.later = arms = Arms()
    arms.total, arms.found = 5, 2
    arms._rows = {(1, 2): [0.5, 1.0], (3, 4): [0.0, 2.0]}
    arms._pages = {9: Page("u", Place(1, "a")), 2**64 - 1: Page("v", Place(2, "b"), 0.5)}
    arms._order = OrderedDict.fromkeys(["b", "a"])
    arms._off, arms._words = {3, 1}, Counter(a=2)
    arms._matrix = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 7.5]])
    crawl.arms._recent.extend([0.1, 0.2])
    return crawl


def test_all_that_is_kept_comes_back_from_bytes() -> None:
    crawl, again = filled(), SmallCrawl()
    own = again.arms
    again.load_state(unpacked(packed(crawl.to_state())))
    assert again.arms is own, "a part that is there takes its state"
    assert packed(again.to_state()) == packed(crawl.to_state())
    assert again.later is not None
    for name in ("_rows", "_pages", "_order", "_off", "_words"):
        assert getattr(again.later, name) == getattr(filled().later, name)
    assert again.later._matrix[1, 2] == 7.5
    assert again.arms._recent.maxlen == 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("total", "5"),
        ("found", 9),
        ("rows", {1: []}),
        ("pages", {9: {"url": "u"}}),
        ("words", [1]),
        ("recent", None),
        ("matrix", {"shape": [9], "dtype": "<f8", "data": b""}),
        ("matrix", {"shape": [1], "dtype": "|O", "data": b"12345678"}),
        ("matrix", {"shape": [1, 1], "dtype": "<i4", "data": b"1234"}),
        ("matrix", {"shape": [1 << 20, 1 << 20], "dtype": "<f8", "cells": b"", "data": b""}),
    ],
)
def test_what_does_not_fit_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(CorruptState, match=f"arms.*({field}|more found)"):
        Arms().load_state({**Arms().to_state(), field: value})


def test_foreign_and_cut_states_are_refused() -> None:
    state = SmallCrawl().to_state()
    for strange in ([], 7, {}, {**state, "x": 1}, {"arms": state["arms"]}, {**state, "arms": 1}):
        with pytest.raises(CorruptState, match="small crawl"):
            SmallCrawl().load_state(strange)
    with pytest.raises(CorruptState, match=r"page: .*place"):
        from_state(Page, {"url": "u"})
    raw = packed(filled().to_state())
    for end in range(len(raw)):
        with pytest.raises(CorruptState):
            unpacked(raw[:end])


_MEET = """
import threading
from dataclasses import dataclass
from typing import NamedTuple, TypedDict
from linkscore_scoring.state import from_state

first_is_at_it, second_asks = threading.Event(), threading.Event()

def slowly(kind):
    first_is_at_it.set()
    second_asks.wait(1)
    return kind

@dataclass
class Dataclass:
    n: "slowly(int)"

class Tuple(NamedTuple):
    n: "slowly(int)"

class Table(TypedDict):
    n: "slowly(int)"

@dataclass
class Outer:
    first: int
    inner: KIND
    last: str

state = {"first": 1, "inner": STATE, "last": "x"}
found = []
thread = threading.Thread(target=lambda: found.append(from_state(Outer, state)))
thread.start()
first_is_at_it.wait()
threading.Timer(0.1, second_asks.set).start()
found.append(from_state(Outer, state))
thread.join()
assert len(found) == 2 and found[0] == found[1], found
"""


@pytest.mark.parametrize(("kind", "state"), [("Dataclass", {"n": 2}), ("Tuple", [2]), ("Table", {"n": 2})])
def test_threads_that_meet_a_type_at_once_read_it(kind: str, state: Any) -> None:
    """msgspec itself ends the process, without a word: shards of a crawl are opened by several threads."""
    code, _, log = Script(_MEET.replace("KIND", kind).replace("STATE", repr(state))).finish()
    assert (code, log) == (0, "")


def test_no_other_place_meets_a_type_while_it_serves() -> None:
    """Decoders are made when a module is imported; what is handed a type at each call is `state` alone."""
    given = re.compile(
        r"msgspec\.convert\(|msgspec\.\w+\.decode\([^)]*type=|^ +.*msgspec\.\w+\.Decoder\(", re.M
    )
    packages = (linkscore_scoring, linkscore_server)
    files = [path for package in packages for path in Path(package.__path__[0]).rglob("*.py")]
    assert [path.name for path in files if given.search(path.read_text())] == ["state.py"]
