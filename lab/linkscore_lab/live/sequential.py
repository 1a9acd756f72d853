"""The difference of two means with an interval that holds at every look, not only at a last one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.sums import left_sum

_TIGHTEST_AT = 100
"""Observations at which the interval is as narrow as it can be made; it is wider before and after by some
percent. Chosen: experiments of some hundred sites."""
_PSEUDO = (0.0, 1.0)
"""Added to the observations of either side where the spread is estimated: of few that are all alike it would
be none, and the interval a point."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two means and its interval.

    Attributes
    ----------
    value
        Mean of the second sample minus that of the first.
    half_width
        Half the width of the interval.
    """

    value: float
    half_width: float

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.value + self.half_width


def difference(first: Sequence[float], second: Sequence[float], *, level: float = 0.95) -> Difference:
    """Return how much more the second sample has than the first, of independent values in [0, 1].

    The interval is an asymptotic confidence sequence: with probability `level` it has the true difference at
    all looks together, so one may look after each observation and stop at will. It is some 1.5 to 2 times as
    wide as one for a single look.

    Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas 2024, Time-uniform central limit theory and
    asymptotic confidence sequences, Annals of Statistics 52, theorem 2.2 with rho of their equation for one
    sample size; for two samples, the variance of the difference is that of either mean added, as in Welch's
    test. Differs: two pseudo observations in each spread.

    Examples
    --------
    >>> found = difference([0.1, 0.3] * 30, [0.5, 0.7] * 30)
    >>> f"{found.value:.2f} in {found.low:.2f} to {found.high:.2f}"
    '0.40 in 0.32 to 0.48'
    """
    a, b = np.array(first, dtype=np.float64), np.array(second, dtype=np.float64)
    alpha, n = 1.0 - level, len(a) + len(b)
    spread = n * (_variance(a) / len(a) + _variance(b) / len(b))
    odds = -2.0 * math.log(alpha)
    rho = (odds + math.log(odds) + 1.0) / _TIGHTEST_AT  # squared
    grown = n * rho + 1.0
    half = math.sqrt(spread * 2.0 * grown / (n * n * rho) * math.log(math.sqrt(grown) / alpha))
    return Difference(_mean(b) - _mean(a), half)


def _mean(values: NDArray[np.float64]) -> float:
    return left_sum(values.tolist()) / len(values)


def _variance(values: NDArray[np.float64]) -> float:
    return float(np.var([*values, *_PSEUDO], ddof=1))
