"""Sums of floats that are the same under every Python."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import add


def left_sum(values: Iterable[float]) -> float:
    """Return the sum of floats, added from left to right; 0 of none.

    The built-in `sum` compensates for rounding from Python 3.12 on, so that the last bits of a score, and
    with them the order of a crawl, would depend on the version. It is for whole numbers.

    Examples
    --------
    >>> left_sum([0.1] * 10)
    0.9999999999999999
    """
    return reduce(add, values, 0)
