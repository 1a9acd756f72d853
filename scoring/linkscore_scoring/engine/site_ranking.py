"""Which sites next, and how many URLs of each: the decision of a host bandit, or the best site first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from linkscore_scoring.learners.bandits.allocation import allocate_best
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.answers import SitesRanked
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel


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
            known[id(model)] = capabilities.site_value(policy, model)
    values = np.array([known[id(model)] for _, model in pairs], dtype=np.float64)
    left = [n if most is None else min(n, most) for most in waiting]
    bandit = capabilities.site_bandit(pairs[0][0]) if pairs else None
    if bandit is not None:
        return bandit.rank(names, values, left, n, seq)
    awake = {row: most for row, most in enumerate(left) if most}
    shares = allocate_best({row: float(values[row]) for row in awake}, awake, n)
    return SitesRanked(values, np.array([shares[row] for row in range(len(pairs))], dtype=np.int64))
