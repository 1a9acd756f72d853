"""How often a page changes, from what its fetches found: changed since the last one, or not.

Changes are taken for a Poisson process. Times are in days, rates in changes a day.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from linkscore_scoring.sums import left_sum

_STEPS = 200
"""A bound: bisections of `poisson_rate`; 60 halve an interval to the last bit."""
_AT_ONCE = 1e-9
"""Share of the time behind a belief below which a wait counts as none: powers would cancel."""


def poisson_rate(changed: Sequence[float], unchanged: Sequence[float]) -> float:
    """Return the rate that makes what was seen likeliest; no prior, for comparisons.

    It solves sum over changed of t / (exp(D t) - 1) = sum over unchanged of t.

    Parameters
    ----------
    changed, unchanged
        Days between two fetches, > 0, where the later one found a change, and where it found none.

    Returns
    -------
    float
        Changes a day: 0 if nothing changed, infinite if everything did.

    References
    ----------
    Cho and Garcia-Molina, Estimating frequency of change, ACM TOIT 3(3), 2003, eq. 8.

    Examples
    --------
    One change in two days of daily looks: e^-D = 1/2.

    >>> round(poisson_rate([1.0], [1.0]), 6) == round(math.log(2), 6)
    True
    """
    if not changed:
        return 0.0
    still = left_sum(unchanged)
    if still <= 0.0:
        return math.inf
    low, high = 0.0, len(changed) / still  # t / (e^(D t) - 1) < 1 / D
    for _ in range(_STEPS):
        rate = (low + high) / 2.0
        if rate in (low, high):
            break
        if left_sum(_excess(rate, t) for t in changed) > still:
            low = rate
        else:
            high = rate
    return (low + high) / 2.0


def _excess(rate: float, waited: float) -> float:
    """Return t / (e^(D t) - 1)."""
    grown = rate * waited
    return waited / math.expm1(grown) if grown < 700.0 else 0.0  # e^709 is the largest float


class Belief(NamedTuple):
    """What is believed of a rate: a Gamma distribution.

    Attributes
    ----------
    shape
        Changes behind it, > 0.
    days
        Days behind it, > 0.
    """

    shape: float
    days: float

    @property
    def mean(self) -> float:
        """Changes a day to expect."""
        return self.shape / self.days

    def interval(self, share: float = 0.9) -> tuple[float, float]:
        """Return bounds that the rate is between with this probability, as much of it below as above.

        Examples
        --------
        >>> low, high = Belief(1.0, 10.0).interval(0.9)  # exponential: -ln(.95) / 10, -ln(.05) / 10
        >>> round(low, 5), round(high, 5)
        (0.00513, 0.29957)
        """
        from scipy.special import gammaincinv  # slow to import: only for people

        beside = (1.0 - share) / 2.0
        return (
            float(gammaincinv(self.shape, beside)) / self.days,
            float(gammaincinv(self.shape, 1.0 - beside)) / self.days,
        )

    def after(self, waited: float, *, changed: bool) -> Belief:
        """Return the belief after one more fetch; O(1), nothing else is kept of it.

        Without a change it is exact. After a change, the exact posterior is replaced by the Gamma
        distribution of the same mean and variance.

        Parameters
        ----------
        waited
            Days since the fetch before, >= 0.
        changed
            Whether the page changed in them, once or more often.

        References
        ----------
        Minka, A family of algorithms for approximate Bayesian inference, 2001 (assumed density filtering).
        The moments follow from P(changed | D) = 1 - e^(-D t) and the Laplace transform of the Gamma density.
        """
        if not changed:
            return Belief(self.shape, self.days + waited)
        shape, days = self
        if waited <= _AT_ONCE * days:
            return Belief(shape + 1.0, days)  # the limit: likelihood D t
        log = math.log1p(waited / days)
        seen = -math.expm1(-shape * log)
        first = (shape / days) * -math.expm1(-(shape + 1.0) * log) / seen
        second = (shape * (shape + 1.0) / days**2) * -math.expm1(-(shape + 2.0) * log) / seen
        spread = max(second - first * first, 1e-300)
        return Belief(first * first / spread, first / spread)
