"""Turns of equals, and shares of the best."""

from __future__ import annotations

import pytest

from linkscore_scoring.learners.round_robin import RoundRobin, allocate_best


def test_equal_arms_take_turns_in_the_order_given() -> None:
    turns = RoundRobin([(5, 0.5), (9, 0.5), (1, 0.1)])
    assert [turns.take() for _ in range(5)] == [5, 9, 5, 9, 5]
    turns.discard(5)
    turns.discard(9)
    assert turns.take() == 1
    turns.discard(1)
    with pytest.raises(LookupError):
        turns.take()


def test_the_best_arm_is_dealt_all_that_waits_then_the_next() -> None:
    values, waiting = {1: 0.2, 2: 0.9, 3: 0.9}, {1: 9, 2: 2, 3: 4}
    assert allocate_best(values, waiting, 8) == {2: 2, 3: 4, 1: 2}
    assert allocate_best(values, waiting, 99) == {2: 2, 3: 4, 1: 9}
    assert allocate_best({}, {}, 3) == {}
