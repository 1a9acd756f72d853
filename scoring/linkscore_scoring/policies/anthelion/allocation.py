"""Many decisions at once: how many of n pulls each arm gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from linkscore_scoring.learners.round_robin import RoundRobin
from linkscore_scoring.policies.anthelion.host_bandit import HostBandit

_DECISION_SHIFT = 40
"""Bits of an event number; the decisions of one question count above them."""

_MAX_DRAWS = 500_000
"""A bound: at 2 us a draw one question takes a second at most; beyond, a decision hands out several pulls."""


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
