"""What pages have in common: those reached by one link path, of one URL pattern, change alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.revisits.worth import Column
from linkscore_scoring.state import Stateful, Stored

SHAPE = 0.5
"""Shape of what is believed of a page before it was fetched again: how far pages of one group differ; smaller
is farther. Chosen on the living synthetic corpus of .25, .5 and 1."""
_TRUST = 2.0
"""Changes that what is above a group counts for, beside those of the group itself; chosen likewise."""
_MOST = 3.0
"""Events of one page that count for its group, as many as there may be of it: chosen, not measured."""
MAX_GROUPS = 4_096
"""A bound: groups of one site; pages of later ones are counted for the site alone."""
_ROUNDS = 4
"""Times that a rate and the weights of its pages are made of each other; they settle in two or three."""


class PageGroups(Stateful):
    """Numbers the groups of one site, by link path and URL pattern. Group 0 is the rest of the site."""

    _keys: Stored[list[tuple[int, int]]]

    def __init__(self) -> None:
        self._keys = [(0, 0)]
        self._numbers = {(0, 0): 0}

    def __len__(self) -> int:
        return len(self._keys)

    def number(self, link_path: int, pattern: int) -> int:
        """Return the number of a group, a new one if it was not met and there is room, else 0."""
        key = (link_path, pattern)
        if key not in self._numbers:
            if len(self) >= MAX_GROUPS:
                return 0
            self._numbers[key] = len(self._keys)
            self._keys.append(key)
        return self._numbers[key]

    def after_load(self) -> None:
        """Number the groups as they were."""
        self._numbers = {key: number for number, key in enumerate(self._keys)}

    def link_paths(self) -> NDArray[np.intp]:
        """Return for each group the number of the first group of its link path, (n_groups,)."""
        first: dict[int, int] = {}
        return np.array([first.setdefault(path, number) for number, (path, _) in enumerate(self._keys)])


def fit(
    groups: NDArray[np.intp], above: NDArray[np.intp], counts: Column, days: Column, first_days: Column
) -> Column:
    """Return the mean days between two events on a page of each group, by kind of event, (n_kinds, n_groups).

    Link paths are drawn to the site, groups to their link path, each by `_TRUST` events. Of a page with many
    events, or watched so long that many were to be expected, some `_MOST` count: one list that changes every
    day does not make its whole site busy. Cost O(pages + groups); kinds are fitted together, each for itself.

    Parameters
    ----------
    groups
        Of each page, (n_pages,).
    above
        Of each group the number that stands for its link path, (n_groups,).
    counts, days
        Evidence of each page, (n_kinds, n_pages).
    first_days
        What is believed of a site before it taught anything, > 0, (n_kinds,).
    """
    site = _drawn(np.zeros_like(groups), counts, days, first_days[:, None])
    paths = _drawn(above[groups], counts, days, site.repeat(len(above), axis=1))
    return _drawn(groups, counts, days, paths[:, above])


def mean_days(counts: Column, days: Column, first_days: float) -> float:
    """Return the mean days between two events on pages of one kind, see `fit`; O(pages)."""
    site = np.zeros(len(counts), np.intp)
    return float(_drawn(site, counts[None], days[None], np.full((1, 1), first_days))[0, 0])


def _drawn(groups: NDArray[np.intp], counts: Column, days: Column, prior: Column) -> Column:
    """Return days between events by kind and group, drawn to a prior of each."""
    kinds, size = prior.shape
    bins = (size * np.arange(kinds)[:, None] + groups).ravel()
    counts, days, found = counts.ravel(), days.ravel(), prior.ravel()
    trusted = _TRUST * found
    for _ in range(_ROUNDS):
        weight = _MOST / (_MOST + np.maximum(counts, days / found[bins]))
        events = np.bincount(bins, weight * counts, len(found))
        watched = np.bincount(bins, weight * days, len(found))
        found = (trusted + watched) / (_TRUST + events)
    return found.reshape(prior.shape)
