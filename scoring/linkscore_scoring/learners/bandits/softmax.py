"""Boltzmann exploration."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Any

import numpy as np

from linkscore_scoring.errors import reading_state
from linkscore_scoring.learners.bandits.base import Arm, Bandit
from linkscore_scoring.learners.bandits.draws import Floats, uniform
from linkscore_scoring.learners.bandits.sum_tree import SumTree

_WHICH = -3


class Softmax(Bandit):
    """An arm with probability proportional to exp(mean / temperature).

    Parameters
    ----------
    temperature
        > 0; small is greedy.
    prior
        Mean of an untried arm, counted as one pull, in [0, 1].

    Notes
    -----
    Source: Sutton and Barto, Reinforcement learning, 2.3 (first edition); `values` adds Gumbel noise to
    mean / temperature, whose highest is the same draw (Gumbel 1954). Exact; `choose` costs O(log arms), and
    its probability can be told.
    """

    name = "softmax"

    def __init__(self, *, temperature: float = 0.1, prior: float = 0.5, seed: int = 0) -> None:
        super().__init__(seed=seed)
        self.temperature, self.prior = temperature, prior
        self._tree = SumTree()

    def choose(self, seq: int) -> int:
        """Draw one of the awake arms."""
        return self._tree.find(float(uniform(self.seed, seq, [_WHICH])[0]))

    def prob(self, arm: int) -> float:
        """Return the probability with which an awake arm is chosen."""
        return self._weight(self.arms[arm]) / self._tree.total()

    def values(self, arms: Sequence[int], seq: int) -> Floats:
        """Return mean / temperature plus Gumbel noise."""
        good, bad, _ = self._known(arms)
        means = (good + self.prior) / (good + bad + 1.0)
        return np.asarray(means / self.temperature - np.log(-np.log(uniform(self.seed, seq, arms))))

    def _weight(self, known: Arm) -> float:
        mean = (known.good + self.prior) / (known.pulls + 1.0)
        return exp((mean - 1.0) / self.temperature)

    def _index(self, arm: int, known: Arm) -> None:
        self._tree.set(arm, self._weight(known))

    def _unindex(self, arm: int) -> None:
        self._tree.discard(arm)

    def to_state(self) -> dict[str, Any]:
        """Return arms, and the order of the awake ones, on which draws depend."""
        return {**super().to_state(), "order": self._tree.arms}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over arms and order."""
        super().load_state(state)
        with reading_state(f"bandit {self.name}"):
            self._tree = SumTree()
            for arm in state["order"]:
                self._tree.set(arm, self._weight(self.arms[arm]))
