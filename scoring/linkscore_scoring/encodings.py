"""Scores as the numbers that crawlers order their queues by.

Every crawler has a range and a direction of its own; `ENCODINGS` has one function for each. An encoding keeps
the order of scores as far as its range allows: crawlers that know only a few levels get the rank of a score
within its site (`PriorityScale`), not a linear cut of [0, 1], because the scores of a site often lie close
together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.state import Stateful, Stored

LEVELS = 32
"""Levels of a site's scores. Chosen, not measured: 4 apart they fill 1..127, 8 apart a signed byte."""

_RECENT = 1_024
"""Latest scores whose quantiles are the cuts: 32 a level. Chosen, not measured."""

_DECIMALS = 6
"""Scores that differ by less are one score: the error of floating point must not open a level."""


class PriorityScale(Stateful):
    """Cuts the scores of a site into `LEVELS` levels that keep their order.

    As long as a site has shown at most 32 distinct scores every one has its own level, counted from the top,
    so a policy of few values (a depth, a URL type) is kept exactly. With more, the cuts are the quantiles of
    the last 1,024 scores, drawn anew each time the number of scores seen has doubled: rarely, because a level
    once given stays in the crawler's queue. A scale that has seen no scores cuts [0, 1] into equal parts.
    """

    _cuts: Stored[list[float]]
    _recent: Stored[deque[float]]
    _seen: Stored[int]
    _next_cut: Stored[int]

    def __init__(self) -> None:
        self._cuts, self._recent = [], deque(maxlen=_RECENT)
        self._seen, self._next_cut = 0, 2 * _RECENT

    def update(self, scores: NDArray[np.float64]) -> None:
        """Take in scores that were answered; those of one answer that are equal count once."""
        new = dict.fromkeys(scores.tolist())
        self._recent.extend(new)
        self._seen += len(new)
        if len(self._cuts) < LEVELS - 1:
            shown = dict.fromkeys([*self._cuts, *(round(score, _DECIMALS) for score in new)])
            self._cuts = sorted(list(shown)[: LEVELS - 1])
        if self._seen >= self._next_cut:
            self._next_cut = 2 * self._seen
            self._cut_by_quantiles()

    def levels(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the level of each score, (n,) float64 whole numbers in 0..31, higher is better."""
        if not self._cuts:
            return np.clip(np.floor(scores * LEVELS), 0.0, LEVELS - 1.0)
        cuts = np.array(self._cuts)
        above = len(cuts) - np.searchsorted(cuts, np.round(scores, _DECIMALS), side="right")
        return np.asarray(LEVELS - 1 - above, dtype=np.float64)

    def _cut_by_quantiles(self) -> None:
        recent = [round(score, _DECIMALS) for score in self._recent]
        distinct = sorted(set(recent))
        if len(distinct) < LEVELS:
            self._cuts = distinct[-(LEVELS - 1) :]
            return
        ranks = np.linspace(0.0, 1.0, LEVELS + 1)[1:-1]
        self._cuts = sorted(set(np.quantile(recent, ranks, method="nearest").tolist()))


Encode = Callable[[NDArray[np.float64], PriorityScale], NDArray[np.float64]]
"""Turns scores, (n,) float64 in [0, 1], into priorities, (n,) float64; ranks come from the scale."""


def _places_from_the_top(scores: NDArray[np.float64], scale: PriorityScale) -> NDArray[np.float64]:
    """Return 0 for the best level, 1 for the next: for crawlers that take the lowest number first."""
    return LEVELS - 1 - scale.levels(scores)


ENCODINGS: Mapping[str, Encode] = MappingProxyType(
    {
        # ACHE relevance: the scores, higher first; at least 1e-9 because ACHE drops what has 0.
        "ache": lambda scores, scale: np.maximum(scores, 1e-9),
        # Crawlee `forefront`: 1 for the better half of the levels, else 0.
        "crawlee": lambda scores, scale: (scale.levels(scores) >= LEVELS / 2).astype(np.float64),
        # crawler4j priority: whole numbers -128..120, lower first, 8 apart.
        "crawler4j": lambda scores, scale: -128.0 + 8.0 * _places_from_the_top(scores, scale),
        # Frontera score: the scores, higher first.
        "frontera": lambda scores, scale: scores,
        # Heritrix precedence: whole numbers 1..127, lower first, 4 apart.
        "heritrix": lambda scores, scale: 1.0 + 4.0 * _places_from_the_top(scores, scale),
        # Nutch score: the scores, higher first.
        "nutch": lambda scores, scale: scores,
        # Scrapy `Request.priority`: whole numbers 0..31, higher first.
        "scrapy": lambda scores, scale: scale.levels(scores),
        # URLFrontier next fetch date: whole seconds 1..1000001, lower first; 0 would mean never.
        "urlfrontier": lambda scores, scale: 1.0 + np.round((1.0 - scores) * 1e6),
    }
)
"""Every encoding by name; names are those of the wire enum `PriorityEncoding`, lower case."""
