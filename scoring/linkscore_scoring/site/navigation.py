"""The navigation table: where the links of an anchor path of a cluster lead (Xu 2018, equations 4 to 6).

Rows are kept on four levels, from specific to general: (cluster, link path), (cluster, link path without
class), (any cluster, link path), (any cluster, link path without class). Every observation enters all four,
so a look-up always finds the most specific row that knows something; below them stands the site prior.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.base import OUTLIER
from linkscore_scoring.columns import Repeated
from linkscore_scoring.state import Stateful, Stored

_ANY = -2
"""Source cluster of rows that hold for pages of any cluster."""
_EVICTED_SHARE = 0.1
"""Share of the rows that goes when there is no room: inserting stays O(1) amortised; chosen, not measured."""

_Key = tuple[int, int, int]
"""Level, source cluster and link path."""


_SMOOTHING = 0.5
"""Pseudo-destinations a row takes from the next level; chosen, not measured."""
_UNSEEN_MASS = 0.1
"""Total mass of a row nothing is known about: links of unseen link paths come late, but are not dropped."""


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """One row: links of a link path on a cluster's pages, those followed, the share of each destination."""

    source: int
    link_path: int
    links: int
    followed: float
    destinations: dict[int, float]


@dataclass(slots=True)
class _Row:
    """Links, fetched or not; and how often they led to each cluster, and to any."""

    links: float = 0.0
    followed: float = 0.0
    led: dict[int, float] = field(default_factory=dict)


class NavigationTable(Stateful):
    """Counts of destination clusters per (source cluster, link path), learned as pages are crawled.

    Cluster ids are persistent ids (-1 for outliers, which are counted as source and as destination); link
    path ids are any 64-bit integers. Each link path comes with the id of the same path without class.

    Source: Xu 2018, section 4.3, equations 4 to 6. Differences from the paper: the table also learns during
    harvest, unseen pairs fall back to more general rows (the paper promises there are none), a pair whose
    destinations were never crawled has no entry, and rows are bounded.

    `paper`: eq. 5 exact, without smoothing. `max_rows`: rows kept over all levels; the least used go first.
    `max_clusters`: distinct destination clusters; further ones count as outliers.
    """

    _rows: Stored[dict[_Key, _Row]]
    _site: Stored[_Row]

    def __init__(self, *, paper: bool = False, max_rows: int = 20_000, max_clusters: int = 256) -> None:
        self._smoothing = 0.0 if paper else _SMOOTHING
        self._max_rows, self._max_clusters = max_rows, max_clusters
        self._site = _Row(led={OUTLIER: 0.0})

    def observe_links(self, source: int, counts: Mapping[int, int]) -> None:
        """Add the URLs that a page of a cluster shows under each link path, |U| of eq. 4, fetched or not."""
        for link_path, count in counts.items():
            self._row((0, source, link_path)).links += count

    def observe_destination(
        self, source: int, link_path: int, classless: int, destination: int, *, weight: float = 1.0
    ) -> None:
        """Add one crawled destination of a link that a page of cluster `source` shows under `link_path`."""
        if destination not in self._site.led and len(self._site.led) >= self._max_clusters:
            destination = OUTLIER
        for row in (self._site, *map(self._row, _keys(source, link_path, classless))):
            row.led[destination] = row.led.get(destination, 0.0) + weight
            row.followed += weight

    def probabilities(
        self,
        sources: Sequence[int],
        link_paths: Sequence[int],
        classless: Sequence[int],
        clusters: Sequence[int],
    ) -> NDArray[np.float64]:
        """Return P(destination | source, link path) of every link, (n_links, n_clusters) float64.

        Rows sum to 1 at most: mass of clusters not asked for is left out. Equal links are looked up once.

        `sources`, `link_paths`, `classless`: cluster of the page, link path id and class-free link path id
        of each link, same length. `clusters`: destination clusters to report, in this order; -1 asks for
        outliers.
        """
        links = Repeated.of(zip(sources, link_paths, classless, strict=True))
        distinct = [self._shares(_keys(*link), clusters) for link in links.distinct]
        return np.array(distinct, dtype=np.float64).reshape(-1, len(clusters))[links.places]

    def _shares(self, keys: Sequence[_Key], clusters: Sequence[int]) -> NDArray[np.float64]:
        """Fold the levels from the site prior to the most specific row: p = (n + s * p_general) / (N + s)."""
        p = _counts(self._site, clusters) / max(1.0, self._site.followed)
        s = self._smoothing
        known = [row for row in map(self._rows.get, reversed(keys)) if row is not None and row.followed]
        for row in known:
            p = (_counts(row, clusters) + s * p) / (row.followed + s)  # eq. 5 when s = 0
        return p if known else p * _UNSEEN_MASS

    def adjacency(self, clusters: Sequence[int]) -> NDArray[np.float64]:
        """Return expected links between clusters, (n, n) float64: sum of P(Cj|Ci,x) |U[Ci,x]| (eq. 6)."""
        A = np.zeros((len(clusters), len(clusters)))
        index = {cluster: i for i, cluster in enumerate(clusters)}
        for (level, source, _), row in self._rows.items():
            if level == 0 and source in index and row.followed:
                A[index[source]] += _counts(row, clusters) / row.followed * row.links  # eq. 6
        return A

    def entries(self) -> list[NavigationEntry]:
        """Return every (cluster, link path) row with its destinations, oldest first."""
        return [
            NavigationEntry(
                source,
                link_path,
                int(row.links),
                row.followed,
                {cluster: n / row.followed for cluster, n in row.led.items()},
            )
            for (level, source, link_path), row in self._rows.items()
            if level == 0
        ]

    def strongest(self, sources: Collection[int], n: int) -> dict[int, list[NavigationEntry]]:
        """Return, for each of some clusters, its `n` rows with the most links; cost O(rows log rows)."""
        found: defaultdict[int, list[NavigationEntry]] = defaultdict(list)
        for row in sorted(self.entries(), key=lambda row: -row.links):
            if row.source in sources and len(found[row.source]) < n:
                found[row.source].append(row)
        return found

    def _row(self, key: _Key) -> _Row:
        """Return a row, made if there is none; when there is no room the least used tenth goes."""
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= self._max_rows:
                by_use = sorted(self._rows.items(), key=lambda pair: (pair[1].followed, pair[1].links))
                for old, _ in by_use[: max(1, int(len(by_use) * _EVICTED_SHARE))]:
                    del self._rows[old]
            row = self._rows[key] = _Row()
        return row


