"""Visits in memory: for tests, and for crawls that need not survive."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from linkscore_server.browse_logs.visits.base import SALT_BYTES, SiteSpan, VisitQuery, VisitReader, VisitStore
from linkscore_server.browse_logs.visits.connection import in_memory
from linkscore_server.browse_logs.visits.tables import COLUMNS, counts_of, load_stored

if TYPE_CHECKING:
    import duckdb

    from linkscore_scoring.browse_logs.counts import BrowseCounts

Columns = dict[str, np.ndarray[Any, Any]]


@dataclass(slots=True)
class MemoryReader(VisitReader):
    """Visits by batch, as columns, with the time at which they arrived."""

    batches: list[tuple[float, Columns]] = field(default_factory=list)

    def counts(self, query: VisitQuery, *, memory_mb: int) -> BrowseCounts:
        """See `VisitReader.counts`."""
        with in_memory(memory_mb=memory_mb) as con:
            self.load(con)
            load_stored(con, "stored")
            return counts_of(
                con, query.site, query.first_day, query.n_days, max_pages_a_day=query.max_pages_a_day
            )

    def load(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make the table stored of all batches."""
        con.execute(
            "CREATE TABLE stored (site VARCHAR, url VARCHAR, referrer VARCHAR, day INTEGER, "
            "second INTEGER, client UBIGINT)"
        )
        for _, batch in self.batches:
            con.register("batch", batch)
            con.execute(f"INSERT INTO stored SELECT {COLUMNS} FROM batch")
            con.unregister("batch")


class MemoryVisits(VisitStore):
    """The visits of one crawl in this process; the salt is random if none is given."""

    def __init__(self, *, salt: bytes = b"") -> None:
        self._salt = salt or secrets.token_bytes(SALT_BYTES)
        self._staged: dict[str, Columns] = {}
        self._reader = MemoryReader()

    def counts(self, query: VisitQuery, *, memory_mb: int) -> BrowseCounts:
        """See `VisitReader.counts`."""
        return self._reader.counts(query, memory_mb=memory_mb)

    def reader(self) -> MemoryReader:
        """See `VisitStore.reader`."""
        return self._reader

    def salt(self) -> bytes:
        """See `VisitStore.salt`."""
        return self._salt

    def stage(self, batch_id: str, con: duckdb.DuckDBPyConnection) -> dict[int, int]:
        """See `VisitStore.stage`."""
        found = con.execute(f"SELECT {COLUMNS} FROM visits").fetchnumpy()
        self._staged[batch_id] = {name: np.asarray(values) for name, values in found.items()}
        days, counts = np.unique(self._staged[batch_id]["day"], return_counts=True)
        return dict(zip(days.tolist(), counts.tolist(), strict=True))

    def publish(self, batch_id: str) -> None:
        """See `VisitStore.publish`."""
        batch = self._staged.pop(batch_id, None)
        if batch is not None and len(batch["day"]):
            self._reader.batches.append((time.time(), batch))

    def recover(self, imported: Collection[str]) -> None:
        """See `VisitStore.recover`."""
        for batch_id in list(self._staged):
            if batch_id in imported:
                self.publish(batch_id)
        self._staged.clear()

    def days(self) -> Mapping[int, int]:
        """See `VisitStore.days`; 8 bytes a value."""
        days: dict[int, int] = {}
        for _, batch in self._reader.batches:
            for day, n in zip(*np.unique(batch["day"], return_counts=True), strict=True):
                days[int(day)] = days.get(int(day), 0) + 8 * len(batch) * int(n)
        return dict(sorted(days.items()))

    def spans(self) -> dict[str, SiteSpan]:
        """See `VisitStore.spans`; visits that came with several batches count once for each."""
        with in_memory() as con:
            self._reader.load(con)
            rows = con.execute(
                "SELECT site, min(day), max(day), count(*) FROM stored GROUP BY site"
            ).fetchall()
        return {site: SiteSpan(first, last, n) for site, first, last, n in rows}

    def verify(self) -> list[str]:
        """See `VisitStore.verify`; memory is not doubted."""
        return []

    def expire(self, arrived_before_s: float) -> list[int]:
        """See `VisitStore.expire`."""
        arrived: dict[int, float] = {}
        for time_s, batch in self._reader.batches:
            for day in np.unique(batch["day"]).tolist():
                arrived[day] = max(time_s, arrived.get(day, 0.0))
        expired = sorted(day for day, time_s in arrived.items() if time_s < arrived_before_s)
        kept = [(time_s, _without(batch, expired)) for time_s, batch in self._reader.batches]
        self._reader.batches = [(time_s, batch) for time_s, batch in kept if len(batch["day"])]
        return expired


def _without(batch: Columns, days: list[int]) -> Columns:
    kept = ~np.isin(batch["day"], days)
    return {name: values[kept] for name, values in batch.items()}
