"""URL patterns of a log as Liu 2011 has them: its split, its graph, and how long patterns last (Fig. 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_research.behavior.cuts import between, cut_by_transits, cut_by_visits
from linkscore_research.behavior.orders import Mirror
from linkscore_scoring.browse_logs.behavior import (
    tally,
    totals,
)
from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_scoring.browse_logs.patterns import (
    ABSENT,
    ANY,
    NO_VALUE,
    KeyColumns,
    PatternTree,
    generalised,
    key_values,
    pattern_tree,
)

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

# Rules for equal and for small frequencies, which the paper leaves open; chosen, not measured.
_FEW, _EVEN_SHARE, _LEAST_SHARE = 5, 0.05, 0.01

MAX_ITERATIONS = 200
"""A bound: steps of the graph's iteration; a vector that swings for longer is taken as it is."""
_TOLERANCE = 1e-9
"""Largest change of a unit vector within two steps that ends the iteration: beyond what orders patterns."""


def salient(counts: Ids, n_urls: int) -> NDArray[np.bool_]:
    """Return which values of a key stay as they are, (n_values,) bool: the paper's way.

    Values are sorted by frequency and cut where its logarithm drops most (Lei et al. 2010); the rules for
    equal frequencies and for small ones are ours.
    """
    if len(counts) <= 1:
        return np.ones(len(counts), dtype=np.bool_)
    if counts.min() == counts.max():
        stay = len(counts) <= _FEW and counts[0] >= _EVEN_SHARE * n_urls
        return np.full(len(counts), stay, dtype=np.bool_)
    order = np.argsort(-counts, kind="stable")
    drops = -np.diff(np.log(counts[order]))
    stays = np.zeros(len(counts), dtype=np.bool_)
    stays[order[: int(np.argmax(drops)) + 1]] = True
    return np.asarray(stays & (counts >= max(2.0, _LEAST_SHARE * counts.sum())), dtype=np.bool_)


def by_drop(columns: KeyColumns, key: int, rows: Ids) -> NDArray[np.str_]:
    """Return labels as `patterns.generalised` does, those of the paper: one wildcard, values by `salient`."""
    codes, values = columns.codes[key, rows], columns.values[key]
    counts = np.bincount(codes[codes != NO_VALUE], minlength=len(values))
    shown = np.flatnonzero(counts)
    labels = np.full(len(values), ANY, dtype=object)
    for value in shown[salient(counts[shown], len(rows))].tolist():
        labels[value] = f"={values[value]}"
    return np.asarray(np.append(labels, ABSENT)[codes], dtype=np.str_)


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
    """Return the pages as the paper fetches them, and as it visits them: by patterns alone.

    Visited are patterns of equal worth one after the other.
    """
    tree, leaf = cut_by_visits(counts, *pattern_tree(counts.urls, by_drop))
    tree, leaf = cut_by_transits(counts, tree, leaf)
    n = len(tree)
    sources, targets, transits = between(counts, leaf)
    inner = sources != OUTSIDE
    inside = counts.from_urls != OUTSIDE
    referrals = tally(counts.from_urls[inside], counts.transits[inside], len(counts.urls))
    f_in, f_out = (tally(leaf, column, n) for column in (counts.visits(), referrals))
    auth, hub = behavior_graph(sources[inner], targets[inner], transits[inner], f_in, f_out)
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
    """Figures of one tree."""

    tree: str  # Cut, and how the tree was split
    leaves: int  # Patterns
    later_urls: float  # Share of the pages of later days, and of their visits, that fit a pattern
    later_visits: float
    known_urls: float  # The same of pages that the log has themselves
    known_visits: float


def pattern_figures(counts: BrowseCounts, later: BrowseCounts) -> Iterator[PatternFigures]:
    """Yield the figures after each cut, split as the default and as the paper."""
    for labels, name in ((generalised, ""), (by_drop, " (paper)")):
        tree, leaf = pattern_tree(counts.urls, labels)
        yield _figures(f"syntax{name}", tree, counts, later)
        tree, leaf = cut_by_visits(counts, tree, leaf)
        yield _figures(f"visit{name}", tree, counts, later)
        yield _figures(f"transit{name}", cut_by_transits(counts, tree, leaf)[0], counts, later)


def _figures(name: str, tree: PatternTree, counts: BrowseCounts, later: BrowseCounts) -> PatternFigures:
    covered = np.array([tree.match(key_values(url))[1] for url in later.urls], dtype=np.bool_)
    visited = later.visits().astype(np.float64)
    known = np.isin(np.array(later.urls), np.array(counts.urls))
    was = visited > 0
    return PatternFigures(
        name,
        int(tree.leaves().sum()),
        float(covered[was].mean()),
        float(visited[covered].sum() / visited.sum()),
        float(known[was].mean()),
        float(visited[known].sum() / visited.sum()),
    )
