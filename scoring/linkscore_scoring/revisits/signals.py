"""What dates of sitemaps and feeds, and notices, say of changes, measured by what fetches then found.

A listing is read again and again. Of each page it lists, its date has moved past the last fetch, or it has
not. How much that says is the factor on the odds that the copy is stale: 1 if it says nothing, as a date that
every build moves. Both factors are counted from fetches of pages in the same state, so that choosing pages by
their state does not skew them. Of notices only that a page was named says anything: who names some changes
may be silent about others.

References
----------
Greedy-NCIS, arXiv 2502.02430: signals within the greedy rule. Here a signal acts on the worth of a fetch as
the time would have that makes a copy as stale. Measured is its likelihood ratio, which holds precision and
recall together.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.revisits.rates import Column
from linkscore_scoring.state import Stateful, Stored

_PRIOR = 2.0
"""Weight of the belief that a date says nothing, in fetches that surprise: some ten outweigh it. Chosen."""
_MOST = 200.0
"""A bound: where so much was counted, all counts are halved, so that a listing that fades is found out."""
_MOST_FACTOR = 1e6
"""A bound of what a signal multiplies the worth of a fetch by."""
_SMALL = 1e-3
"""Chance of being stale below which the formula would cancel, and its series is used."""


class Signals(Stateful):
    """Counts of one site. `moved` says whether the date of a page is later than its last fetch."""

    _moved: Stored[list[float]]
    _still: Stored[list[float]]

    def __init__(self) -> None:
        self._moved, self._still = [0.0, 0.0], [0.0, 0.0]

    def learn(self, *, stale: float, moved: bool, changed: bool, keep: float = 1.0) -> None:
        """Take in a fetch of a listed page.

        `stale`: chance that was given to its being changed, without the signal.
        `moved`, `changed`: what its date said, and what was found.
        `keep`: what earlier counts keep of themselves.
        """
        counts = self._moved if moved else self._still
        counts[:] = [keep * count for count in counts]
        if changed:
            counts[0] += 1.0 - stale  # E[changed (1 - p)] / E[unchanged p] is the factor on the odds of p
        else:
            counts[1] += stale
        if counts[0] + counts[1] > _MOST:
            counts[:] = [count / 2.0 for count in counts]

    def odds(self, *, moved: bool) -> float:
        """Return what the odds of being stale are multiplied by."""
        changed, same = self._moved if moved else self._still
        return (changed + _PRIOR) / (same + _PRIOR)

    def gain(self) -> float:
        """Return the share of a moved date that is news, in [0, 1]: 0 if it says nothing."""
        return max(0.0, 1.0 - 1.0 / self.odds(moved=True))

    def factors(self, fresh: Column, fresh_since: Column, moved: NDArray[np.bool_]) -> Column:
        """Return what the worth of fetches of listed pages is multiplied by, (n,) > 0.

        `fresh`: chance that each copy is as its page, without the signal, in (0, 1].
        `fresh_since`: chance that a page did not change after the listing was read, likewise.
        `moved`: whether the date of each has moved.
        """
        until = fresh / fresh_since  # as it was when the listing was read
        still = until / (until + (1.0 - until) * self.odds(moved=False)) * fresh_since
        told = np.where(moved, fresh / (fresh + (1.0 - fresh) * self.odds(moved=True)), still)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = _gain(1.0 - told) / _gain(1.0 - fresh)
        return np.where(fresh < 1.0, np.minimum(found, _MOST_FACTOR), 1.0)


def noticed(trust: Signals, fresh: Column, listed: Column, moved: NDArray[np.bool_]) -> Column:
    """Return what the worth of fetches of pages with notices is multiplied by, (n,) > 0.

    A notice never makes a fetch worth less: else who lies of some pages could hold others back. Where a
    date moved too, the better of both counts, for both tell of one change.

    `trust`: what notices were worth.
    `fresh`: chance that each copy is as its page, without any signal, in (0, 1].
    `listed`, `moved`: factors by the dates of listings, 1 where there is none; whether a date has moved.
    """
    ones = np.ones(len(fresh))
    told = np.maximum(1.0, trust.factors(fresh, ones, ones > 0.0))
    return np.where(moved, np.maximum(told, listed), told * listed)


def _gain(stale: Column) -> Column:
    """Return Azar's worth times the rate, by the chance of being stale: q + (1 - q) log(1 - q)."""
    safe = np.clip(stale, _SMALL, 1.0 - 1e-12)
    exact = safe + (1.0 - safe) * np.log1p(-safe)
    return np.where(stale < _SMALL, stale * stale / 2.0, exact)
