"""Labels of a link's parents and siblings: is it found on good pages, and next to good ones?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.columns import Repeated
from linkscore_scoring.state import Stateful, Stored

KINDS = ("good parents", "bad parents", "good siblings", "bad siblings")
"""Columns of `NeighbourLabels.counts`."""

_NONE = (0, 0)  # bad and good children of a page that has none
_MAX_PAGES = 50_000  # pages; a bound


class NeighbourLabels(Stateful):
    """Labels of pages, and per page the labels of the pages it links to; crawl-wide, by identity hash.

    Parameters
    ----------
    max_pages
        Labelled pages and parents kept, each; beyond it the oldest are forgotten.

    Examples
    --------
    Page 1 is good and links to 2 (good) and 3 (bad); what does a link on page 1 have around it?

    >>> labels = NeighbourLabels()
    >>> labels.note(1, [], True)
    >>> labels.note(2, [1], True)
    >>> labels.note(3, [1], False)
    >>> dict(zip(KINDS, labels.counts([[1]])[0].tolist()))
    {'good parents': 1.0, 'bad parents': 0.0, 'good siblings': 1.0, 'bad siblings': 1.0}
    """

    _labels: Stored[dict[int, bool]]
    _children: Stored[dict[int, tuple[int, int]]]

    def __init__(self, *, max_pages: int = _MAX_PAGES) -> None:
        self.max_pages = max_pages
        self._labels, self._children = {}, {}

    def label(self, page: int) -> bool | None:
        """Return the label of a page, None if it has none."""
        return self._labels.get(page)

    def note(self, page: int, parents: Iterable[int], relevant: bool) -> None:
        """Label a page known from `parents`; a second label replaces the first."""
        before = self._labels.get(page)
        if before is relevant:
            return
        self._labels[page] = relevant
        for parent in dict.fromkeys(parents):
            bad, good = self._children.get(parent, _NONE)
            if before is not None:
                bad, good = (bad - 1, good) if relevant else (bad, good - 1)
            self._children[parent] = (max(0, bad + (not relevant)), max(0, good + relevant))
        for table in (self._labels, self._children):
            _trim(table, self.max_pages)

    def counts(self, parents: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return how many good and bad parents and siblings links have, (n, 4) float64, columns as `KINDS`.

        Parameters
        ----------
        parents
            Pages each link was seen on. A sibling that shares two parents counts twice.
        """
        given = Repeated.of(map(tuple, parents))  # links of a menu have theirs in common
        rows = np.array(list(map(self._count, given.distinct)), dtype=np.float64)
        return rows.reshape(-1, len(KINDS))[given.places]

    def _count(self, parents: Sequence[int]) -> tuple[int, int, int, int]:
        good = bad = good_siblings = bad_siblings = 0
        for parent in parents:
            label = self._labels.get(parent)
            if label is not None:
                good += label
                bad += not label
            siblings = self._children.get(parent)
            if siblings is not None:
                bad_siblings += siblings[0]
                good_siblings += siblings[1]
        return good, bad, good_siblings, bad_siblings


def _trim(table: dict[int, Any], most: int) -> None:
    for oldest in list(islice(table, max(0, len(table) - most))):
        del table[oldest]
