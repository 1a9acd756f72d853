"""The navigation table: where the links of an anchor path of a cluster lead (Xu 2018, equations 4 to 6).

Rows are kept on four levels, from specific to general: (cluster, link path), (cluster, link path without
class), (any cluster, link path), (any cluster, link path without class). Every observation enters all four,
so a look-up always finds the most specific row that knows something; below them stands the site prior.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.clustering.base import OUTLIER
from linkscore_scoring.errors import CorruptState
from linkscore_scoring.state import State, Stateful, Stored, pack_array, unpack_array

Mode = Literal["online", "paper"]

_LEVELS = 4
"""See the module."""
_ANY = -2
"""Source cluster of rows that hold for pages of any cluster."""
_EVICTED_SHARE = 0.1
"""Share of the rows that goes when there is no room: inserting stays O(1) amortised; chosen, not measured."""

_Key = tuple[int, int, int]
"""Level, source cluster and link path."""


@dataclass(frozen=True, slots=True)
class NavigationParams:
    """How the table learns.

    `mode`: ``online`` learns from every destination and smooths each row with the more general one;
    ``paper`` is eq. 5 exact, and frozen once `NavigationTable.freeze` was called. `smoothing`:
    pseudo-destinations a row takes from the next level (online mode). `unseen_mass`: total mass of a row
    nothing is known about: links of unseen link paths come late, but are not dropped. `max_rows`: rows kept
    over all levels; the least used go first. `max_clusters`: distinct destination clusters; further ones
    count as outliers.
    """

    mode: Mode = "online"
    smoothing: float = 0.5
    unseen_mass: float = 0.1
    max_rows: int = 20_000
    max_clusters: int = 256


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """One row: links of a link path on a cluster's pages, those followed, the share of each destination."""

    source: int
    link_path: int
    links: int
    followed: float
    destinations: dict[int, float]


class NavigationTable(Stateful):
    """Counts of destination clusters per (source cluster, link path), learned as pages are crawled.

    Cluster ids are persistent ids (-1 for outliers, which are counted as source and as destination); link
    path ids are any 64-bit integers. Each link path comes with the id of the same path without class.

    Source: Xu 2018, section 4.3, equations 4 to 6. Differences from the paper: the table also learns during
    harvest, unseen pairs fall back to more general rows (the paper promises there are none), a pair whose
    destinations were never crawled has no entry, and rows are bounded. ``NavigationParams(mode="paper")``
    switches learning on line and smoothing off.
    """

    frozen: Stored[bool]
    _rows: Stored[_Rows]

    def __init__(self, params: NavigationParams | None = None) -> None:
        self.params = params or NavigationParams()
        self.frozen = False
        self._rows = _Rows(self.params.max_rows, self.params.max_clusters)

    def freeze(self) -> None:
        """End learning for good (paper mode: after the sample)."""
        self.frozen = True

    def observe_links(self, source: int, link_paths: Sequence[int], counts: Sequence[int]) -> None:
        """Add the URLs a page of cluster `source` shows under each of distinct link paths, |U| of eq. 4; cost
        O(n_link_paths).

        `counts` are links, fetched or not, as many as there are link paths.
        """
        if not self.frozen:
            self._rows.add_links([_own_key(source, link_path) for link_path in link_paths], counts)

    def observe_destination(
        self, source: int, link_path: int, classless: int, destination: int, *, weight: float = 1.0
    ) -> None:
        """Add one crawled destination of a link that a page of cluster `source` shows under `link_path`."""
        if self.frozen:
            return
        self._rows.add_prior(destination, weight)
        for key in _keys(source, link_path, classless):
            self._rows.add(key, destination, weight)

    def probabilities(
        self,
        sources: Sequence[int] | NDArray[np.int64],
        link_paths: Sequence[int] | NDArray[np.int64],
        classless: Sequence[int] | NDArray[np.int64],
        clusters: Sequence[int],
    ) -> NDArray[np.float64]:
        """Return P(destination | source, link path) of every link, (n_links, n_clusters) float64.

        Rows sum to 1 at most: mass of clusters not asked for is left out. Equal links are looked up once.

        `sources`, `link_paths`, `classless`: cluster of the page, link path id and class-free link path id
        of each link, same length. `clusters`: destination clusters to report, in this order; -1 asks for
        outliers.
        """
        triples = list(zip(sources, link_paths, classless, strict=True))
        distinct = {triple: i for i, triple in enumerate(dict.fromkeys(triples))}
        chosen = self._distinct([_keys(*triple) for triple in distinct], clusters)
        return chosen[[distinct[triple] for triple in triples]] if triples else chosen

    def _distinct(
        self, keys: Sequence[tuple[tuple[int, int, int], ...]], clusters: Sequence[int]
    ) -> NDArray[np.float64]:
        """Fold the levels from the site prior to the most specific row: p = (n + s * p_general) / (N + s)."""
        prior = self._rows.prior(clusters)
        p = np.tile(prior, (len(keys), 1))
        seen = np.zeros(len(keys), dtype=bool)
        s = 0.0 if self.params.mode == "paper" else self.params.smoothing
        for level in reversed(range(_LEVELS)):
            counts, totals = self._rows.gather([key[level] for key in keys], clusters)
            known = totals > 0.0
            p[known] = (counts[known] + s * p[known]) / (totals[known, None] + s)  # eq. 5 when s = 0
            seen |= known
        p[~seen] *= self.params.unseen_mass
        return p

    def adjacency(self, clusters: Sequence[int]) -> NDArray[np.float64]:
        """Return expected links between clusters, (n, n) float64: sum of P(Cj|Ci,x) |U[Ci,x]| (eq. 6)."""
        A = np.zeros((len(clusters), len(clusters)))
        index = {cluster: i for i, cluster in enumerate(clusters)}
        for (level, source, _), counts, total, links in self._rows.items(clusters):
            if level == 0 and source in index and total > 0.0:
                A[index[source]] += counts / total * links  # eq. 6
        return A

    def entries(self) -> list[NavigationEntry]:
        """Return every (cluster, link path) row with its destinations, oldest first."""
        return [self._rows.entry(key) for key in self._rows.row_keys() if key[0] == 0]

    def strongest(self, sources: Collection[int], n: int) -> dict[int, list[NavigationEntry]]:
        """Return, for each of some clusters, its `n` rows with the most links; cost O(rows)."""
        slots: defaultdict[int, list[_Key]] = defaultdict(list)
        for key in self._rows.row_keys():
            if key[0] == 0 and key[1] in sources:
                slots[key[1]].append(key)
        return {
            source: [self._rows.entry(key) for key in nlargest(n, keys, key=self._rows.links)]
            for source, keys in slots.items()
        }


