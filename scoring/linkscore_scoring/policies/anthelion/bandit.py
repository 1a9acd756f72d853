"""Anthelion's host bandit: mostly the best host by a value function, sometimes any (Meusel 2014).

Every draw is a function of (seed, event, arm): the same after a restart, whatever was asked between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.hashing import GOLDEN, hash64, mix64
from linkscore_scoring.learners.round_robin import RoundRobin
from linkscore_scoring.policies.answers import SitesRanked
from linkscore_scoring.state import Stateful, Stored

Floats = NDArray[np.float64]

_MASK = (1 << 64) - 1  # Python's numbers do not wrap at 64 bits, those of numpy do
_COIN, _WHICH = -1, -2
"""Arms that draw the coin of exploration and the arm to explore; real arms are >= 0."""

_DECISION_SHIFT = 40
"""Bits of an event number; the decisions of one question count above them."""

HOST_VALUES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "best_score": lambda G, B, p: p,
    "absolute_good": lambda G, B, p: G,
    "negative_absolute_bad": lambda G, B, p: -B,
    "success_rate": lambda G, B, p: (G + 1.0) / (B + 1.0),
    "absolute_good_best_score": lambda G, B, p: p * G,
    "success_rate_best_score": lambda G, B, p: p * (G + 1.0) / (B + 1.0),
}
"""What a host is worth, higher is better, by good and bad pages fetched and the probability of its best link.

