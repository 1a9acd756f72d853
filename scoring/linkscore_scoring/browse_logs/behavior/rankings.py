"""Rankings of URL patterns: the paper's graph, its five simple strategies, and ours (Liu 2011, section 4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.behavior.model import PatternStats

Floats = NDArray[np.float64]


def _per_page(counts: Floats, sizes: Floats) -> Floats:
    return np.asarray(counts / np.maximum(sizes, 1.0), dtype=np.float64)


_WORTH: dict[str, Callable[[PatternStats], Floats]] = {
    "demand": lambda s: s.demand,
    "graph": lambda s: 0.5 * (s.auth + s.hub),
    "volume": lambda s: s.sizes,
    "visits": lambda s: s.visits,
    "average_visits": lambda s: _per_page(s.visits, s.sizes),
    "gain": lambda s: s.gain,
    "hub": lambda s: s.hub,
    "referrals": lambda s: s.referrals,
    "average_referrals": lambda s: _per_page(s.referrals, s.sizes),
}
RANKINGS = tuple(_WORTH)

FETCH = ("demand", "graph", "volume", "visits", "average_visits")
DISCOVERY = ("gain", "hub", "referrals", "average_referrals")
"""Those for fetching pages and those for discovering them: ours first, the paper's second."""


def worth_by(ranking: str, stats: PatternStats) -> Floats:
    """Return what each pattern is worth by a ranking, (n_nodes,) float64, higher is better.

    ``demand`` and ``gain`` are ours, in visits a day. Liu 2011 ranks for fetching by ``graph``, half the sum
    of authority and hub, and for discovery by ``hub``; the others are its simple strategies: pages |P|,
    visits F_in and visits a page; referrals F_out and referrals a page.
    """
    return _WORTH[ranking](stats)