def _own_key(source: int, link_path: int) -> _Key:
    """Return the row key of a link that is most specific."""
    return 0, source, link_path


def _keys(source: int, link_path: int, classless: int) -> tuple[tuple[int, int, int], ...]:
    """Return the row keys of a link from specific to general."""
    source, link_path, classless = int(source), int(link_path), int(classless)
    return (_own_key(source, link_path), (1, source, classless), (2, _ANY, link_path), (3, _ANY, classless))


class _Rows:
    """Dense rows, one per key, with columns that are destination clusters; both grow on demand.

    When `max_rows` is reached, the tenth of the rows with the least observations and links goes (ties: oldest
    first), so an insert costs O(1) amortised. Counts are float32: exact up to 16 million.
    """

    def __init__(self, max_rows: int, max_clusters: int) -> None:
        self.max_rows = max_rows
        self.max_clusters = max_clusters
        self._slots: dict[_Key, int] = {}
        # Column 0 also stands for clusters there is no room for.
        self._columns: dict[int, int] = {OUTLIER: 0}
        self._counts = np.zeros((16, 4), dtype=np.float32)
        self._links: list[float] = []
        self._prior = np.zeros(4, dtype=np.float64)

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, key: _Key, destination: int, weight: float) -> None:
        """Count a destination."""
        column = self._column(destination)
        slot = self._slot(key)
        self._counts[slot, column] += weight

    def add_prior(self, destination: int, weight: float) -> None:
        """Count a destination for the site as a whole."""
        column = self._column(destination)
        self._prior[column] += weight

    def add_links(self, keys: Sequence[_Key], counts: Sequence[float]) -> None:
        """Count links, fetched or not."""
        for key, count in zip(keys, counts, strict=True):
            slot = self._slot(key)
            self._links[slot] += count

    def gather(
        self, keys: Sequence[_Key], clusters: Sequence[int]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return counts (n_keys, n_clusters) and row totals (n_keys,); keys without a row have 0."""
        slots = np.array([self._slots.get(key, -1) for key in keys], dtype=np.int64)
        rows = np.where(slots[:, None] >= 0, self._counts[slots], 0.0).astype(np.float64)
        return self._picked(rows, clusters), rows.sum(axis=1)

    def prior(self, clusters: Sequence[int]) -> NDArray[np.float64]:
        """Return the share of each cluster among all destinations, (n_clusters,); zero before the first."""
        total = self._prior.sum()
        shares = self._prior / total if total > 0.0 else self._prior
        prior: NDArray[np.float64] = self._picked(shares[None, :], clusters)[0]
        return prior

    def items(self, clusters: Sequence[int]) -> Iterator[tuple[_Key, NDArray[np.float64], float, float]]:
        """Yield key, counts of these clusters, total of the row and links, oldest row first."""
        for key, slot in self._slots.items():
            row = self._counts[slot].astype(np.float64)
            yield key, self._picked(row[None, :], clusters)[0], float(row.sum()), self._links[slot]

    def row_keys(self) -> Iterable[_Key]:
        """Return the key of every row, oldest first."""
        return self._slots.keys()

    def links(self, key: _Key) -> float:
        """Return the links of a row."""
        return self._links[self._slots[key]]

    def entry(self, key: _Key) -> NavigationEntry:
        """Return a row with the destinations that were counted."""
        counts, names = self._counts[self._slots[key]], self.clusters()
        total = float(counts.sum(dtype=np.float64))
        places = np.flatnonzero(counts).tolist()
        shares = {names[at]: float(counts[at]) / total for at in places}
        return NavigationEntry(key[1], key[2], int(self.links(key)), total, shares)

    def clusters(self) -> list[int]:
        """Return every destination cluster counted so far, -1 for outliers included."""
        return list(self._columns)

    def _picked(self, rows: NDArray[np.float64], clusters: Sequence[int]) -> NDArray[np.float64]:
        columns = np.array([self._columns.get(cluster, -1) for cluster in clusters], dtype=np.int64)
        return np.asarray(np.where(columns >= 0, rows[:, columns], 0.0), dtype=np.float64)

    def _column(self, cluster: int) -> int:
        column = self._columns.get(cluster)
        if column is None:
            if len(self._columns) >= self.max_clusters:
                return self._columns[OUTLIER]
            column = self._columns[cluster] = len(self._columns)
            if column >= self._counts.shape[1]:
                self._counts = np.pad(self._counts, ((0, 0), (0, column)))
                self._prior = np.pad(self._prior, (0, column))
        return column

    def _slot(self, key: _Key) -> int:
        slot = self._slots.get(key)
        if slot is None:
            if len(self._slots) >= self.max_rows:
                self._evict()
            slot = self._slots[key] = len(self._slots)
            self._links.append(0.0)
            if slot >= len(self._counts):
                self._counts = np.pad(self._counts, ((0, slot), (0, 0)))
        return slot

    def _evict(self) -> None:
        n = len(self._slots)
        use = self._counts[:n].sum(axis=1, dtype=np.float64) * 1e6 + np.array(self._links)
        gone = max(1, int(n * _EVICTED_SHARE))
        kept = np.sort(np.argsort(use, kind="stable")[gone:])
        keys = list(self._slots)
        self._counts[: len(kept)] = self._counts[kept]
        self._counts[len(kept) :] = 0.0
        self._links = [self._links[old] for old in kept]
        self._slots = {keys[old]: new for new, old in enumerate(kept)}

    def to_state(self) -> State:
        """Return the rows as plain values."""
        n, m = len(self._slots), len(self._columns)
        return {
            "keys": [list(key) for key in self._slots],
            "columns": list(self._columns),
            "counts": pack_array(self._counts[:n, :m]),
            "links": pack_array(np.array(self._links, dtype=np.float64)),
            "prior": pack_array(self._prior[:m]),
        }

    def load_state(self, state: State) -> None:
        """Replace the rows by stored ones.

        Raises `CorruptState`: if keys, columns and counts disagree in shape.
        """
        counts, links, prior = (unpack_array(state[name]) for name in ("counts", "links", "prior"))
        n, m = len(state["keys"]), len(state["columns"])
        if counts.shape != (n, m) or links.shape != (n,) or prior.shape != (m,):
            raise CorruptState(f"navigation rows: want {n} rows of {m} columns, got {counts.shape}")
        self._slots = {(int(a), int(b), int(c)): i for i, (a, b, c) in enumerate(state["keys"])}
        self._columns = {int(cluster): i for i, cluster in enumerate(state["columns"])}
        self._counts = np.pad(counts.astype(np.float32), ((0, 16), (0, 4)))
        self._links = links.astype(np.float64).tolist()
        self._prior = np.pad(prior.astype(np.float64), (0, 4))


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
    start = np.full(n, 1.0 / np.sqrt(n)) if n else np.zeros(0)
    h, a = start, start
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
    a = np.zeros(len(A))
    a[target] = 1.0
    return _unit(A @ a), a  # eq. 7


def multi_hop_hubs(A: NDArray[np.float64], target: int, *, beta: float = 0.5, hops: int = 20) -> Vector:
    """Return how readily each cluster leads to the target within several hops, (n,) float64 in [0, 1 / (1 -
    beta)].

    The sum over t >= 1 of ``beta^(t-1) Pbar^t e_target`` with Pbar the row-normalised adjacency, cut after
    `hops`. Not in the paper: its one-step hubs leave everything two hops away at 0.
    """
    rows = A.sum(axis=1, keepdims=True)
    step = A / np.where(rows > 0.0, rows, 1.0)
    reach = np.zeros(len(A))
    reach[target] = 1.0
    total = np.zeros(len(A))
    for t in range(hops):
        reach = step @ reach
        total += beta**t * reach
    return total


def _unit(vector: Vector) -> Vector:
    size = float(np.sqrt(vector @ vector))
    return vector / size if size > 0.0 else vector
