"""Ranks of scores within a site, for crawlers whose queues know only a few levels."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVELS = 32
_RECENT = 1_024
_ROUND = 6


class PriorityScale:
    """Cuts the scores of a site into `LEVELS` levels that keep their order.

    As long as a site has shown at most 32 distinct scores every one has its own level, counted from the top,
    so a policy of few values (a depth, a URL type) is kept exactly. With more, the cuts are the quantiles of
    the last 1,024 scores, drawn anew each time the number of scores seen has doubled: rarely, because a level
    once given stays in the crawler's queue. A scale that has seen no scores cuts [0, 1] into equal parts.
    """

    def __init__(self) -> None:
        self._cuts: list[float] = []
        self._recent: list[float] = []
        self._seen = 0
        self._next_cut = 2 * _RECENT

    def update(self, scores: Iterable[float]) -> None:
        """Take in scores that were handed out; amortised O(1) each."""
        for score in scores:
            rounded = round(score, _ROUND)
            self._remember(rounded)
            if len(self._cuts) < LEVELS - 1 and not self._has(rounded):
                insort(self._cuts, rounded)
        if self._seen >= self._next_cut:
            self._next_cut = 2 * self._seen
            self._cut_by_quantiles()

    def levels(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the level of each score, (n,) float64 whole numbers in 0..31, higher is better."""
        if not self._cuts:
            return np.clip(np.floor(scores * LEVELS), 0.0, LEVELS - 1.0)
        cuts = np.array(self._cuts)
        above = len(cuts) - np.searchsorted(cuts, np.round(scores, _ROUND), side="right")
        return np.asarray(LEVELS - 1 - above, dtype=np.float64)

    def _remember(self, score: float) -> None:
        if len(self._recent) < _RECENT:
            self._recent.append(score)
        else:
            self._recent[self._seen % _RECENT] = score
        self._seen += 1

    def _has(self, score: float) -> bool:
        at = bisect_left(self._cuts, score)
        return at < len(self._cuts) and self._cuts[at] == score

    def _cut_by_quantiles(self) -> None:
        distinct = sorted(set(self._recent))
        if len(distinct) < LEVELS:
            self._cuts = distinct[-(LEVELS - 1) :]
            return
        ranks = np.linspace(0.0, 1.0, LEVELS + 1)[1:-1]
        self._cuts = sorted(set(np.quantile(self._recent, ranks, method="nearest").tolist()))

    def to_state(self) -> dict[str, Any]:
        """Return the scale as plain values."""
        return {"cuts": self._cuts, "recent": self._recent, "seen": self._seen, "next_cut": self._next_cut}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the scale of `to_state`."""
        self._cuts = list(state["cuts"])
        self._recent = list(state["recent"])
        self._seen = int(state["seen"])
        self._next_cut = int(state["next_cut"])
