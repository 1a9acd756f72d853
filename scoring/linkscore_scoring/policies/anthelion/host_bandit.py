"""Anthelion's host bandit: mostly the best host by a value function, sometimes any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkscore_scoring.policies.anthelion.arm_index import Groups, LazyHeap
from linkscore_scoring.policies.anthelion.hashed_random import Floats, tie_of, uniform
from linkscore_scoring.policies.anthelion.host_values import (
    DRAWN,
    HOST_VALUES,
    USES_BEST,
    lambda_after,
    released_lambda_after,
)
from linkscore_scoring.policies.anthelion.posteriors import choice_probs, highest_drawn, rounded
from linkscore_scoring.state import Stateful, Stored

_COIN, _WHICH = -1, -2
"""Arms that draw the coin of exploration and the arm to explore; real arms are >= 0."""

_STEPS = 64
"""Steps of the probability in a posterior: an error of at most 1/128, so that many arms share one."""


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


class HostBandit(Stateful):
    """A sleeping bandit: with probability lambda an awake arm at random, else the one of highest value.

    Only awake arms, those with something queued, can be chosen. Two ways to ask: `choose` picks among all
    awake arms and is the one for millions of them; `values` gives numbers for the arms named, highest first,
    for callers that know which arms are awake. Every draw is a function of (seed, seq, arm). Asking changes
    nothing.

    Parameters
    ----------
    function
        One of `HOST_VALUES`.
    explore_prob
        lambda, in [0, 1].
    decay_pulls
        Pulls V after which lambda is halved, then a third, and so on; 0 keeps it constant.
    as_released
        Let lambda fall to 0 after V pulls instead.
    seed
        Seed of the crawl.

    Attributes
    ----------
    pulls
        Rewards that have come.
    arms
        What is known of each arm; at most `max_arms`, beyond that those met first are forgotten.

    Notes
    -----
    Source: Meusel, Mika and Blanco, CIKM 2014; sleeping arms after Kleinberg, Niculescu-Mizil and Sharma
    2010.
    Differences: the host of highest value is chosen, which the released code means and does not do; ties by a
    draw per arm. Cost of `choose`: O(log arms) where values stand still between rewards. Thompson sampling
    draws once for all arms of one posterior, O(distinct posteriors); for that G and B beyond 10 are rounded
    by at most 5 %, and ``thompson_best_score`` rounds p to 64 steps, an error of at most 1/128 of a value in
    (0, 1). `values` rounds nothing.

    Examples
    --------
    Host 1 gave two relevant pages of three, host 2 none of one; both have a link of probability 0.5 waiting.

    >>> bandit = HostBandit(function="success_rate_best_score")
    >>> for host, reward in ((1, 1.0), (1, 0.0), (1, 1.0), (2, 0.0)):
    ...     bandit.reward(host, reward)
    >>> bandit.offer(1, 0.5)
    >>> bandit.offer(2, 0.5)
    >>> bandit.values([1, 2], seq=4).tolist()
    [0.75, 0.25]
    >>> bandit.choose(seq=4)
    1
    """

    state_name = "host bandit"
    pulls: Stored[int]
    arms: Stored[dict[int, Arm]]
    _awake: Stored[list[int]]

    max_arms = 1_000_000
    """A bound: beyond it the arms met first are forgotten."""

    def __init__(
        self,
        *,
        function: str = "success_rate_best_score",
        explore_prob: float = 0.0,
        decay_pulls: int = 0,
        as_released: bool = False,
        seed: int = 0,
    ) -> None:
        self.function = function
        self.explore_prob = explore_prob
        self.decay_pulls = decay_pulls
        self.seed = seed
        self.pulls = 0
        self.arms = {}
        self._schedule = released_lambda_after if as_released else lambda_after
        self._awake = []
        self._places: dict[int, int] = {}
        self._heap = LazyHeap()
        self._groups = Groups()

    def __len__(self) -> int:
        return len(self._awake)

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
        self._heap.discard(arm)
        self._groups.discard(arm)

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

    @property
    def draws(self) -> bool:
        """Whether the best host is drawn, as in Thompson sampling, or is the same until a reward comes."""
        return self.function in DRAWN

    @property
    def posteriors(self) -> int:
        """How many draws a decision makes, 0 if none."""
        return len(self._groups)

    @property
    def explore_prob_now(self) -> float:
        """lambda after the rewards that have come, in [0, 1]."""
        return self._schedule(self.pulls, self.explore_prob, self.decay_pulls)

    def explores(self, seq: int) -> bool:
        """Say whether the decision at event `seq` is a random one."""
        prob = self.explore_prob_now
        return prob > 0.0 and float(uniform(self.seed, seq, [_COIN])[0]) < prob

    def choose(self, seq: int) -> int:
        """Return the arm to pull at event `seq`: any by the coin, else the best.

        Raises
        ------
        LookupError
            If no arm is awake.
        """
        if self.explores(seq):
            return self._any_awake(seq)
        if self.draws:
            return highest_drawn(self._groups, self.seed, seq)
        return self._heap.top()[0]

    def values(self, arms: Sequence[int], seq: int) -> Floats:
        """Return what arms are worth at event `seq`, (n,) float64; the highest is the one to pull.

        That is the value function of each, or a draw of each when this decision is a random one.
        """
        u = uniform(self.seed, seq, arms)
        return u if self.explores(seq) else HOST_VALUES[self.function](*self._known(arms), u)

    def worth(self, arms: Sequence[int], best: Iterable[float]) -> Floats:
        """Return the value function of each arm, (n,) float64: without exploration, the median of a draw.

        Parameters
        ----------
        arms
            Any arms.
        best
            Highest probability among what each has queued.
        """
        good, bad, _ = self._known(arms)
        p = np.array(list(best), dtype=np.float64)
        return np.asarray(HOST_VALUES[self.function](good, bad, p, np.full(len(arms), 0.5)))

    def draw_probs(self, arms: Sequence[int]) -> Floats:
        """Return the probability with which each of all awake arms draws the highest, (n,) float64 of sum 1.

        Of functions that draw only. Cost O(n), 0.3 ms an arm.
        """
        return choice_probs([self._posterior(self.arms[arm]) for arm in arms])

    def among(self, best: Mapping[int, float]) -> HostBandit:
        """Return a copy in which exactly these arms are awake, the best of each queue as given.

        Cost O(arms named); pulls, and with them lambda, are those of all arms.
        """
        copy = HostBandit(
            function=self.function,
            explore_prob=self.explore_prob,
            decay_pulls=self.decay_pulls,
            seed=self.seed,
        )
        copy._schedule, copy.pulls = self._schedule, self.pulls
        for arm, prob in best.items():
            known = self.arms.get(arm) or Arm()
            copy.arms[arm] = Arm(known.good, known.bad, prob)
        copy._awake = list(copy.arms)
        copy._places = {arm: place for place, arm in enumerate(copy._awake)}
        # One call for all of them: `_index` would call the value function once an arm.
        values = [0.0] * len(best) if self.draws else copy.worth(copy._awake, best.values()).tolist()
        for arm, value in zip(copy._awake, values, strict=True):
            copy._put(arm, value)
        return copy

    def after_load(self) -> None:
        """Wake the arms that were awake."""
        awake, self._awake, self._places = self._awake, [], {}
        for arm in awake:
            self.offer(arm, self.arms[arm].best)

    def _index(self, arm: int, known: Arm) -> None:
        columns = (np.float64(x) for x in (known.good, known.bad, known.best, 0.0))
        self._put(arm, 0.0 if self.draws else float(HOST_VALUES[self.function](*columns)))

    def _put(self, arm: int, value: float) -> None:
        tie = tie_of(self.seed, arm)
        if self.draws:
            self._groups.put(arm, self._posterior(self.arms[arm]), 0.0, tie)
        else:
            self._heap.set(arm, value, tie)

    def _posterior(self, known: Arm) -> tuple[float, float, float]:
        step = (min(_STEPS - 1, int(known.best * _STEPS)) + 0.5) / _STEPS
        factor = step if self.function in USES_BEST else 1.0
        return rounded(known.good), rounded(known.bad), factor

    def _arm(self, arm: int) -> Arm:
        known = self.arms.setdefault(arm, Arm())
        if len(self.arms) > self.max_arms:
            oldest = next(iter(self.arms))
            self.withdraw(oldest)
            del self.arms[oldest]
        return known

    def _any_awake(self, seq: int) -> int:
        if not self._awake:
            raise LookupError("no arm is awake")
        return self._awake[int(float(uniform(self.seed, seq, [_WHICH])[0]) * len(self._awake))]

    def _known(self, arms: Sequence[int]) -> tuple[Floats, Floats, Floats]:
        """Return good, bad and best of arms, (n,) each."""
        known = [self.arms.get(arm) or Arm() for arm in arms]
        table = np.array([(arm.good, arm.bad, arm.best) for arm in known], dtype=np.float64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]
