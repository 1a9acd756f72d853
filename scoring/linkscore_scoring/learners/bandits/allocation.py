"""Many decisions at once: how many of n pulls each arm gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heapreplace

from linkscore_scoring.learners.bandits.host_bandit import HostBandit

_DECISION_SHIFT = 40
"""Bits of an event number; the decisions of one question count above them."""

_MAX_DRAWS = 500_000
"""A bound: at 2 us a draw one question takes a second at most; beyond, a decision hands out several pulls."""


class RoundRobin:
    """Arms whose values stand still while pulls are handed out; among equal ones the least pulled comes next.

    Equal values and pulls: the order given. Cost O(log n) a pull, O(n) to make.

    Parameters
    ----------
    arms
        Pairs of arm and value, each arm once.
    """

    def __init__(self, arms: Iterable[tuple[int, float]]) -> None:
        self._heap = [(-value, 0, place, arm) for place, (arm, value) in enumerate(arms)]
        self._gone: set[int] = set()
        heapify(self._heap)

    def top(self) -> int:
        """Return the arm that is next.

        Raises
        ------
        LookupError
            If there is none.
        """
        while self._heap and self._heap[0][-1] in self._gone:
            heappop(self._heap)
        if not self._heap:
            raise LookupError("no arm is awake")
        return self._heap[0][-1]

    def take(self) -> int:
        """Return the arm that is next, and let its equals go before it the next time."""
        arm = self.top()
        value, pulls, place, _ = self._heap[0]
        heapreplace(self._heap, (value, pulls + 1, place, arm))
        return arm

    def discard(self, arm: int) -> None:
        """Take an arm out for good."""
        self._gone.add(arm)


def allocate(
    bandit: HostBandit, values: Mapping[int, float], waiting: Mapping[int, int], n: int, seq: int
) -> Counter[int]:
    """Return how many of n pulls each arm gets; the arms of `values` sleep once nothing of theirs waits.

    No reward comes between the decisions, so one that neither explores nor draws would repeat itself until
    the queue of the best arm is empty; among equal arms the pulls go round. Changes which arms are awake.
    Cost: n times that of `HostBandit.choose`; of draws at most a second, because above half a million draws
    a decision hands out several pulls.

    Parameters
    ----------
    bandit
        Where exactly the arms of which something waits are awake.
    values
        Value of each awake arm; in its order equal arms take turns.
    waiting
        Most pulls of each awake arm, >= 1.
    n
        Pulls to hand out; fewer are if all arms fall asleep.
    seq
        Event the decisions are made at, below 2^40; the first is the one of `choose(seq)`.
    """
    turns, shares = RoundRobin(values.items()), Counter[int]()
    step = 1 + n * bandit.posteriors // _MAX_DRAWS
    at, left = seq, n
    while left and len(bandit):
        arm = bandit.choose(at) if bandit.draws or bandit.explores(at) else turns.take()
        given = min(step, left, waiting[arm] - shares[arm])
        shares[arm] += given
        left -= given
        at += 1 << _DECISION_SHIFT
        if shares[arm] >= waiting[arm]:
            bandit.withdraw(arm)
            turns.discard(arm)
    return shares


def allocate_best(values: Mapping[int, float], waiting: Mapping[int, int], n: int) -> Counter[int]:
    """Return how many of n pulls each arm gets, always by the best value; see `allocate`."""
    turns, shares, asleep = RoundRobin(values.items()), Counter[int](), 0
    for _ in range(n):
        if asleep == len(values):
            break
        arm = turns.take()
        shares[arm] += 1
        if shares[arm] >= waiting[arm]:
            turns.discard(arm)
            asleep += 1
    return shares
