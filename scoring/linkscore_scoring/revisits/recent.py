"""How far pages that changed lately change more than is believed of them, and others less: measured.

An even rate does not hold on real sites: a page is edited for some days, then left alone, and most of all
when it is new. So beside its belief each page is of a level, by the changes that its last fetches found. Of
each level is counted how many fetches found a change, and of how many one was to be expected. Where rates are
even both are alike, and nothing follows.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.revisits.worth import Column
from linkscore_scoring.state import Stateful, Stored

_LEVELS = (0.3, 0.8)
"""Own changes, as far as they are remembered, from which on a page is of the next level: one change that ten
fetches or two came after. Chosen on the logs til and hugo_docs at ten fetches a page and year."""
_PRIOR = 5.0
"""Changes that a level must be believed to be like the others for. Of 5 and 20, chosen likewise."""


class RecentChanges(Stateful):
    """Counts of one site: new pages, which were not fetched again yet, and each level of the others.

    Examples
    --------
    New pages were found changed ten times, where one change was to be expected.

    >>> recent = RecentChanges()
    >>> for _ in range(10):
    ...     recent.learn(changes=0.0, watched=0.0, expected=0.1, changed=True)
    >>> recent.factor(changes=0.0, watched=0.0), recent.factor(changes=0.0, watched=1.0)
    (2.5, 1.0)
    """

    _found: Stored[list[float]]
    _expected: Stored[list[float]]

    def __init__(self) -> None:
        self._found, self._expected = [0.0] * (len(_LEVELS) + 2), [0.0] * (len(_LEVELS) + 2)

    def __bool__(self) -> bool:
        """Say whether anything was counted."""
        return any(self._expected)

    def learn(self, *, changes: float, watched: float, expected: float, changed: bool) -> None:
        """Take in a fetch: the row of its page before, the chance given to a change, and what was found."""
        level = _level(changes, watched)
        self._found[level] += changed
        self._expected[level] += expected

    def factor(self, changes: float, watched: float) -> float:
        """Return what the rate of a page is multiplied by."""
        return self._factors()[_level(changes, watched)]

    def factors(self, changes: Column, watched: NDArray[np.float16]) -> Column:
        """Return `factor` of many pages, (n,)."""
        levels = np.searchsorted(_LEVELS, changes, side="right") + 1
        levels[watched == 0.0] = 0
        return np.array(self._factors())[levels]

    def _factors(self) -> list[float]:
        return [
            (found + _PRIOR) / (expected + _PRIOR)
            for found, expected in zip(self._found, self._expected, strict=True)
        ]


def _level(changes: float, watched: float) -> int:
    return bisect_right(_LEVELS, changes) + 1 if watched else 0