Difference from the release: p is a probability in (0, 1) where that has an unbounded signed margin, so that a
product with it keeps its sense for links that are more likely not relevant.
"""

USES_BEST = frozenset(name for name in HOST_VALUES if name.endswith("best_score"))
"""Functions of p."""


_MEDIAN = 0.5  # a probability that orders no hosts
# Host values closer than this are a tie, which probability decides; counts differ by far more.
_TIE = 1e-9
EDGE = 8.0  # log odds end at +-8, probabilities of 0.0003 and 0.9997; chosen, not measured
# Logarithms of the values between which products with a probability are put on [0, 1]: those of a host with
# 10,000 other pages and a link of the lowest probability, and of a host with 10,000 relevant pages.
_LOW, _HIGH = log(1e-4) - EDGE, log(1e4)


def uniform(seed: int, seq: int, arms: Sequence[int]) -> Floats:
    """Return one number in (0, 1) for each 64-bit arm: splitmix64's finaliser (Steele, Lea and Flood
    2014)."""
    step = np.uint64(GOLDEN)
    salt = mix64(np.array([(seed * GOLDEN + seq) & _MASK], dtype=np.uint64) + step)
    mixed = mix64(mix64((np.array([arm & _MASK for arm in arms], dtype=np.uint64) ^ salt) + step) + step)
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


@dataclass(slots=True)
class Arm:
    """Sum of the rewards of an arm, and of 1 - reward."""

    good: float = 0.0
    bad: float = 0.0


class HostBandit(Stateful):
    """With probability lambda an arm at random of those where something waits, else the one of highest value.

    lambda is halved after `decay_pulls` rewards, then a third, and so on; 0 keeps it constant. Sleeping arms
    after Kleinberg, Niculescu-Mizil and Sharma 2010. The host of highest value is chosen, which the released
    code means and does not do.
    """

    state_name = "host bandit"
    pulls: Stored[int]
    arms: Stored[dict[int, Arm]]

    max_arms = 1_000_000
    """A bound: beyond it the arms met first are forgotten."""

    def __init__(
        self,
        *,
        function: str = "success_rate_best_score",
        explore_prob: float = 0.0,
        decay_pulls: int = 0,
        seed: int = 0,
    ) -> None:
        self.function = function
        self.explore_prob = explore_prob
        self.decay_pulls = decay_pulls
        self.seed = seed
        self.pulls = 0
        self.arms = {}

    def reward(self, arm: int, reward: float) -> None:
        """Count one pull of an arm and its reward in [0, 1]."""
        known = self._arm(arm)
        known.good += reward
        known.bad += 1.0 - reward
        self.pulls += 1

    def revise(self, arm: int, change: float) -> None:
        """Change the reward of a pull that was counted before."""
        known = self._arm(arm)
        known.good = max(0.0, known.good + change)
        known.bad = max(0.0, known.bad - change)

    def _arm(self, arm: int) -> Arm:
        known = self.arms.setdefault(arm, Arm())
        if len(self.arms) > self.max_arms:
            del self.arms[next(iter(self.arms))]
        return known

    @property
    def explore_prob_now(self) -> float:
        """lambda after the rewards that have come, in [0, 1]."""
        falls = self.pulls // self.decay_pulls if self.decay_pulls else 0
        return self.explore_prob / (falls + 1)

    def explores(self, seq: int) -> bool:
        """Say whether the decision at event `seq` is a random one."""
        prob = self.explore_prob_now
        return prob > 0.0 and float(uniform(self.seed, seq, [_COIN])[0]) < prob

    def worth(self, arms: Sequence[int], best: Iterable[float]) -> Floats:
        """Return the value function of each arm, (n,), by the highest probability that each has queued."""
        known = [self.arms.get(arm) or Arm() for arm in arms]
        good, bad = np.array([(arm.good, arm.bad) for arm in known], dtype=np.float64).reshape(-1, 2).T
        values = HOST_VALUES[self.function](good, bad, np.array(list(best), dtype=np.float64))
        return np.asarray(values, dtype=np.float64)

    def allocate(
        self, values: Mapping[int, float], waiting: Mapping[int, int], n: int, seq: int
    ) -> Counter[int]:
        """Return how many of n pulls each arm gets; an arm sleeps once nothing of its queue waits.

        No reward comes between the decisions, so one that does not explore would repeat itself until the
        queue of the best arm is empty; among equal arms the pulls go round, in the order of `values`.
        """
        turns, shares, awake = RoundRobin(values.items()), Counter[int](), list(values)
        places = {arm: place for place, arm in enumerate(awake)}
        for decision in range(n):
            if not awake:
                break
            at = seq + (decision << _DECISION_SHIFT)
            explores = self.explores(at)
            draw = float(uniform(self.seed, at, [_WHICH])[0]) if explores else 0.0
            arm = awake[int(draw * len(awake))] if explores else turns.take()
            shares[arm] += 1
            if shares[arm] >= waiting[arm]:
                turns.discard(arm)
                places[awake[-1]] = places[arm]
                awake[places[arm]] = awake[-1]
                awake.pop()
        return shares

    def chances(self, worth: Mapping[int, float]) -> dict[int, float] | None:
        """Return the probability with which a decision takes each awake arm, None if nothing is drawn."""
        explore = self.explore_prob_now
        if not worth or not explore:
            return None
        best = max(worth, key=worth.__getitem__)
        return {arm: explore / len(worth) + (1.0 - explore) * (arm == best) for arm in worth}

    def rank(
        self, names: Sequence[str], best: Floats, waiting: Sequence[int], n: int, seq: int
    ) -> SitesRanked:
        """Return values and shares of sites, see `answers.SiteBandit`; `best`: of each its best link's p."""
        arms = list(map(host_arm, names))
        values = host_scores(self.function, self.worth(arms, best), np.full(len(arms), _MEDIAN))
        awake = {arm: most for arm, most in zip(arms, waiting, strict=True) if most}
        worth = {arm: value for arm, value in zip(arms, values.tolist(), strict=True) if arm in awake}
        chances, shares = self.chances(worth), self.allocate(worth, awake, n, seq)
        return SitesRanked(
            values,
            np.array([shares[arm] for arm in arms], dtype=np.int64),
            None if chances is None else np.array([chances.get(arm, 0.0) for arm in arms]),
        )


def host_arm(name: str) -> int:
    """Return the arm of a host: 63 bits of the hash of its name."""
    return hash64(name) >> 1


def lexical(first: Floats, second: Floats) -> Floats:
    """Return a number in [0, 1] that orders by `first`, in [0, 1], and ties by `second`, in [0, 1]."""
    return np.asarray((1.0 - _TIE) * first + _TIE * second, dtype=np.float64)


def host_scores(function: str, values: Floats, probs: Floats) -> Floats:
    """Return the score in [0, 1] of links from the value of their host and their own probability."""
    if function == "best_score":
        return values
    if function in USES_BEST:
        with np.errstate(divide="ignore"):
            share = (np.log(values) - _LOW) / (_HIGH - _LOW)
        return lexical(np.clip(share, 0.0, 1.0), probs)
    if function == "negative_absolute_bad":
        return lexical(1.0 / (1.0 - values), probs)
    return lexical(values / (1.0 + values), probs)
