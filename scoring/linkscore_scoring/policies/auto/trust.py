"""Which of several policies to trust on a site: by what they earned while they were active, by how they order
what was fetched, and by what the other sites of the crawl say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from linkscore_scoring.learners.pairwise_auc import Floats, comparable_pairs, pairwise_gain
from linkscore_scoring.learners.progressive_validation import ValidationWindow
from linkscore_scoring.state import Flat, Stateful, Stored, stored_as
from linkscore_scoring.sums import shrunk

# Of these only the patience was chosen by measurement; the others were set before anything was measured
# (research/notebook/auto.md).
_TRIAL = 8.0
"""Fetches of its own that weigh as much as what a policy was expected to earn."""
_PAIRED = 30.0
"""Links at which the order of what was fetched counts for half of the gain, other sites for the rest."""
_FEWEST = 16
"""Links that both policies scored, below which their orders are not compared."""
_POOR = 0.1
"""Reward a fetch below which the first policy is taken to earn next to nothing."""
_PATIENCE = 25.0
"""Weight of links before that is believed: qa_q2a, target `tag`, research/notebook/auto.md."""
_CURIOSITY = 0.01
"""What a policy never tried gets added then: less than any difference that matters."""
_TEMPERATURE = 0.05
"""Reward a fetch that makes a share of trust e times another: the default margin. For people only."""

_MAX_SITES = 1_000
"""A bound: sites remembered of a crawl, the latest to report."""
_SITE_WEIGHT = 32.0
"""Most links that one site counts for, so that a large one does not decide for all."""
_SHRINK = 64.0
"""Links at which what sites agree on counts for half: two full sites."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of each of k policies on a site.

    Attributes
    ----------
    own_weight
        Weight of the fetches made while each one was active, (k,).
    earned
        Mean reward of these, (k,); 0 if none.
    gains
        Reward that each one's order would have added to the active one's, a pair of fetched links, (k,).
    level
        Mean reward of the site under the active policy.
    weight
        Weight of all recorded links.
    """

    own_weight: Floats
    earned: Floats
    gains: Floats
    level: float
    weight: float


def evidence_of(links: ValidationWindow, active: int, policies: int) -> Evidence:
    """Return what the recorded links say of `policies` policies; cost O(policies x links^2)."""
    own, earned, gains = np.zeros(policies), np.zeros(policies), np.zeros(policies)
    if not len(links):
        return Evidence(own, earned, gains, 0.0, 0.0)
    rewards, weights, labelled, scores = links.rewards(), links.weights(), links.labelled(), links.scores()
    followed = links.active_policies()
    for k in range(policies):
        mine = weights * (followed == k)
        own[k] = mine.sum()
        earned[k] = (mine @ rewards) / own[k] if own[k] else 0.0
        both = (scores[:, k] >= 0.0) & (scores[:, active] >= 0.0)
        if k != active and both.sum() >= _FEWEST:
            pairs = comparable_pairs(rewards[both], weights[both], labelled[both])
            gains[k] = pairwise_gain(scores[both, k], scores[both, active], pairs)
    total = float(weights.sum())
    mean = float(weights @ rewards) / total
    level = (own[active] * earned[active] + _TRIAL * mean) / (own[active] + _TRIAL)
    return Evidence(own, earned, gains, float(level), total)


def expected(evidence: Evidence, active: int, prior: Floats) -> Floats:
    """Return the reward to expect of the next fetch under each policy, (k,).

    A policy that was not active yet is expected to earn what the active one earns plus its gain, which is
    shrunk to what is known from other sites by 30 links; 8 fetches of its own weigh as much as that
    expectation. So a policy that only looked better costs at most 8 times its gain before it is found out.
    """
    share = evidence.weight / (evidence.weight + _PAIRED)
    gains = share * evidence.gains + (1.0 - share) * (prior - prior[active])
    by_gain = evidence.level + gains
    values: Floats = (evidence.own_weight * evidence.earned + _TRIAL * by_gain) / (
        evidence.own_weight + _TRIAL
    )
    return values


def handicaps(evidence: Evidence, values: Floats, margin: float) -> Floats:
    """Return what is added to the value of each policy before they are compared, (k,).

    All but the first must be better by the margin. Where the first is known to earn next to nothing the
    margin vanishes and the one that was active least comes next: there is nothing to lose.
    """
    scarcity = max(0.0, 1.0 - max(0.0, float(values[0])) / _POOR) if evidence.weight >= _PATIENCE else 0.0
    added = _CURIOSITY * scarcity * _TRIAL / (evidence.own_weight + _TRIAL)
    added[1:] -= margin * (1.0 - scarcity)
    return added


class Trust(Stateful):
    """The active one among policies of a site, changed as evidence comes; the first one until then.

    Parameters
    ----------
    policies
        Number of policies.
    margin
        Reward by which another policy must be expected to beat the first one.
    """

    active: Annotated[int, stored_as("leader")]
    values: Stored[list[float]]
    shares: Stored[list[float]]
    own_weight: Annotated[list[float], stored_as("led")]

    def __init__(self, policies: int, *, margin: float = 0.05) -> None:
        self.policies = policies
        self.margin = margin
        self.active = 0
        self.values = [0.0] * policies
        self.shares = [1.0] + [0.0] * (policies - 1)
        self.own_weight = [0.0] * policies

    def weigh(self, links: ValidationWindow, able: Sequence[bool], prior: Sequence[float]) -> Evidence:
        """Choose the active policy anew among those that are able to answer, the first one if none is.

        Returns the evidence.

        `prior` is what each policy is expected to earn more than the first one, from other sites.
        """
        evidence = evidence_of(links, self.active, self.policies)
        values = expected(evidence, self.active, np.array(prior, dtype=np.float64))
        candidates = able if any(able) else [True] + [False] * (self.policies - 1)
        ranked = np.where(candidates, values + handicaps(evidence, values, self.margin), -np.inf)
        self.active = int(np.argmax(ranked))
        shares = np.exp((ranked - ranked[self.active]) / _TEMPERATURE)
        self.values, self.shares = values.tolist(), (shares / shares.sum()).tolist()
        self.own_weight = evidence.own_weight.tolist()
        return evidence

    def after_load(self) -> None:
        """Refuse the figures of another number of policies."""
        sizes = {len(self.values), len(self.shares), len(self.own_weight)}
        if sizes != {self.policies} or not 0 <= self.active < self.policies:
            raise ValueError(f"figures of {self.policies} policies expected")


class CrawlTrust(Stateful):
    """Advantage of each policy over the first one, as the sites of a crawl last reported it.

    A site counts by the links it judged, at most 32, so that one large site does not decide for all; the mean
    is shrunk to 0 by 64 links: two sites that agree count for half of what they say.

    Parameters
    ----------
    policies
        Number of policies.
    max_sites
        Sites remembered, the latest to report.
    """

    state_name = "crawl-wide trust"
    _reports: Stored[Flat[dict[int, list[float]]]]
    _sums: Stored[list[float]]

    def __init__(self, policies: int, *, max_sites: int = _MAX_SITES) -> None:
        self.policies = policies
        self.max_sites = max_sites
        self._reports = {}
        self._sums = [0.0] * (policies + 1)

    def report(self, site: int, advantages: Floats, weight: float) -> None:
        """Note the advantages on a site, by hash of its name, in place of what it said before."""
        weight = min(_SITE_WEIGHT, weight)
        self._forget(site)
        report = self._reports[site] = [weight, *(weight * float(gained) for gained in advantages)]
        self._sums = [total + part for total, part in zip(self._sums, report, strict=True)]
        if len(self._reports) > self.max_sites:
            self._forget(next(iter(self._reports)))

    def prior(self, site: int) -> list[float]:
        """Return the advantage to expect on a site from what the others said, one a policy."""
        own = self._reports.get(site, [0.0] * (self.policies + 1))
        weight, *sums = (total - part for total, part in zip(self._sums, own, strict=True))
        return [shrunk(total, weight, 0.0, _SHRINK) for total in sums]

    def _forget(self, site: int) -> None:
        report = self._reports.pop(site, None)
        if report is not None:
            self._sums = [total - part for total, part in zip(self._sums, report, strict=True)]

    def after_load(self) -> None:
        """Refuse the figures of another number of policies."""
        if any(len(part) != self.policies + 1 for part in (self._sums, *self._reports.values())):
            raise ValueError(f"figures of {self.policies} policies expected")
