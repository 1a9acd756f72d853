"""Parquet."""

from __future__ import annotations

from linkscore_server.browse_logs.formats.base import LogFile, column, found_columns, record_sql
from linkscore_server.storage.visits.connection import text


def parquet_records(file: LogFile) -> str:
    """Return the records of a Parquet file; a column of timestamps without a zone is UTC."""
    found = found_columns(file.names, file.columns, file.path)
    fields = {name: column(of) for name, of in found.items()}
    return record_sql(f"read_parquet({text(str(file.path))})", fields, host=file.host)
