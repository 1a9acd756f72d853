"""The tables of a crawl, and how they become Parquet files: by way of a DuckDB file beside them, so that what
waits in memory is bounded. docs/guides/tables.md says what the columns mean."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np

_DDL = {
    "fetches": (
        "shard UTINYINT, seq UBIGINT, site VARCHAR, url VARCHAR, requested VARCHAR, "
        "page UBIGINT, source_page UBIGINT, status_code INTEGER, fetch_error VARCHAR, "
        "fetched_at DOUBLE, is_repeat BOOLEAN"
    ),
    "pages": (
        "shard UTINYINT, seq UBIGINT, site VARCHAR, url VARCHAR, page UBIGINT, "
        "canonical VARCHAR, title VARCHAR, charset VARCHAR, nofollow BOOLEAN, "
        "text_blocks UINTEGER, text_chars UINTEGER, anchor_chars UINTEGER, links UINTEGER"
    ),
    "links": (
        "shard UTINYINT, seq UBIGINT, position UINTEGER, page UBIGINT, url VARCHAR, "
        "target UBIGINT, anchor VARCHAR, link_path VARCHAR, rel VARCHAR"
    ),
    "rewards": (
        "shard UTINYINT, seq UBIGINT, site VARCHAR, url VARCHAR, page UBIGINT, "
        "source_page UBIGINT, reward DOUBLE, reported_at DOUBLE, is_repeat BOOLEAN"
    ),
    "arms": (
        "shard UTINYINT, site VARCHAR, url_pattern VARCHAR, tag_path VARCHAR, bucket VARCHAR, "
        "value DOUBLE, waiting UBIGINT, fetched UBIGINT, reported UBIGINT, early_reward DOUBLE, "
        "late_reward DOUBLE"
    ),
    "templates": (
        "shard UTINYINT, site VARCHAR, template VARCHAR, sample_pages UINTEGER, "
        "crawled_pages UBIGINT, judged UBIGINT, reward DOUBLE, dissimilarity DOUBLE, "
        "min_depth UINTEGER, example_url VARCHAR"
    ),
    "decisions": (
        "shard UTINYINT, site VARCHAR, policy VARCHAR, fetches UBIGINT, decision VARCHAR, "
        "reason VARCHAR, found_share DOUBLE, found_share_low DOUBLE, found_share_high DOUBLE"
    ),
    "judged": "shard UTINYINT, site VARCHAR, page UBIGINT, number UBIGINT, reward DOUBLE",
}
TABLES: dict[str, dict[str, str]] = {
    name: dict(column.split(" ") for column in columns.split(", ")) for name, columns in _DDL.items()
}
"""Columns by table. Times are seconds since the epoch; a page is named by the hash of its identity."""
OF_THE_STATE = frozenset({"arms", "templates", "decisions", "judged"})
"""Tables made of what the crawl knows; the others are in its log, event by event."""

_ROWS = 20_000
"""Rows of a table that wait in memory: some 20 MB of links. Chosen, not measured."""

_MEMORY_MB = 256
"""Memory of DuckDB, MiB; what does not fit goes to the disk. Chosen, not measured."""


class Tables:
    """Takes rows in."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, names: Iterable[str], between: Path) -> None:
        self._connection, self._between = connection, between
        self._waiting: dict[str, list[Sequence[Any]]] = {name: [] for name in names}
        self.counts = dict.fromkeys(self._waiting, 0)
        for name in self._waiting:
            connection.execute(f"CREATE TABLE {name} ({_DDL[name]})")

    def add(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Add rows, values in the order of the columns."""
        waiting = self._waiting[name]
        for row in rows:
            waiting.append(row)
            if len(waiting) >= _ROWS:
                self._flush(name)

    def write(self, folder: Path) -> None:
        """Write a file for each table; those that are there are replaced when all new ones are whole."""
        parts = {name: self._between / f"{name}.parquet" for name in self._waiting}
        for name, part in parts.items():
            self._flush(name)
            self._connection.table(name).write_parquet(str(part), compression="zstd")
        for part in parts.values():
            os.replace(part, folder / part.name)

    def _flush(self, name: str) -> None:
        rows = self._waiting[name]
        if not rows:
            return
        kinds = TABLES[name].values()
        columns = zip(TABLES[name], kinds, zip(*rows, strict=True), strict=True)
        batch = {column: _array(values, kind) for column, kind, values in columns}
        self._connection.register("batch", batch)
        self._connection.table("batch").insert_into(name)
        self._connection.unregister("batch")
        self.counts[name] += len(rows)
        rows.clear()


def _array(values: Sequence[Any], kind: str) -> Any:
    """Return a column: numbers that may be missing and texts as objects, which DuckDB reads one by one."""
    if kind in ("UBIGINT", "UINTEGER", "UTINYINT", "INTEGER", "BOOLEAN") and None not in values:
        return np.array(values, {"BOOLEAN": np.bool_, "INTEGER": np.int64}.get(kind, np.uint64))
    return np.array(values, dtype=object)


@contextmanager
def tables_in(folder: Path, names: Iterable[str]) -> Iterator[Tables]:
    """Give tables that are written into a folder on leaving, which is made; nothing is if an error comes."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".linkscore-tables-", dir=folder) as between:
        config: dict[str, Any] = {
            "memory_limit": f"{_MEMORY_MB}MiB",
            "temp_directory": between,
            "threads": 1,
            "autoinstall_known_extensions": False,
        }
        with duckdb.connect(f"{between}/tables.duckdb", config=config) as connection:
            made = Tables(connection, names, Path(between))
            yield made
            made.write(folder)
