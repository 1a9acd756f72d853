"""Notices that pages changed, and what they are worth: measured, as dates of sitemaps are.

A notice is news if it names a time after the last fetch of its page. The next fetch of the page finds out
whether it was true. Only that a page was named says anything: who names some changes may be silent about
others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.bounded import drop_oldest
from linkscore_scoring.revisits.pages import ENTRY_BYTES
from linkscore_scoring.revisits.signals import Signals
from linkscore_scoring.revisits.worth import Column
from linkscore_scoring.state import Flat, Stateful, Stored

MOST = 100_000
"""A bound: pages of a site with notices that no fetch has checked yet."""
_KEEP = 0.98
"""What counts of earlier fetches keep of themselves at each: some fifty count. To lie of pages that hardly
change surprises little, so trust that was earned would outlast many lies. Chosen, not measured."""
NOTED, REPEATED, UNKNOWN = 1, 2, 3
"""What becomes of a notice: taken in; nothing new; about a page that is not known, or gone."""


class Notices(Stateful):
    """Of one site: by key the first and the latest change told of since the last fetch, in seconds.

    Examples
    --------
    >>> notices = Notices()
    >>> _ = notices.add(7, 100.0)
    >>> notices.checked(7, 90.0, stale=0.1, changed=False)  # fetched before the change: that says nothing
    True
    >>> notices.checked(7, 110.0, stale=0.1, changed=True)
    False
    """

    trust: Stored[Signals]
    _told: Stored[Flat[dict[int, tuple[float, float]]]]

    def __init__(self) -> None:
        self.trust = Signals()
        self._told = {}

    def latest(self, key: int) -> float:
        """Return the latest change told of, 0 if none is."""
        return self._told.get(key, (0.0, 0.0))[1]

    def add(self, key: int, change_s: float) -> list[int]:
        """Take in a notice that is later than those before; return keys that are forgotten for it."""
        first, _ = self._told.get(key, (change_s, change_s))
        self._told[key] = (first, change_s)
        return [old for old, _ in drop_oldest(self._told, MOST)]

    def checked(self, key: int, now_s: float, *, stale: float, changed: bool) -> bool:
        """Take in a fetch of a page with notices; returns whether there are some after it.

        Parameters
        ----------
        key, now_s
            The page, and when it was fetched.
        stale
            Chance that was given to its being changed, without the notice.
        changed
            What was found.
        """
        first, latest = self._told.get(key, (0.0, 0.0))
        if first > now_s:
            return True
        self.trust.learn(stale=stale, moved=True, changed=changed, keep=_KEEP)
        if latest > now_s:
            self._told[key] = (latest, latest)
            return True
        self._told.pop(key, None)
        return False

    def factors(self, fresh: Column, listed: Column, moved: NDArray[np.bool_]) -> Column:
        """Return what the worth of fetches of pages with notices is multiplied by, (n,) > 0.

        A notice never makes a fetch worth less: else who lies of some pages could hold others back. Where a
        date moved too, the better of both counts, for both tell of one change.

        Parameters
        ----------
        fresh
            Chance that each copy is as its page, without any signal, in (0, 1].
        listed
            Factors by the dates of listings; 1 where there is none.
        moved
            Whether a date has moved.
        """
        every = np.ones(len(fresh), np.bool_)
        told = np.maximum(1.0, self.trust.factors(fresh, np.ones(len(fresh)), every))
        return np.where(moved, np.maximum(told, listed), told * listed)

    def memory_bytes(self) -> int:
        """Estimate what they take in memory: a pair beside each entry."""
        return (ENTRY_BYTES + 90) * len(self._told)
