"""URL patterns of a log as Liu 2011 has them: its split, its graph, and how long patterns last (Fig. 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_research.behavior.orders import Mirror
from linkscore_research.behavior.split import key_values, pattern_tree
from linkscore_scoring.browse_logs.behavior import mine_behavior, tally, totals
from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

MAX_ITERATIONS = 200
"""A bound: steps of the graph's iteration; a vector that swings for longer is taken as it is."""
_TOLERANCE = 1e-9
"""Largest change of a unit vector within two steps that ends the iteration: beyond what orders patterns."""


def behavior_graph(
    sources: Ids, targets: Ids, transits: Floats, f_in: Floats, f_out: Floats
) -> tuple[Floats, Floats]:
    """Return authority and hub of each pattern, (n_patterns,) each, of unit length or all 0.

    Liu et al. 2011, eqs. 9 and 10. Both updates read the step before, so even and odd steps may swing: it
    stops once a vector is what it was two steps ago, after 200 steps, or before a vector would become zero.
    """
    from scipy.sparse import csr_matrix  # slow to import

    n = len(f_in)
    cells = (sources, targets)
    p_out = csr_matrix((transits / np.maximum(f_out[sources], 1.0), cells), shape=(n, n))
    p_in = csr_matrix((transits / np.maximum(f_in[targets], 1.0), cells), shape=(n, n))
    auth, hub = f_in / max(float(f_in.sum()), 1.0), f_out / max(float(f_out.sum()), 1.0)  # eq. 9
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


def paper_orders(counts: BrowseCounts, mirror: Mirror) -> tuple[list[int], list[int]]:
    """Return the pages as the paper fetches them, and as it visits them: by patterns alone, its tree not cut.

    Visited are patterns of equal worth one after the other.
    """
    tree, leaf = pattern_tree(counts.urls)
    n, inside = len(tree), counts.from_urls != OUTSIDE
    transits = counts.transits[inside].astype(np.float64)
    referrals = tally(counts.from_urls[inside], transits, len(counts.urls))
    f_in, f_out = (tally(leaf, column, n) for column in (counts.visits(), referrals))
    ways = leaf[counts.from_urls[inside]], leaf[counts.to_urls[inside]], transits
    auth, hub = behavior_graph(*ways, f_in, f_out)
    parents, sizes = tree.parents(), tally(leaf, np.ones(len(leaf)), n)
    # of an inner node the mean of its patterns by their pages
    auth, hub = (totals(parents, x * sizes) / np.maximum(totals(parents, sizes), 1.0) for x in (auth, hub))
    places = np.array([tree.match(key_values(url))[0] for url in mirror.keys])
    firsts = {place: row for row, place in reversed(list(enumerate(places.tolist())))}
    ranks = [
        np.searchsorted(np.sort(worth[tree.leaves()]), worth, side="right")[places]
        for worth in (0.5 * (auth + hub), hub)
    ]
    fetches = np.argsort(-ranks[0], kind="stable")
    visits = np.lexsort(([firsts[place] for place in places.tolist()], -ranks[1]))
    return fetches.tolist(), visits.tolist()


@dataclass(frozen=True, slots=True)
class PatternFigures:
    """Figures of one set of patterns."""

    tree: str  # Whose they are
    leaves: int  # Patterns
    later_urls: float  # Share of the pages of later days, and of their visits, that fit a pattern
    later_visits: float
    known_urls: float  # The same of pages that the log has themselves
    known_visits: float


def pattern_figures(counts: BrowseCounts, later: BrowseCounts) -> Iterator[PatternFigures]:
    """Yield the figures of our patterns, then those of the paper."""
    ours = mine_behavior(counts)
    assert ours is not None
    own = {ours.place(url, 0).node for url in counts.urls}
    yield _figures("ours", len(own), [ours.place(url, 0).node in own for url in later.urls], counts, later)
    tree, _ = pattern_tree(counts.urls)
    covered = [tree.match(key_values(url))[1] for url in later.urls]
    yield _figures("those of the paper", int(tree.leaves().sum()), covered, counts, later)


def _figures(
    name: str, leaves: int, fits: Sequence[bool], counts: BrowseCounts, later: BrowseCounts
) -> PatternFigures:
    covered, visited = np.array(fits, dtype=np.bool_), later.visits().astype(np.float64)
    known = np.isin(np.array(later.urls), np.array(counts.urls))
    was = visited > 0
    return PatternFigures(
        name,
        leaves,
        float(covered[was].mean()),
        float(visited[covered].sum() / visited.sum()),
        float(known[was].mean()),
        float(visited[known].sum() / visited.sum()),
    )
