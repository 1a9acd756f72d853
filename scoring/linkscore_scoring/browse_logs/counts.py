"""The browse log of one site, counted: all that mining reads, with no client in it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

OUTSIDE = -1
"""Referrer of a record that came from another site, or from nowhere."""


def _none() -> Counts:
    return np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class BrowseCounts:
    """Visits of one site, or of all, within a window of days; one record per client, page and day.

    Attributes
    ----------
    first_day, n_days
        First day of the window as days since 1970-01-01 UTC, and its width.
    urls
        Identities of the pages of the site that were requested or that referred to one, distinct. Of all
        sites: also pages of others that referred to one.
    click_urls, click_days, clicks
        Columns of equal length, one row per page and day with clients: index into `urls`, day of the window
        (0 is the first), distinct clients >= 1.
    from_urls, to_urls, transits
        Columns of equal length, one row per pair of referrer and target: index into `urls` of each
        (`from_urls` may be `OUTSIDE`), records >= 1. For every page the sum of its `transits` as a target is
        the sum of its `clicks`.
    left_out
        Visits of the window that are not counted, their clients being taken for programs.

    Examples
    --------
    Two days; on the first two people came to the front page and one of them went on to a thread.

    >>> import numpy as np
    >>> counts = BrowseCounts(
    ...     n_days=2,
    ...     urls=["http://a.example/", "http://a.example/thread/1"],
    ...     click_urls=np.array([0, 1]),
    ...     click_days=np.array([0, 0]),
    ...     clicks=np.array([2, 1]),
    ...     from_urls=np.array([OUTSIDE, 0]),
    ...     to_urls=np.array([0, 1]),
    ...     transits=np.array([2, 1]),
    ... )
    >>> counts.visits().tolist(), counts.referrals().tolist()
    ([2, 1], [1, 0])
    """

    first_day: int = 0
    n_days: int = 0
    urls: list[str] = field(default_factory=list)
    click_urls: Counts = field(default_factory=_none)
    click_days: Counts = field(default_factory=_none)
    clicks: Counts = field(default_factory=_none)
    from_urls: Counts = field(default_factory=_none)
    to_urls: Counts = field(default_factory=_none)
    transits: Counts = field(default_factory=_none)
    left_out: int = 0

    def visits(self) -> Counts:
        """Return the records of each page, (n_urls,): F_in of Liu 2011."""
        return np.bincount(self.to_urls, self.transits, len(self.urls)).astype(np.int64)

    def referrals(self) -> Counts:
        """Return the records that each page referred, (n_urls,): F_out of Liu 2011."""
        inside = self.from_urls != OUTSIDE
        return np.bincount(self.from_urls[inside], self.transits[inside], len(self.urls)).astype(np.int64)
