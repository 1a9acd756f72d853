"""Which sites next, and how many URLs of each: the decision of a host bandit, or the best site first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.learners.bandits.deal import deal, deal_best
from linkscore_scoring.learners.bandits.host_bandit import HostBandit
from linkscore_scoring.policies.anthelion.host_crawl import host_arm
from linkscore_scoring.policies.anthelion.host_scores import scores
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel

_MAX_DRAWN = 500
_HALF = 0.5


@dataclass(slots=True)
class SitesRanked:
    """What sites are worth and how many fetches each gets, all of it in the order of the question.

    Attributes
    ----------
    values
        (n_sites,) float64 in [0, 1]: what the best decision goes by, without exploration; of a value that is
        drawn the median.
    urls
        (n_sites,) int64, fetches handed out.
    probs
        (n_sites,) float64: the probability with which a decision takes the site while none has fallen asleep;
        None if nothing is drawn, or if values are drawn over more than 500 sites.
    """

    values: NDArray[np.float64]
    urls: NDArray[np.int64]
    probs: NDArray[np.float64] | None = None

    def order(self, at_most: int = 0) -> NDArray[np.int64]:
        """Return sites best first, ties as given; `at_most` (0: all) cuts sites without fetches only."""
        order = np.argsort(-self.values, kind="stable")
        if not at_most:
            return order
        given = self.urls[order] > 0
        room = max(0, at_most - int(given.sum()))
        return order[given | (np.cumsum(~given) <= room)]


def ranked(
    names: Sequence[str],
    sites: Iterable[tuple[Policy, SiteModel]],
    waiting: Sequence[int | None],
    n: int,
    seq: int,
) -> SitesRanked:
    """Return what sites are worth and how n fetches are handed out among them; changes nothing.

    Cost O(sites + n log sites), for Thompson sampling O(n x distinct posteriors), plus the policy's.

    Parameters
    ----------
    names, sites
        Names, all different, and the policy and model of each; those never seen may share one.
    waiting
        How many URLs of each wait; None: enough. A site of which none wait sleeps: it has a value, no fetch.
    n
        Fetches to hand out; fewer are if all sites fall asleep.
    seq
        Event the decisions are made at.
    """
    pairs = list(sites)
    known: dict[int, float] = {}
    for policy, model in pairs:
        if id(model) not in known:
            known[id(model)] = policy.site_value(model)
    values = np.array([known[id(model)] for _, model in pairs], dtype=np.float64)
    left = [n if most is None else min(n, most) for most in waiting]
    bandit = pairs[0][0].site_bandit() if pairs else None
    if bandit is not None:
        return _by_bandit(bandit, [host_arm(name) for name in names], values, left, n, seq)
    awake = {row: most for row, most in enumerate(left) if most}
    dealt = deal_best({row: float(values[row]) for row in awake}, awake, n)
    return SitesRanked(values, _column(dealt, range(len(pairs))))


def _by_bandit(
    of_crawl: HostBandit,
    arms: Sequence[int],
    probs: NDArray[np.float64],
    left: Sequence[int],
    n: int,
    seq: int,
) -> SitesRanked:
    """Let the host bandit decide; `probs` are those of the best link of each host."""
    best = dict(zip(arms, probs.tolist(), strict=True))
    values = scores(of_crawl.function, of_crawl.worth(arms, probs), np.full(len(arms), _HALF))
    awake = {arm: most for arm, most in zip(arms, left, strict=True) if most}
    worth = dict(zip(arms, values.tolist(), strict=True))
    bandit = of_crawl.among({arm: best[arm] for arm in awake})
    told = _draw_probs(bandit, {arm: worth[arm] for arm in awake})
    dealt = deal(bandit, {arm: worth[arm] for arm in awake}, awake, n, seq)
    chances = None if told is None else np.array([told.get(arm, 0.0) for arm in arms])
    return SitesRanked(values, _column(dealt, arms), chances)


def _draw_probs(bandit: HostBandit, worth: dict[int, float]) -> dict[int, float] | None:
    """Return the probability with which a decision takes each awake arm, None if nothing is drawn or told."""
    explore = bandit.explore_prob_now
    if not worth or not (explore or bandit.draws) or (bandit.draws and len(worth) > _MAX_DRAWN):
        return None
    arms = list(worth)
    if bandit.draws:
        exploit = bandit.draw_probs(arms)
    else:
        exploit = np.zeros(len(arms))
        exploit[int(np.argmax(list(worth.values())))] = 1.0
    return dict(zip(arms, (explore / len(arms) + (1.0 - explore) * exploit).tolist(), strict=True))


def _column(dealt: Counter[int], arms: Iterable[int]) -> NDArray[np.int64]:
    return np.array([dealt[arm] for arm in arms], dtype=np.int64)
