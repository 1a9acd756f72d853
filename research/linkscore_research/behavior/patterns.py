"""Quality of the URL patterns of a log, as Liu 2011 measures it (section 5.2, Tables 3 and 4, Fig. 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linkscore_research.behavior.orders import Mirror, layout_likeness
from linkscore_scoring.browse_logs.behavior import CUTS, BehaviorSettings, cut_tree
from linkscore_scoring.browse_logs.counts import BrowseCounts
from linkscore_scoring.browse_logs.cuts import depths
from linkscore_scoring.browse_logs.patterns import PatternTree, key_values

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

# Pairs of pages drawn: the standard error of a mean in [0, 1] is then at most .012.
_PAIRS = 2_000


@dataclass(frozen=True, slots=True)
class PatternFigures:
    """Figures of one tree."""

    tree: str  # Cut, and how the tree was split
    leaves: int  # Patterns, and depth of the deepest
    height: int
    mirror_coverage: float  # Share of the site's pages that fit a pattern
    layout: float  # Mean likeness of the layouts of two pages of one pattern, and of any two pages
    layout_random: float
    # Jensen-Shannon divergence, base 2, between the visits of pages and those smoothed over their pattern
    divergence: float
    later_urls: float  # Share of the pages of later days, and of their visits, that fit a pattern
    later_visits: float
    known_urls: float  # The same of pages that the log has themselves
    known_visits: float


def pattern_figures(counts: BrowseCounts, later: BrowseCounts, mirror: Mirror) -> list[PatternFigures]:
    """Return the figures after each cut, split as the default and as the paper."""
    figures = []
    for settings in (BehaviorSettings(), BehaviorSettings(by_drop=True)):
        for cut in CUTS:
            name = f"{cut} (paper)" if settings.by_drop else cut
            figures.append(_figures(name, replace(settings, cut=cut), counts, later, mirror))
    return figures


def divergence(p: Floats, q: Floats) -> float:
    """Return the Jensen-Shannon divergence of two distributions in bits, in [0, 1]."""
    middle = (p + q) / 2.0
    return (_relative_entropy(p, middle) + _relative_entropy(q, middle)) / 2.0


def smoothed(visits: Floats, patterns: Ids) -> tuple[Floats, Floats]:
    """Return the distribution of visits over pages, and that with the mean of its pattern for each page."""
    sums, sizes = np.bincount(patterns, visits), np.bincount(patterns)
    total = float(visits.sum())
    return visits / total, (sums / np.maximum(sizes, 1))[patterns] / total


def _figures(
    name: str, settings: BehaviorSettings, counts: BrowseCounts, later: BrowseCounts, mirror: Mirror
) -> PatternFigures:
    tree, leaf = cut_tree(counts, settings)
    of_mirror, covered = _matched(tree, mirror.keys)
    _, later_covered = _matched(tree, later.urls)
    rng = np.random.default_rng(1)
    likeness, chance = _layouts(mirror, of_mirror, covered, rng)
    visited = later.visits().astype(np.float64)
    known = np.isin(np.array(later.urls), np.array(counts.urls))
    was = visited > 0
    return PatternFigures(
        name,
        int(tree.leaves().sum()),
        int(depths(tree.parents()).max()),
        float(covered.mean()),
        likeness,
        chance,
        divergence(*smoothed(counts.visits().astype(np.float64), leaf)),
        float(later_covered[was].mean()),
        float(visited[later_covered].sum() / visited.sum()),
        float(known[was].mean()),
        float(visited[known].sum() / visited.sum()),
    )


def _matched(tree: PatternTree, urls: Sequence[str]) -> tuple[Ids, NDArray[np.bool_]]:
    found = [tree.match(key_values(url)) for url in urls]
    return np.array([at for at, _ in found]), np.array([fits for _, fits in found], dtype=np.bool_)


def _layouts(
    mirror: Mirror, patterns: Ids, covered: NDArray[np.bool_], rng: np.random.Generator
) -> tuple[float, float]:
    """Return the mean likeness of pairs drawn within patterns, by their pages, and of any pairs."""
    pages = np.flatnonzero(covered)
    sizes = np.bincount(patterns[pages])
    pages = pages[sizes[patterns[pages]] > 1]
    within, chance = [], []
    for _ in range(_PAIRS if len(pages) else 0):
        one = int(rng.choice(pages))
        peers = pages[patterns[pages] == patterns[one]]
        within.append(_like(mirror, one, int(rng.choice(peers[peers != one]))))
        a, b = rng.choice(len(mirror.keys), 2, replace=False)
        chance.append(_like(mirror, int(a), int(b)))
    return float(np.mean(within or [0.0])), float(np.mean(chance or [0.0]))


def _like(mirror: Mirror, one: int, other: int) -> float:
    return layout_likeness(mirror.layouts[one], mirror.layouts[other])


def _relative_entropy(p: Floats, q: Floats) -> float:
    some = p > 0
    return float((p[some] * np.log2(p[some] / q[some])).sum())
