"""The navigation table: where the links of an anchor path of a cluster lead (Xu 2018, equations 4 to 6).

Rows are kept on four levels, from specific to general: (cluster, Apath), (cluster, Apath without class), (any
cluster, Apath), (any cluster, Apath without class). Every observation enters all four, so a look-up always
finds the most specific row that knows something; below them stands the site prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import reading_state
from linkscore_scoring.site.navigation_rows import ANY, RowStore
from linkscore_scoring.state import State

Mode = Literal["online", "paper"]

_LEVELS = 4


@dataclass(frozen=True, slots=True)
class NavigationParams:
    """How the table learns.

    Attributes
    ----------
    mode
        ``online`` learns from every destination and smooths each row with the more general one; ``paper`` is
        eq. 5 exact, and frozen once `NavigationTable.freeze` was called.
    smoothing
        Pseudo-destinations a row takes from the next level (online mode).
    unseen_mass
        Total mass of a row nothing is known about: links of unseen Apaths come late, but are not dropped.
    max_rows
        Rows kept over all levels; the least used go first.
    max_clusters
        Distinct destination clusters; further ones count as outliers.
    """

    mode: Mode = "online"
    smoothing: float = 0.5
    unseen_mass: float = 0.1
    max_rows: int = 20_000
    max_clusters: int = 256


@dataclass(frozen=True, slots=True)
class NavigationEntry:
    """One row: links of an Apath on a cluster's pages, those followed, and the share of each destination."""

    source: int
    apath: int
    links: int
    followed: float
    destinations: dict[int, float]


class NavigationTable:
    """Counts of destination clusters per (source cluster, Apath), learned as pages are crawled.

    Cluster ids are persistent ids (-1 for outliers, which are counted as source and as destination); Apath
    ids are any 64-bit integers. Each Apath comes with the id of the same path without class.

    Notes
    -----
    Source: Xu 2018, section 4.3, equations 4 to 6. Differences from the paper: the table also learns during
    harvest, unseen pairs fall back to more general rows (the paper promises there are none), a pair whose
    destinations were never crawled has no entry, and rows are bounded. ``NavigationParams(mode="paper")``
    switches learning on line and smoothing off.
    """

    def __init__(self, params: NavigationParams | None = None) -> None:
        self.params = params or NavigationParams()
        self.frozen = False
        self._rows = RowStore(self.params.max_rows, self.params.max_clusters)

    @property
    def n_rows(self) -> int:
        """Rows held, all levels together."""
        return len(self._rows)

    def freeze(self) -> None:
        """End learning for good (paper mode: after the sample)."""
        self.frozen = True

    def observe_links(
        self, source: int, apaths: Sequence[int], classless: Sequence[int], counts: Sequence[int]
    ) -> None:
        """Add the URLs a page of cluster `source` shows under each Apath, |U| of eq. 4; cost O(n_apaths).

        `counts` are links, fetched or not; the three sequences have the same length.
        """
        if self.frozen:
            return
        for apath, bare, count in zip(apaths, classless, counts, strict=True):
            self._rows.add_links(_keys(source, apath, bare)[0], count)

    def observe_destination(
        self, source: int, apath: int, classless: int, destination: int, *, weight: float = 1.0
    ) -> None:
        """Add one crawled destination of a link that a page of cluster `source` shows under `apath`."""
        if self.frozen:
            return
        self._rows.add_prior(destination, weight)
        for key in _keys(source, apath, classless):
            self._rows.add(key, destination, weight)

    def probabilities(
        self,
        sources: Sequence[int] | NDArray[np.int64],
        apaths: Sequence[int] | NDArray[np.int64],
        classless: Sequence[int] | NDArray[np.int64],
        clusters: Sequence[int],
    ) -> NDArray[np.float64]:
        """Return P(destination | source, Apath) of every link, (n_links, n_clusters) float64.

        Rows sum to 1 at most: mass of clusters not asked for is left out. Equal links are looked up once.

        Parameters
        ----------
        sources, apaths, classless
            Cluster of the page, Apath id and class-free Apath id of each link, same length.
        clusters
            Destination clusters to report, in this order; -1 asks for outliers.
        """
        triples = list(zip(sources, apaths, classless, strict=True))
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
        """Return every (cluster, Apath) row with its destinations, oldest first."""
        clusters = self._rows.clusters()
        found = []
        for (level, source, apath), counts, total, links in self._rows.items(clusters):
            if level == 0:
                shares = {c: float(n / total) for c, n in zip(clusters, counts, strict=True) if n > 0.0}
                found.append(NavigationEntry(source, apath, int(links), total, shares))
        return found

    def to_state(self) -> State:
        """Return the table as plain values."""
        return {"frozen": self.frozen, "rows": self._rows.to_state()}

    @classmethod
    def from_state(cls, state: State, params: NavigationParams | None = None) -> NavigationTable:
        """Rebuild a table under `params`.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        table = cls(params)
        with reading_state("navigation state"):
            table.frozen = bool(state["frozen"])
            table._rows.load(state["rows"])
        return table


def _keys(source: int, apath: int, classless: int) -> tuple[tuple[int, int, int], ...]:
    """Return the row keys of a link from specific to general."""
    source, apath, classless = int(source), int(apath), int(classless)
    return ((0, source, apath), (1, source, classless), (2, ANY, apath), (3, ANY, classless))
