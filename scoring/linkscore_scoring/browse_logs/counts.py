"""The browse log of one site, counted: all that mining reads, with no client in it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from linkscore_scoring.columns import Ints

OUTSIDE = -1
"""Referrer of a record that came from another site, or from nowhere."""


def _none() -> Ints:
    return np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class BrowseCounts:
    """Visits of one site, or of all, within a window of days; one record per client, page and day."""

    first_day: int = 0  # first day of the window as days since 1970-01-01 UTC, and its width
    n_days: int = 0
    # Identities of the pages of the site that were requested or that referred to one, distinct.
    urls: list[str] = field(default_factory=list)
    # One row per page and day with clients: index into `urls`, day of the window, distinct clients >= 1.
    click_urls: Ints = field(default_factory=_none)
    click_days: Ints = field(default_factory=_none)
    clicks: Ints = field(default_factory=_none)
    # One row per pair of referrer and target: index into `urls` of each (`from_urls` may be `OUTSIDE`),
    # records >= 1. For every page the sum of its `transits` as a target is the sum of its `clicks`.
    from_urls: Ints = field(default_factory=_none)
    to_urls: Ints = field(default_factory=_none)
    transits: Ints = field(default_factory=_none)
    left_out: int = 0  # visits of the window that are not counted, their clients being taken for programs

    def first_days(self) -> Ints:
        """Return the day of each page's first click, (n_urls,), `n_days` if there is none."""
        first = np.full(len(self.urls), self.n_days, dtype=np.int64)
        np.minimum.at(first, self.click_urls, self.click_days)
        return first

    def visits(self) -> Ints:
        """Return the records of each page, (n_urls,): F_in of Liu 2011."""
        return np.bincount(self.to_urls, self.transits, len(self.urls)).astype(np.int64)
