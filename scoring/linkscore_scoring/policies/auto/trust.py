"""Which of several policies to trust: by what they earned as leaders, and how they order what was fetched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkscore_scoring.errors import reading_state
from linkscore_scoring.learners.pairwise_auc import Floats, comparable_pairs, pairwise_gain
from linkscore_scoring.learners.progressive_validation import ValidationWindow

_TRIAL = 8.0
_PAIRED = 30.0
_FEWEST = 16
_POOR = 0.1
_PATIENCE = 25.0
_CURIOSITY = 0.01
_TEMPERATURE = 0.05


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of each of k policies on a site.

    Attributes
    ----------
    led
        Weight of the fetches each one led, (k,).
    earned
        Mean reward of these, (k,); 0 if none.
    gains
        Reward that each one's order would have added to the leader's, a pair of fetched links, (k,).
    level
        Mean reward of the site under the leader.
    weight
        Weight of all judged links.
    """

    led: Floats
    earned: Floats
    gains: Floats
    level: float
    weight: float


def evidence_of(links: ValidationWindow, leader: int, policies: int) -> Evidence:
    """Return what the judged links say of `policies` policies; cost O(policies x links^2)."""
    led, earned, gains = np.zeros(policies), np.zeros(policies), np.zeros(policies)
    if not len(links):
        return Evidence(led, earned, gains, 0.0, 0.0)
    rewards, weights, told, scores = links.rewards(), links.weights(), links.labelled(), links.scores()
    leaders = links.active_policies()
    for k in range(policies):
        mine = weights * (leaders == k)
        led[k] = mine.sum()
        earned[k] = (mine @ rewards) / led[k] if led[k] else 0.0
        both = (scores[:, k] >= 0.0) & (scores[:, leader] >= 0.0)
        if k != leader and both.sum() >= _FEWEST:
            pairs = comparable_pairs(rewards[both], weights[both], told[both])
            gains[k] = pairwise_gain(scores[both, k], scores[both, leader], pairs)
    total = float(weights.sum())
    mean = float(weights @ rewards) / total
    level = (led[leader] * earned[leader] + _TRIAL * mean) / (led[leader] + _TRIAL)
    return Evidence(led, earned, gains, float(level), total)


def expected(evidence: Evidence, leader: int, prior: Floats) -> Floats:
    """Return the reward to expect of the next fetch under each policy, (k,).

    A policy that has not led is expected to earn what the leader earns plus its gain, which is shrunk to what
    is known from other sites by 30 links; 8 fetches of its own weigh as much as that expectation. So a
    policy that only looked better costs at most 8 times its gain before it is found out.
    """
    share = evidence.weight / (evidence.weight + _PAIRED)
    gains = share * evidence.gains + (1.0 - share) * (prior - prior[leader])
    by_gain = evidence.level + gains
    values: Floats = (evidence.led * evidence.earned + _TRIAL * by_gain) / (evidence.led + _TRIAL)
    return values


def handicaps(evidence: Evidence, values: Floats, margin: float) -> Floats:
    """Return what is added to the value of each policy before they are compared, (k,).

    All but the first must be better by the margin. Where the first is known to earn next to nothing the
    margin vanishes and the one that led least comes next: there is nothing to lose.
    """
    scarcity = max(0.0, 1.0 - max(0.0, float(values[0])) / _POOR) if evidence.weight >= _PATIENCE else 0.0
    added = _CURIOSITY * scarcity * _TRIAL / (evidence.led + _TRIAL)
    added[1:] -= margin * (1.0 - scarcity)
    return added


class Trust:
    """The leader among policies of a site, changed as evidence comes; the first one leads until then.

    Parameters
    ----------
    policies
        Number of policies.
    margin
        Reward by which another policy must be expected to beat the first one.
    """

    def __init__(self, policies: int, *, margin: float = 0.05) -> None:
        self.policies = policies
        self.margin = margin
        self.leader = 0
        self.values = [0.0] * policies
        self.shares = [1.0] + [0.0] * (policies - 1)
        self.led = [0.0] * policies

    def weigh(self, links: ValidationWindow, able: Sequence[bool], prior: Sequence[float]) -> Evidence:
        """Choose the leader anew among the policies that are able to answer; return the evidence.

        `prior` is what each policy is expected to earn more than the first one, from other sites.
        """
        evidence = evidence_of(links, self.leader, self.policies)
        values = expected(evidence, self.leader, np.array(prior, dtype=np.float64))
        ranked = np.where(able, values + handicaps(evidence, values, self.margin), -np.inf)
        self.leader = int(np.argmax(ranked))
        shares = np.exp((ranked - ranked[self.leader]) / _TEMPERATURE)
        self.values, self.shares = values.tolist(), (shares / shares.sum()).tolist()
        self.led = evidence.led.tolist()
        return evidence

    def to_state(self) -> dict[str, Any]:
        """Return leader and figures as plain values."""
        return {"leader": self.leader, "values": self.values, "shares": self.shares, "led": self.led}

    def load_state(self, state: dict[str, Any]) -> None:
        """Take over the figures of `to_state`.

        Raises
        ------
        CorruptState
            If a field is missing or malformed, or of another number of policies.
        """
        with reading_state("trust"):
            self.leader = int(state["leader"])
            self.values, self.shares, self.led = (
                [float(value) for value in state[name]] for name in ("values", "shares", "led")
            )
            sizes = {len(self.values), len(self.shares), len(self.led)}
            if sizes != {self.policies} or not 0 <= self.leader < self.policies:
                raise ValueError(f"figures of {self.policies} policies expected")
