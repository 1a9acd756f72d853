"""Sums of floats that are the same under every Python, and means of few."""

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


def shrunk(total: float, n: float, prior: float, prior_n: float) -> float:
    """Return the mean of `n` observations that sum to `total`, as if `prior_n` more had been worth `prior`.

    Applied down a hierarchy, each mean is the prior of the one below it. `n + prior_n` must not be 0.

    Source: the m-estimate, p = (k + m p0) / (n + m), of Cestnik, Estimating probabilities: a crucial task in
    machine learning, ECAI 1990; of counts it is the mean of the posterior of a Beta(m p0, m (1 - p0)).

    Examples
    --------
    >>> shrunk(3.0, 4.0, prior=0.3, prior_n=2.0)  # (3 + .6) / 6
    0.6
    """
    return (total + prior_n * prior) / (n + prior_n)
