"""The checker of histories: good ones pass, each kind of bad one is caught."""

from __future__ import annotations

import pytest

from campaigns.history import Call, Outcome, violations

DONE, AGAIN, REFUSED, UNKNOWN = Outcome.DONE, Outcome.AGAIN, Outcome.REFUSED, Outcome.UNKNOWN


def page(began: float, ended: float, outcome: Outcome = DONE, *, name: str = "a", seq: int = 0) -> Call:
    return Call(1, began, ended, "page", outcome, write=name, seq=seq)


def read(began: float, ended: float, pages: int, *, seq: int = 0) -> Call:
    return Call(2, began, ended, "read", DONE, seq=seq, counts=(("page", pages),))


@pytest.mark.parametrize(
    "history",
    [
        [page(0, 1, seq=2), read(2, 3, 1, seq=2), page(4, 5, name="b", seq=3), read(6, 7, 2, seq=3)],
        [page(0, 3), read(1, 2, 0), read(1, 2, 1)],
        [page(0, 1, UNKNOWN), read(2, 3, 0), read(4, 5, 1)],
        [page(0, 1, UNKNOWN), read(2, 3, 0), page(4, 5, DONE), read(6, 7, 1)],
        [page(0, 1, UNKNOWN), page(2, 3, AGAIN), read(4, 5, 1)],
        [page(0, 1, REFUSED), read(2, 3, 0), page(4, 5, DONE), read(6, 7, 1)],
        [page(0, 1, DONE), page(2, 3, AGAIN), read(4, 5, 1)],
        [read(0, 5, 0, seq=3), read(1, 2, 0, seq=3)],
    ],
    ids=["one by one", "at once", "late", "never", "repeated", "refused", "sent again", "overlapping"],
)
def test_a_history_that_can_be_is_passed(history: list[Call]) -> None:
    assert violations(history) == []


@pytest.mark.parametrize(
    ("history", "says"),
    [
        ([page(0, 1), read(2, 3, 0)], "0 of kind page, where 1 to 1"),
        ([page(0, 1, AGAIN), read(2, 3, 0)], "0 of kind page, where 1 to 1"),
        ([page(0, 1, REFUSED), read(2, 3, 1)], "1 of kind page, where 0 to 0"),
        ([read(0, 1, 1), page(2, 3)], "1 of kind page, where 0 to 0"),
        ([page(0, 1, UNKNOWN), page(2, 3, UNKNOWN), read(4, 5, 2)], "2 of kind page, where 0 to 1"),
        ([page(0, 1), page(2, 3)], "a took place twice"),
        ([page(0, 1, UNKNOWN), page(2, 3, AGAIN), page(4, 5, DONE)], "a was lost"),
        ([page(0, 1, AGAIN)], "a is a duplicate of nothing"),
        ([page(0, 1, REFUSED), page(2, 3, AGAIN)], "a is a duplicate of nothing"),
        ([page(2, 3, AGAIN), page(4, 5, UNKNOWN)], "a is a duplicate of nothing"),
        ([page(0, 1, seq=9), page(2, 3, name="b", seq=8)], "went back from event 9 to 8"),
        ([read(0, 1, 0, seq=9), read(2, 3, 0, seq=8)], "went back from event 9 to 8"),
        ([page(0, 9), read(1, 2, 0, seq=4), read(3, 4, 1, seq=4)], "two states after event 4"),
    ],
)
def test_a_history_that_cannot_be_is_caught(history: list[Call], says: str) -> None:
    assert any(says in line for line in violations(history))
    assert any(says in line for line in violations(history[::-1])), "their order in the list says nothing"
