"""Arms rewarded with the targets found behind them."""

from __future__ import annotations

from itertools import islice
from math import log, sqrt

from linkscore_scoring.state import Stateful, Stored

_ALMOST_NONE = 1e-6  # pulls of an arm nobody pulled, so that its bonus is large (Gauquier 2026)
_MAX_PAGES = 20_000  # pulls, and targets expected, that labels may still correct; a bound


class TargetArms(Stateful):
    """Mean number of targets per pull of each arm, with the bonus of AUER for sleeping bandits.

    A pull is rewarded at once with the targets that a classifier sees on the page, and corrected when labels
    say otherwise.

    Notes
    -----
    Source: Kleinberg, Niculescu-Mizil and Sharma, Regret bounds for sleeping experts and bandits, 2010, as
    used by Gauquier 2026: mean + alpha sqrt(ln t / n), n + 1e-6 where an arm was not pulled.

    Examples
    --------
    >>> arms = TargetArms()
    >>> arms.pulled(1, page=10, targets=[100, 101])
    >>> arms.pulled(1, page=11, targets=[])
    >>> arms.mean(1)
    1.0
    >>> arms.labelled(101, parents=[10], target=False)  # it only looked like one
    >>> arms.mean(1), round(arms.value(1, alpha=2.0), 2)
    (0.5, 1.98)
    """

    total: Stored[int]
    _arms: Stored[dict[int, list[float]]]
    _pulled: Stored[dict[int, int]]
    _expected: Stored[dict[int, int]]

    def __init__(self, *, max_pages: int = _MAX_PAGES) -> None:
        self.max_pages = max_pages
        self.total = 0
        self._arms, self._pulled, self._expected = {}, {}, {}

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
            for oldest in list(islice(table, max(0, len(table) - self.max_pages))):
                del table[oldest]

    def labelled(self, page: int, parents: list[int], *, target: bool) -> None:
        """Correct the reward of the pull that found a page: its expected finder, or its first parent."""
        finder = self._expected.pop(page, None)
        if finder is not None:
            self._arms[finder][1] -= not target
        elif target:
            arm = next((self._pulled[parent] for parent in parents if parent in self._pulled), None)
            if arm is not None:
                self._arms[arm][1] += 1.0
