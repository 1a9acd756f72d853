"""Thompson sampling that forgets."""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1, log1p
from typing import Any

from linkscore_scoring.errors import reading_state
from linkscore_scoring.learners.bandits.base import Arm, Bandit, tie_of
from linkscore_scoring.learners.bandits.draws import Floats, beta, uniform
from linkscore_scoring.learners.bandits.groups import Groups
from linkscore_scoring.learners.bandits.posteriors import highest_drawn

_LATE = 0.1
_GRID = 0.1
_NOTHING = 0.01


class DiscountedThompson(Bandit):
    """Each arm draws from Beta(S + 1, F + 1); S and F fade by gamma with every pull of any arm.

    Parameters
    ----------
    gamma
        Discount a pull, in (0, 1); 0.999 remembers about a thousand pulls.

    Notes
    -----
    Source: Raj and Kalyani, Taming non-stationary bandits, 2017. Two named approximations keep a decision at
    O(distinct posteriors): counts fade in steps of 0.1 / (1 - gamma) pulls, at most 11 % too high; `choose`
    rounds 1 + S and 1 + F to a grid of 10 %, an error of at most 5 %, which `values` does not do.
    Counts below 0.01 are taken for 0.
    """

    name = "discounted_thompson"

    def __init__(self, *, gamma: float = 0.999, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.gamma = gamma
        self._step = max(1, int(_LATE / (1.0 - gamma)))
        self._touched: dict[int, None] = {}
        self._groups = Groups()

    def choose(self, seq: int) -> int:
        """Return the arm whose group drew highest."""
        return highest_drawn(self._groups, self.seed, seq)

    def values(self, arms: Sequence[int], seq: int) -> Floats:
        """Return a draw of each arm's posterior."""
        good, bad, _ = self._known(arms)
        return beta(good, bad, uniform(self.seed, seq, arms))

    def reward(self, arm: int, reward: float) -> None:
        """Count one pull, and let all arms fade when it is time."""
        super().reward(arm, reward)
        self._touched[arm] = None
        if self.pulls % self._step == 0:
            self._fade(self.gamma**self._step)

    def _fade(self, keep: float) -> None:
        for arm in list(self._touched):
            known = self.arms.get(arm)
            if known is None:
                del self._touched[arm]
                continue
            known.good, known.bad = known.good * keep, known.bad * keep
            if known.pulls < _NOTHING:
                known.good = known.bad = 0.0
                del self._touched[arm]
            if self.is_awake(arm):
                self._index(arm, known)

    def _index(self, arm: int, known: Arm) -> None:
        good, bad = (expm1(_GRID * round(log1p(count) / _GRID)) for count in (known.good, known.bad))
        self._groups.put(arm, (good, bad, 1.0), 0.0, tie_of(self.seed, arm))

    def _unindex(self, arm: int) -> None:
        self._groups.discard(arm)

    def to_state(self) -> dict[str, Any]:
        """Return arms, and those that fade."""
        return {**super().to_state(), "touched": list(self._touched)}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the arms."""
        super().load_state(state)
        with reading_state(f"bandit {self.name}"):
            self._touched = dict.fromkeys(state["touched"])
