"""The concentration above which a page is news, fitted on labelled pages (Wang 2008)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PAPER_THRESHOLD = 1.91
"""Threshold of Wang 2008, section 6.1, fitted on one site: what is used without labels."""


@dataclass(frozen=True, slots=True)
class NewsThreshold:
    """A threshold, and how it parts the labelled pages: news is what lies strictly above.

    Attributes
    ----------
    value
        The threshold.
    hits, misses, false_alarms, n
        Pages classified rightly, news below it, other pages above it, of how many labelled ones; 0 if it was
        not fitted.
    given
        Somebody gave it for this mining and those to come.
    """

    value: float
    hits: int = 0
    misses: int = 0
    false_alarms: int = 0
    n: int = 0
    given: bool = False

    def origin(self) -> str:
        """Say where the threshold comes from."""
        if self.given:
            return "given"
        return f"fitted on {self.n} labelled pages" if self.n else "not fitted"


def fit_threshold(values: NDArray[np.float64], is_news: NDArray[np.bool_]) -> NewsThreshold | None:
    """Return the threshold that classifies most labelled pages rightly, the larger one of equals.

    Candidates are the midpoints between neighbouring values. None if there is none: fewer than two different
    values, or pages of one kind only. Shapes: (n,) float64 and (n,) bool. Cost O(n log n). Source: Wang 2008,
    section 6.1; section 5.1 says "less" where it must be "greater".
    """
    order = np.argsort(values, kind="stable")
    ranked, news = values[order], is_news[order]
    cuts = np.flatnonzero(ranked[1:] > ranked[:-1])
    if not len(cuts) or news.all() or not news.any():
        return None
    below = np.cumsum(news)[cuts]
    above = int(news.sum()) - below
    hits = (cuts + 1 - below) + above
    best = len(hits) - 1 - int(np.argmax(hits[::-1]))
    cut = cuts[best]
    n = len(values)
    return NewsThreshold(
        value=float((ranked[cut] + ranked[cut + 1]) / 2),
        hits=int(hits[best]),
        misses=int(below[best]),
        false_alarms=int(n - cut - 1 - above[best]),
        n=n,
    )
