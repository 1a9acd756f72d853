"""Rankings of URL patterns: the paper's graph, its five simple strategies, and ours (Liu 2011, section 4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.behavior.model import PatternStats

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_ITERATIONS = 200
"""A bound: steps of the graph's iteration; a vector that swings for longer is taken as it is."""

_TOLERANCE = 1e-9
"""Largest change of a unit vector within two steps that ends the iteration: beyond what orders patterns."""


def behavior_graph(
    sources: Ids, targets: Ids, transits: Floats, f_in: Floats, f_out: Floats
) -> tuple[Floats, Floats]:
    """Return authority and hub of each pattern, (n_patterns,) float64 each, of unit length or all 0.

    Parameters
    ----------
    sources, targets, transits
        F_trans: records between patterns, (n_pairs,) each, pairs of a pattern with itself included.
    f_in, f_out
        Records into and out of each pattern, (n_patterns,) each.

    Notes
    -----
    Both updates read the step before, so even and odd steps may swing; it stops once a vector is what it was
    two steps ago, after 200 steps, or before a vector would become zero. Cost O(n_pairs) a step. References:
    Liu et al. 2011, eqs. 9 and 10, a form of Kleinberg's HITS.
    """
    from scipy.sparse import csr_matrix  # slow to import: only where logs are mined

    n = len(f_in)
    cells = (sources, targets)
    p_out = csr_matrix((transits / np.maximum(f_out[sources], 1.0), cells), shape=(n, n))
    p_in = csr_matrix((transits / np.maximum(f_in[targets], 1.0), cells), shape=(n, n))
    auth, hub = _share(f_in), _share(f_out)  # eq. 9
    before = (auth, hub)
    for _ in range(MAX_ITERATIONS):
        new_auth, new_hub = p_out.T @ hub, p_in @ auth  # eq. 10
        if not (new_auth.any() and new_hub.any()):
            break
        new = (new_auth / np.linalg.norm(new_auth), new_hub / np.linalg.norm(new_hub))
        done = all(np.abs(x - y).max() < _TOLERANCE for x, y in zip(new, before, strict=True))
        before, (auth, hub) = (auth, hub), new
        if done:
            break
    return auth, hub


def _share(counts: Floats) -> Floats:
    return np.asarray(counts / max(float(counts.sum()), 1.0), dtype=np.float64)


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
