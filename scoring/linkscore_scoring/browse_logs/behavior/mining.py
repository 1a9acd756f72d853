"""Mining of behaviour patterns: tree, cuts, graph, demand and gain of one site, from its counts alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.browse_logs.behavior.cuts import mdl_cut, totals, transit_cut
from linkscore_scoring.browse_logs.behavior.demand import (
    discovery_gain,
    first_days,
    newcomers,
    own_demand,
    tally,
)
from linkscore_scoring.browse_logs.behavior.key_values import key_values
from linkscore_scoring.browse_logs.behavior.model import BehaviorModel, OwnPages, PatternStats
from linkscore_scoring.browse_logs.behavior.pattern_tree import PatternTree, TreeParams, pattern_tree
from linkscore_scoring.browse_logs.behavior.rankings import behavior_graph
from linkscore_scoring.browse_logs.behavior.serials import find_serials, shape_of
from linkscore_scoring.browse_logs.counts import OUTSIDE, BrowseCounts
from linkscore_scoring.hashing import hash64

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

SYNTAX, VISIT, TRANSIT = CUTS = ("syntax", "visit", "transit")
"""Steps after which the tree may be taken: as it was split, after `mdl_cut`, after `transit_cut`."""

_MAX_PAGES = 50_000
"""A bound of memory: pages of the log that keep figures of their own, the most visited ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviorSettings:
    """How patterns are found.

    Attributes
    ----------
    cut
        Last step: ``syntax`` keeps the tree as it is, ``visit`` cuts it by description length, ``transit``
        merges siblings after that.
    threshold
        Transit similarity above which siblings merge, [0, 1]. The paper does not give its own; .9 is
        measured, research/notebook/visits-from-logs.md.
    by_drop
        Split as the paper does; see `pattern_tree.TreeParams`.
    """

    cut: str = TRANSIT
    threshold: float = 0.9
    by_drop: bool = False


_DEFAULT = BehaviorSettings()


def mine_behavior(counts: BrowseCounts, settings: BehaviorSettings = _DEFAULT) -> BehaviorModel | None:
    """Return the patterns of a site, None if its log has no visit; deterministic.

    Cost O(records + URLs x keys x depth); 500,000 records on 4,000 URLs take less than a second.

    References
    ----------
    Liu, Cai, Zhang and Zhang 2011, sections 3 and 4.
    """
    if not counts.urls or not counts.transits.sum():
        return None
    tree, patterns = cut_tree(counts, settings)
    first, pairs = first_days(counts), [key_values(url) for url in counts.urls]
    fixed = {at: tree.pattern(at) for at in np.unique(patterns).tolist()}
    shapes = [shape_of(p, fixed[at]) for p, at in zip(pairs, patterns.tolist(), strict=True)]
    visits = counts.visits()
    serials = find_serials(pairs, shapes, first, visits, counts.n_days)
    days = [serials[s].days_ahead(p) if s in serials else -np.inf for p, s in zip(pairs, shapes, strict=True)]
    # The last third of the days, as `newcomers` counts them, and the slack of `serials`.
    born_late = np.array(days) > -(counts.n_days / 3.0 + 3.0)
    stats, own = _stats(counts, tree, patterns, first, born_late)
    examples: dict[int, str] = {}
    for row in np.argsort(-visits, kind="stable").tolist():
        examples.setdefault(int(patterns[row]), counts.urls[row])
    return BehaviorModel(counts.n_days, tree, stats, serials, _own_pages(counts, visits, *own), examples)


def cut_tree(counts: BrowseCounts, settings: BehaviorSettings) -> tuple[PatternTree, Ids]:
    """Return the tree after the cuts asked for, and the leaf of each page of the log, (n_urls,)."""
    tree, leaf = pattern_tree(counts.urls, TreeParams(by_drop=settings.by_drop))
    if settings.cut == SYNTAX:
        return tree, leaf
    parents, n = tree.parents(), len(tree)
    sizes, visits = (tally(leaf, x, n) for x in (np.ones(len(leaf)), counts.visits()))
    tree, ids = tree.pruned(mdl_cut(parents, totals(parents, sizes), totals(parents, visits)))
    leaf = ids[leaf]
    if settings.cut == VISIT:
        return tree, leaf
    sources, targets, transits = _between(counts, leaf)
    kept = transit_cut(
        tree.parents(), tree.leaves(), sources, targets, transits, threshold=settings.threshold
    )
    tree, ids = tree.pruned(kept)
    return tree, ids[leaf]


def _between(counts: BrowseCounts, patterns: Ids) -> tuple[Ids, Ids, Floats]:
    """Return the transits between patterns, -1 for the outside."""
    sources = np.where(counts.from_urls == OUTSIDE, OUTSIDE, patterns[counts.from_urls])
    return sources, patterns[counts.to_urls], counts.transits.astype(np.float64)


def _stats(
    counts: BrowseCounts, tree: PatternTree, patterns: Ids, first: Ids, born_late: NDArray[np.bool_]
) -> tuple[PatternStats, tuple[Floats, Floats]]:
    """Return the figures of every node, and demand and gain of every page."""
    n, parents = len(tree), tree.parents()
    columns = (np.ones(len(patterns)), counts.visits(), counts.referrals())
    sizes, visits, referrals = (tally(patterns, column, n) for column in columns)
    sources, targets, transits = _between(counts, patterns)
    inner = sources != OUTSIDE
    auth, hub = behavior_graph(sources[inner], targets[inner], transits[inner], visits, referrals)
    demand = own_demand(counts)
    newcomer = newcomers(counts, first, patterns, n, born_late).demand()
    gain, own_gain = _gains(counts, demand, patterns, sizes)
    means = (tally(patterns, demand, n) / np.maximum(sizes, 1.0), newcomer, gain)
    whole = totals(parents, sizes)
    averaged = [totals(parents, x * sizes) / np.maximum(whole, 1.0) for x in (auth, hub, *means)]
    sums = [whole, totals(parents, visits), totals(parents, referrals)]
    return PatternStats(*sums, *averaged), (demand, own_gain)


def _gains(counts: BrowseCounts, demand: Floats, patterns: Ids, sizes: Floats) -> tuple[Floats, Floats]:
    real = (counts.from_urls != OUTSIDE) & (counts.from_urls != counts.to_urls)
    transits = counts.transits[real].astype(np.float64)
    return discovery_gain(counts.from_urls[real], counts.to_urls[real], transits, demand, patterns, sizes)


def _own_pages(counts: BrowseCounts, visits: Ids, demand: Floats, gain: Floats) -> OwnPages:
    kept = np.argsort(-visits, kind="stable")[:_MAX_PAGES]
    hashes = np.array([hash64(counts.urls[row]) for row in kept.tolist()], dtype=np.uint64)
    order = np.argsort(hashes)
    rows = kept[order]
    return OwnPages(hashes[order], demand[rows].astype(np.float32), gain[rows].astype(np.float32))
