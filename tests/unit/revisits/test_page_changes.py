"""What counts as a change of a page, and what is furniture."""

from __future__ import annotations

import pytest

from linkscore_scoring.revisits.changes import Stamps, changed_chars, own_difference


@pytest.mark.parametrize(
    ("unseen", "longer", "chars"),
    [(0, 0, 0), (100, 100, 100), (100, 20, 100), (50, -30, 80), (0, -80, 80), (0, 7, 7)],
)
def test_change_is_the_larger_of_what_came_and_what_went(unseen: int, longer: int, chars: int) -> None:
    assert changed_chars(unseen, longer) == chars


def test_lengths_are_compared_across_the_edge_of_sixteen_bits() -> None:
    assert own_difference(65_000, 66_000 % 65_536) == 1_000
    assert own_difference(66_000 % 65_536, 65_000) == -1_000


def test_stamp_that_every_fetch_brings_is_no_change_once_it_is_known() -> None:
    stamps = Stamps()
    found = [stamps.without(40 + fetch % 3) for fetch in range(200)]
    assert all(found[:7])
    assert not any(found[8:])
    assert sum(map(bool, found)) / len(found) <= 0.05


def test_own_text_beside_a_stamp_counts_without_it() -> None:
    stamps = Stamps()
    for _ in range(20):
        stamps.without(40)
    assert stamps.without(440) == pytest.approx(400, abs=4)


def test_changes_of_all_sizes_are_no_stamp() -> None:
    stamps = Stamps()
    assert all(stamps.without(20 + 37 * fetch % 900) for fetch in range(100))


def test_stamps_forget_and_keep_their_state() -> None:
    stamps = Stamps()
    for _ in range(2_000):
        stamps.without(40)
    again = Stamps()
    again.load_state(stamps.to_state())
    assert again.without(41) == 0
    assert stamps.to_state()["fetches"] <= 512


def test_a_number_that_grows_by_a_digit_is_no_change() -> None:
    assert Stamps().without(2) == 0
