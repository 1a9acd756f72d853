"""Bounded rows of counts per destination cluster, the memory of a navigation table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from linkscore_scoring.errors import CorruptState
from linkscore_scoring.state import State, pack_array, unpack_array

Key = tuple[int, int, int]

ANY = -2
_OUTLIER = -1
_EVICTED_SHARE = 0.1


class RowStore:
    """Dense rows, one per key, with columns that are destination clusters; both grow on demand.

    When `max_rows` is reached, the tenth of the rows with the least observations and links goes (ties: oldest
    first), so an insert costs O(1) amortised. Counts are float32: exact up to 16 million.
    """

    def __init__(self, max_rows: int, max_clusters: int) -> None:
        self.max_rows = max_rows
        self.max_clusters = max_clusters
        self._slots: dict[Key, int] = {}
        self._columns: dict[int, int] = {_OUTLIER: 0}
        self._counts = np.zeros((16, 4), dtype=np.float32)
        self._links = np.zeros(16, dtype=np.float64)
        self._prior = np.zeros(4, dtype=np.float64)

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, key: Key, destination: int, weight: float) -> None:
        """Count a destination."""
        column = self._column(destination)
        slot = self._slot(key)
        self._counts[slot, column] += weight

    def add_prior(self, destination: int, weight: float) -> None:
        """Count a destination for the site as a whole."""
        column = self._column(destination)
        self._prior[column] += weight

    def add_links(self, key: Key, count: float) -> None:
        """Count links, fetched or not."""
        slot = self._slot(key)
        self._links[slot] += count

    def gather(
        self, keys: Sequence[Key], clusters: Sequence[int]
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

    def items(self, clusters: Sequence[int]) -> Iterator[tuple[Key, NDArray[np.float64], float, float]]:
        """Yield key, counts of these clusters, total of the row and links, oldest row first."""
        for key, slot in self._slots.items():
            row = self._counts[slot].astype(np.float64)
            yield key, self._picked(row[None, :], clusters)[0], float(row.sum()), float(self._links[slot])

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
                return self._columns[_OUTLIER]
            column = self._columns[cluster] = len(self._columns)
            if column >= self._counts.shape[1]:
                self._counts = np.pad(self._counts, ((0, 0), (0, column)))
                self._prior = np.pad(self._prior, (0, column))
        return column

    def _slot(self, key: Key) -> int:
        slot = self._slots.get(key)
        if slot is None:
            if len(self._slots) >= self.max_rows:
                self._evict()
            slot = self._slots[key] = len(self._slots)
            if slot >= len(self._links):
                self._counts = np.pad(self._counts, ((0, slot), (0, 0)))
                self._links = np.pad(self._links, (0, slot))
        return slot

    def _evict(self) -> None:
        n = len(self._slots)
        use = self._counts[:n].sum(axis=1, dtype=np.float64) * 1e6 + self._links[:n]
        gone = max(1, int(n * _EVICTED_SHARE))
        kept = np.sort(np.argsort(use, kind="stable")[gone:])
        keys = list(self._slots)
        self._counts[: len(kept)], self._links[: len(kept)] = self._counts[kept], self._links[kept]
        self._counts[len(kept) :], self._links[len(kept) :] = 0.0, 0.0
        self._slots = {keys[old]: new for new, old in enumerate(kept)}

    def to_state(self) -> State:
        """Return the rows as plain values."""
        n, m = len(self._slots), len(self._columns)
        return {
            "keys": [list(key) for key in self._slots],
            "columns": list(self._columns),
            "counts": pack_array(self._counts[:n, :m]),
            "links": pack_array(self._links[:n]),
            "prior": pack_array(self._prior[:m]),
        }

    def load(self, state: State) -> None:
        """Replace the rows by stored ones.

        Raises
        ------
        CorruptState
            If keys, columns and counts disagree in shape.
        """
        counts, links, prior = (unpack_array(state[name]) for name in ("counts", "links", "prior"))
        n, m = len(state["keys"]), len(state["columns"])
        if counts.shape != (n, m) or links.shape != (n,) or prior.shape != (m,):
            raise CorruptState(f"navigation rows: want {n} rows of {m} columns, got {counts.shape}")
        self._slots = {(int(a), int(b), int(c)): i for i, (a, b, c) in enumerate(state["keys"])}
        self._columns = {int(cluster): i for i, cluster in enumerate(state["columns"])}
        self._counts = np.pad(counts.astype(np.float32), ((0, 16), (0, 4)))
        self._links = np.pad(links.astype(np.float64), (0, 16))
        self._prior = np.pad(prior.astype(np.float64), (0, 4))
