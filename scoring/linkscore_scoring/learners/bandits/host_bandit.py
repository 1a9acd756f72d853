"""Anthelion's host bandit: mostly the best host by a value function, sometimes any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from linkscore_scoring.learners.bandits.base import Arm, Bandit, tie_of
from linkscore_scoring.learners.bandits.draws import Floats, uniform
from linkscore_scoring.learners.bandits.groups import Groups
from linkscore_scoring.learners.bandits.host_values import (
    DRAWN,
    HOST_VALUES,
    USES_BEST,
    lambda_after,
    released_lambda_after,
)
from linkscore_scoring.learners.bandits.lazy_heap import LazyHeap
from linkscore_scoring.learners.bandits.posteriors import choice_probs, highest_drawn, rounded

_STEPS = 64


class HostBandit(Bandit):
    """With probability lambda an awake arm at random, else the one of highest value.

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

    Notes
    -----
    Source: Meusel, Mika and Blanco, CIKM 2014. Differences: the host of highest value is chosen, which the
    released code means and does not do; ties by a draw per arm. Cost of `choose`: O(log arms) where values
    stand still between rewards. Thompson sampling draws once for all arms of one posterior, O(distinct
    posteriors); for that G and B beyond 10 are rounded by at most 5 %, and ``thompson_best_score`` rounds p
    to 64 steps, an error of at most 1/128 of a value in (0, 1). `values` rounds nothing.
    """

    name = "host_bandit"

    def __init__(
        self,
        *,
        function: str = "success_rate_best_score",
        explore_prob: float = 0.0,
        decay_pulls: int = 0,
        as_released: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(seed=seed)
        self._schedule = released_lambda_after if as_released else lambda_after
        self.function = function
        self.explore_prob = explore_prob
        self.decay_pulls = decay_pulls
        self._heap = LazyHeap()
        self._groups = Groups()

    @property
    def draws(self) -> bool:
        """Whether the best host is drawn, as in Thompson sampling, or is the same until a reward comes."""
        return self.function in DRAWN

    @property
    def posteriors(self) -> int:
        """How many draws a decision makes, 0 if none."""
        return len(self._groups)

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
        values = [0.0] * len(best) if self.draws else copy.worth(copy._awake, best.values()).tolist()
        for arm, value in zip(copy._awake, values, strict=True):
            copy._put(arm, value)
        return copy

    def choose(self, seq: int) -> int:
        """Toss the coin, then take any arm or the best."""
        if self.explores(seq):
            return self._any_awake(seq)
        if self.draws:
            return highest_drawn(self._groups, self.seed, seq)
        return self._heap.top()[0]

    def explores(self, seq: int) -> bool:
        """Say whether the decision at event `seq` is a random one."""
        return self._explores(seq, self.explore_prob_now)

    @property
    def explore_prob_now(self) -> float:
        """lambda after the rewards that have come, in [0, 1]."""
        return self._schedule(self.pulls, self.explore_prob, self.decay_pulls)

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

    def values(self, arms: Sequence[int], seq: int) -> Floats:
        """Return the value function of each arm, or a draw of each when this decision is a random one."""
        u = uniform(self.seed, seq, arms)
        return u if self.explores(seq) else HOST_VALUES[self.function](*self._known(arms), u)

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

    def _unindex(self, arm: int) -> None:
        self._heap.discard(arm)
        self._groups.discard(arm)
