"""CSV and TSV, with a header or by position."""

from __future__ import annotations

from linkscore_server.browse_logs.formats.base import (
    FIELDS,
    LogFile,
    column,
    csv_source,
    found_columns,
    record_sql,
)

POSITIONS = FIELDS[:8]
"""Fields of a file without a header, in this order, as many as there are."""


def csv_records(file: LogFile) -> str:
    """Return the records of a file of comma-separated values; texts may be quoted."""
    return _records(file, ",", '"')


def tsv_records(file: LogFile) -> str:
    """Return the records of a file of tab-separated values; quotes are characters like others."""
    return _records(file, "\t", "")


def _records(file: LogFile, delim: str, quote: str) -> str:
    found = found_columns(file.names, file.columns, file.path)
    source = csv_source(file.path, file.names, delim=delim, quote=quote, skip=int(file.has_header))
    line = f"concat_ws({delim!r}, {', '.join(column(name) for name in file.names)})"
    return record_sql(source, {name: column(of) for name, of in found.items()}, host=file.host, line=line)
