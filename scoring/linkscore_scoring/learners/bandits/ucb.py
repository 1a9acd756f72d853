"""Upper confidence bounds."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, sqrt

import numpy as np

from linkscore_scoring.learners.bandits.base import Arm, Bandit, tie_of
from linkscore_scoring.learners.bandits.draws import Floats
from linkscore_scoring.learners.bandits.groups import Groups


class Ucb(Bandit):
    """The arm of highest mean + c sqrt(2 ln(t + 1) / n); an untried arm is worth 1 + c.

    Parameters
    ----------
    c
        Weight of the bonus, >= 0.

    Notes
    -----
    Source: Auer, Cesa-Bianchi and Fischer, Finite-time analysis of the multiarmed bandit problem, 2002, UCB1;
    sleeping arms after Kleinberg, Niculescu-Mizil and Sharma 2010. Difference: untried arms do not all come
    first. All bonuses grow with every pull, but arms with the same n keep their order: exact, at
    O(distinct n) a decision.
    """

    name = "ucb"

    def __init__(self, *, c: float = 0.1, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.c = c
        self._groups = Groups()

    def choose(self, seq: int) -> int:
        """Compare the best arms of each number of pulls."""
        if not len(self):
            raise LookupError("no arm is awake")
        tops = self._groups.tops()
        return max((mean + self._bonus(n), -tie_of(self.seed, arm), arm) for (n,), _, arm, mean in tops)[2]

    def values(self, arms: Sequence[int], seq: int) -> Floats:
        """Return the upper confidence bound of each arm."""
        known = [self.arms.get(arm) or Arm() for arm in arms]
        return np.array([_mean(arm) + self._bonus(arm.pulls) for arm in known], dtype=np.float64)

    def _bonus(self, n: float) -> float:
        return self.c * (sqrt(2.0 * log(self.pulls + 1.0) / n) if n else 1.0)

    def _index(self, arm: int, known: Arm) -> None:
        self._groups.put(arm, (known.pulls,), _mean(known), tie_of(self.seed, arm))

    def _unindex(self, arm: int) -> None:
        self._groups.discard(arm)


def _mean(arm: Arm) -> float:
    return arm.good / arm.pulls if arm.pulls else 1.0
