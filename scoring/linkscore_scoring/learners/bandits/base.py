"""What a bandit is: arms that wake and sleep, rewards, decisions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from linkscore_scoring.errors import reading_state
from linkscore_scoring.learners.bandits.draws import Floats, uniform

_COIN, _WHICH = -1, -2
"""Arms that draw the coin of exploration and the arm to explore; real arms are >= 0."""


@dataclass(slots=True)
class Arm:
    """What is known of an arm: rewards of its pulls, and the best that waits in its queue.

    Attributes
    ----------
    good, bad
        Sum of rewards, and of 1 - reward.
    best
        Highest predicted probability among what is queued, [0, 1].
    """

    good: float = 0.0
    bad: float = 0.0
    best: float = 1.0

    @property
    def pulls(self) -> float:
        """Rewards that have come."""
        return self.good + self.bad


class Bandit(ABC):
    """A sleeping bandit: only awake arms, those with something queued, can be chosen.

    Two ways to ask: `choose` picks among all awake arms and is the one for millions of them; `values` gives
    numbers for the arms named, highest first, for callers that know which arms are awake. Every draw is a
    function of (seed, seq, arm). Asking changes nothing.

    Parameters
    ----------
    seed
        Seed of the crawl.

    Attributes
    ----------
    pulls
        Rewards that have come.
    arms
        What is known of each arm; at most `max_arms`, beyond that those met first are forgotten.
    """

    name: ClassVar[str]
    max_arms = 1_000_000

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed
        self.pulls = 0
        self.arms: dict[int, Arm] = {}
        self._awake: list[int] = []
        self._places: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._awake)

    def is_awake(self, arm: int) -> bool:
        """Say whether an arm can be chosen."""
        return arm in self._places

    def offer(self, arm: int, best: float = 1.0) -> None:
        """Wake an arm, or tell that the best in its queue has changed; arms are numbers >= 0."""
        known = self._arm(arm)
        known.best = best
        if arm not in self._places:
            self._places[arm] = len(self._awake)
            self._awake.append(arm)
        self._index(arm, known)

    def withdraw(self, arm: int) -> None:
        """Let an arm sleep: its queue is empty. What it earned is kept."""
        place = self._places.pop(arm, None)
        if place is None:
            return
        last = self._awake.pop()
        if last != arm:
            self._awake[place] = last
            self._places[last] = place
        self._unindex(arm)

    def reward(self, arm: int, reward: float) -> None:
        """Count one pull of an arm, awake or not, and its reward in [0, 1]."""
        known = self._arm(arm)
        known.good += reward
        known.bad += 1.0 - reward
        self.pulls += 1
        if arm in self._places:
            self._index(arm, known)

    def revise(self, arm: int, change: float) -> None:
        """Change the reward of a pull that was counted before."""
        known = self._arm(arm)
        known.good = max(0.0, known.good + change)
        known.bad = max(0.0, known.bad - change)
        if arm in self._places:
            self._index(arm, known)

    @abstractmethod
    def choose(self, seq: int) -> int:
        """Return the arm to pull at event `seq`.

        Raises
        ------
        LookupError
            If no arm is awake.
        """

    @abstractmethod
    def values(self, arms: Sequence[int], seq: int) -> Floats:
        """Return what arms are worth at event `seq`, (n,) float64; the highest is the one to pull."""

    def _index(self, arm: int, known: Arm) -> None:  # noqa: B027 - a bandit may need no index
        """Note an arm that is awake, or whose numbers have changed."""

    def _unindex(self, arm: int) -> None:  # noqa: B027
        """Note that an arm fell asleep."""

    def _arm(self, arm: int) -> Arm:
        known = self.arms.setdefault(arm, Arm())
        if len(self.arms) > self.max_arms:
            oldest = next(iter(self.arms))
            self.withdraw(oldest)
            del self.arms[oldest]
        return known

    def _explores(self, seq: int, prob: float) -> bool:
        return prob > 0.0 and float(uniform(self.seed, seq, [_COIN])[0]) < prob

    def _any_awake(self, seq: int) -> int:
        if not self._awake:
            raise LookupError("no arm is awake")
        return self._awake[int(float(uniform(self.seed, seq, [_WHICH])[0]) * len(self._awake))]

    def _known(self, arms: Sequence[int]) -> tuple[Floats, Floats, Floats]:
        """Return good, bad and best of arms, (n,) each."""
        known = [self.arms.get(arm) or Arm() for arm in arms]
        table = np.array([(arm.good, arm.bad, arm.best) for arm in known], dtype=np.float64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]

    def to_state(self) -> dict[str, Any]:
        """Return arms and which are awake as plain values."""
        return {
            "pulls": self.pulls,
            "arms": [[arm, known.good, known.bad, known.best] for arm, known in self.arms.items()],
            "awake": self._awake,
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the arms of `to_state`.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state(f"bandit {self.name}"):
            self.pulls = int(state["pulls"])
            rows = [(int(arm), float(g), float(b), float(p)) for arm, g, b, p in state["arms"]]
            awake = [int(arm) for arm in state["awake"]]
            self.arms = {arm: Arm(good, bad, best) for arm, good, bad, best in rows}
            for arm in awake:
                self.offer(arm, self.arms[arm].best)


def tie_of(seed: int, arm: int) -> float:
    """Return the number that orders arms of equal value, drawn once per arm."""
    x = ((arm + 1) * 0x9E3779B97F4A7C15 ^ (seed + 1) * 0xBF58476D1CE4E5B9) & ((1 << 64) - 1)
    x = (x ^ x >> 30) * 0x94D049BB133111EB & ((1 << 64) - 1)
    return (x >> 11) / 2.0**53
