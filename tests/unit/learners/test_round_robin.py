"""Shares of the best arms, equals in turns."""

from __future__ import annotations

from linkscore_scoring.policies.answers import allocate_best


def test_the_best_arm_is_dealt_all_that_waits_then_the_next() -> None:
    values, waiting = {1: 0.2, 2: 0.9, 3: 0.9}, {1: 9, 2: 2, 3: 4}
    assert allocate_best(values, waiting, 8) == {2: 2, 3: 4, 1: 2}
    assert allocate_best(values, waiting, 99) == {2: 2, 3: 4, 1: 9}
    assert allocate_best({}, {}, 3) == {}
