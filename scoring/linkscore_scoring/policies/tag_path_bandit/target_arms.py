"""Arms rewarded with the targets found behind them, and the fetches that may still be rewarded."""

from __future__ import annotations

from itertools import islice
from math import log, sqrt
from typing import Any

from linkscore_scoring.errors import reading_state

_ALMOST_NONE = 1e-6


class TargetArms:
    """Mean number of targets per pull of each arm, with the bonus of AUER for sleeping bandits.

    A pull is rewarded at once with the targets that a classifier sees on the page, and corrected when labels
    say otherwise.

    Parameters
    ----------
    max_pages
        Pulls and expected targets remembered for correction, each; beyond it the oldest keep their reward.

    Notes
    -----
    Source: Kleinberg, Niculescu-Mizil and Sharma, Regret bounds for sleeping experts and bandits, 2010, as
    used by Gauquier 2026: mean + alpha sqrt(ln t / n), n + 1e-6 where an arm was not pulled.
    """

    def __init__(self, *, max_pages: int = 20_000) -> None:
        self.max_pages = max_pages
        self.total = 0
        self._arms: dict[int, list[float]] = {}
        self._pulled: dict[int, int] = {}
        self._expected: dict[int, int] = {}

    def pulls(self, arm: int) -> int:
        """Return how often an arm was pulled."""
        return int(self._arms.get(arm, (0.0, 0.0))[0])

    def mean(self, arm: int) -> float:
        """Return the mean number of targets a pull of an arm found."""
        n, found = self._arms.get(arm, (0.0, 0.0))
        return found / n if n else 0.0

    def value(self, arm: int, alpha: float) -> float:
        """Return mean plus alpha times the bonus."""
        return self.mean(arm) + alpha * sqrt(log(self.total + 1.0) / (self.pulls(arm) + _ALMOST_NONE))

    def pulled(self, arm: int, page: int, targets: list[int]) -> None:
        """Count a pull of an arm that fetched `page`, on which links to `targets` are new."""
        self.total += 1
        counts = self._arms.setdefault(arm, [0.0, 0.0])
        counts[0] += 1.0
        counts[1] += len(targets)
        self._pulled[page] = arm
        self._expected.update(dict.fromkeys(targets, arm))
        for table in (self._pulled, self._expected):
            for key in list(islice(table, max(0, len(table) - self.max_pages))):
                del table[key]

    def labelled(self, page: int, parents: list[int], *, target: bool) -> None:
        """Correct the reward of the pull that found a page: its expected finder, or its first parent."""
        finder = self._expected.pop(page, None)
        if finder is not None:
            self._arms[finder][1] -= not target
        elif target:
            arm = next((self._pulled[parent] for parent in parents if parent in self._pulled), None)
            if arm is not None:
                self._arms[arm][1] += 1.0

    def to_state(self) -> dict[str, Any]:
        """Return the arms as plain values."""
        return {
            "total": self.total,
            "arms": [[arm, *counts] for arm, counts in self._arms.items()],
            "pulled": list(self._pulled.items()),
            "expected": list(self._expected.items()),
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the arms of `to_state`.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state("target arms"):
            self.total = int(state["total"])
            self._arms = {int(arm): [float(n), float(found)] for arm, n, found in state["arms"]}
            self._pulled = {int(page): int(arm) for page, arm in state["pulled"]}
            self._expected = {int(page): int(arm) for page, arm in state["expected"]}
