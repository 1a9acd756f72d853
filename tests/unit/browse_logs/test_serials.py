"""Numbers that grow: which are found, where they stand, and what lies beyond."""

from __future__ import annotations

import numpy as np
import pytest

from linkscore_scoring.browse_logs.behavior import Serial, find_serials, shape_of
from linkscore_scoring.browse_logs.patterns import key_values

DAYS = 30


def found(urls: list[str], first: list[int], visits: list[int]) -> dict[str, Serial]:
    pairs = [key_values(url) for url in urls]
    return find_serials(pairs, [shape_of(p, {}) for p in pairs], np.array(first), np.array(visits), DAYS)


def threads(n: int = 29, step: int = 5) -> tuple[list[str], list[int], list[int]]:
    """Return a thread a day, ids five apart, ten visits each."""
    return [f"http://h/show?t={100 + step * day}" for day in range(n)], list(range(n)), [10] * n


def test_ids_that_grow_by_five_a_day_are_found() -> None:
    serial = found(*threads())["p0*&?t#"]
    assert serial.keys == ("?t",)
    assert serial.frontier == 240
    assert serial.rate == pytest.approx(5.0, rel=0.5)
    assert serial.days_ahead(key_values("http://h/show?t=260")) == pytest.approx(20 / serial.rate)
    assert serial.days_ahead(key_values("http://h/show?t=5")) < 0


def test_numbers_that_say_nothing_of_birth_are_left_alone() -> None:
    urls, first, visits = threads()
    mixed = np.random.default_rng(1).permutation(len(urls))
    assert found([urls[i] for i in mixed], first, visits) == {}
    assert found(urls, first[::-1], visits) == {}, "numbers that fall are none that grow"


def test_stray_numbers_move_nothing_however_often_they_are_visited() -> None:
    urls, first, visits = threads()
    stray = [f"http://h/show?t={number}" for number in (290, 700, 900, 5_000, 70_000)]
    clean = found(urls, first, visits)["p0*&?t#"]
    serial = found([*urls, *stray], [*first, 3, 9, 14, 20, 27], [*visits, 40, 3, 12, 3, 20])["p0*&?t#"]
    assert serial.frontier == clean.frontier
    assert (serial.rate, serial.newborn) == (clean.rate, clean.newborn)


def test_the_second_page_of_a_thread_has_the_threads_number() -> None:
    urls, first, visits = threads()
    pages = [f"{url}&start=10" for url in urls[::4]]
    serials = found([*urls, *pages], [*first, *first[::4]], [*visits, *visits[::4]])
    assert serials["p0*&?start#&?t#"].keys == ("?t",)
    assert serials["p0*&?start#&?t#"].frontier == serials["p0*&?t#"].frontier
