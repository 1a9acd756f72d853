"""Costs compared with one another, in pairs and on the same machine: no test asserts seconds."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

MOST_GROWTH = 2**1.5
"""Of the cost, for twice the input: as far from the 2 of a linear cost as from the 4 of a square."""
NOISE_S = 0.03
"""Of CPU time: below that costs are not told apart, other programs on the machine make as much."""
_TRIES = 5
"""Measurements of each of the two, chosen; the least counts, since a busy machine only adds."""


def cpu_s(work: Callable[[], object]) -> float:
    """CPU time of this process for a piece of work, in seconds."""
    start = process_time()
    work()
    return process_time() - start


def check_growth(cost: Callable[[int], float], size: int, *, doublings: int = 1) -> None:
    """Assert that the cost of an input grows with its size and not with a power of it.

    Parameters
    ----------
    cost
        CPU time in seconds of an input of so many bytes, characters or items.
    size
        Of the smaller input; the larger is doubled so often.
    """
    larger, most = size * 2**doublings, MOST_GROWTH**doublings
    dear, cheap = cost(larger), cost(size)
    for _ in range(_TRIES - 1):
        if dear <= max(most * cheap, NOISE_S):
            return
        dear, cheap = min(dear, cost(larger)), min(cheap, cost(size))
    assert dear <= max(most * cheap, NOISE_S)