def _keys(source: int, link_path: int, classless: int) -> tuple[_Key, ...]:
    """Return the row keys of a link from specific to general."""
    return (0, source, link_path), (1, source, classless), (2, _ANY, link_path), (3, _ANY, classless)


def _counts(row: _Row, clusters: Sequence[int]) -> NDArray[np.float64]:
    return np.array([row.led.get(cluster, 0.0) for cluster in clusters])


Vector = NDArray[np.float64]


def hits(A: NDArray[np.float64], *, tolerance: float = 1e-9, max_rounds: int = 100) -> tuple[Vector, Vector]:
    """Return hub and authority scores, two (n,) float64 vectors of L2 norm 1.

    `A`: adjacency of the clusters, (n, n), ``A[i, j]`` = expected links from cluster i to cluster j (eq. 6).
    Outliers take no part: leave their row and column out. `tolerance`: stop when authorities and hubs
    together change by less (L1). `max_rounds`: bound for graphs whose two largest eigenvalues nearly agree.

    Cost O(rounds x n^2). Source: Xu 2018, equations 7 and 8. Differences from the paper: the uniform start
    ``1/sqrt(n)``, the L2 norm and the stop rule are ours (the paper says "until convergence"); the fixed
    start makes the result of a disconnected graph deterministic; without any link both vectors stay uniform.

    Examples
    --------
    >>> hubs, authorities = hits(np.array([[0.0, 5.0], [0.0, 0.0]]))  # cluster 0 links to cluster 1
    >>> hubs.round(3).tolist(), authorities.round(3).tolist()
    ([1.0, 0.0], [0.0, 1.0])
    """
    n = len(A)
    h = a = np.full(n, 1.0 / np.sqrt(n)) if n else np.zeros(0)
    if not A.any():
        return h, a
    for _ in range(max_rounds):
        h_new = _unit(A @ a)  # eq. 7
        a_new = _unit(A.T @ h_new)  # eq. 8
        change = np.abs(a_new - a).sum() + np.abs(h_new - h).sum()
        h, a = h_new, a_new
        if change < tolerance:
            break
    return h, a


def target_hits(A: NDArray[np.float64], target: int) -> tuple[Vector, Vector]:
    """Return hubs and authorities of crawling-for-target: authority is pinned to one cluster.

    With `a` pinned, eq. 7 reaches its fixed point after one step: h is column `target` of A, scaled to L2
    norm 1. Clusters two or more hops away score 0; see `multi_hop_hubs`.

    Source: Xu 2018, section 4.4.2. Differences from the paper: h is normalised (raw counts would swamp a).
    """
    return _unit(A[:, target]), np.eye(len(A))[target]  # eq. 7


def multi_hop_hubs(A: NDArray[np.float64], target: int) -> Vector:
    """Return how readily each cluster leads to the target within several hops, (n,) float64 in [0, 2].

    The sum over 1 <= t <= 20 of ``.5^(t-1) Pbar^t e_target`` with Pbar the row-normalised adjacency. Not in
    the paper: its one-step hubs leave everything two hops away at 0.
    """
    rows = A.sum(axis=1, keepdims=True)
    step = A / np.where(rows > 0.0, rows, 1.0)
    reach = np.zeros(len(A))
    reach[target] = 1.0
    total = np.zeros(len(A))
    for t in range(20):
        reach = step @ reach
        total += 0.5**t * reach
    return total


def _unit(vector: Vector) -> Vector:
    size = float(np.sqrt(vector @ vector))
    return vector / size if size > 0.0 else vector
