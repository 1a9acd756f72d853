"""JSON, one object a line."""

from __future__ import annotations

from linkscore_server.browse_logs.formats.base import LogFile, found_columns, line_source, record_sql
from linkscore_server.storage.visits.connection import text


def json_records(file: LogFile) -> str:
    """Return the records of a file of JSON objects, one a line; a line that is none is bad."""
    found = found_columns(file.names, file.columns, file.path)
    read = "CASE WHEN json_valid(line) THEN line::JSON END AS object"
    source = f"(SELECT line, {read} FROM {line_source(file.path)})"
    fields = {name: f"json_extract_string(object, {text(_path(of))})" for name, of in found.items()}
    return record_sql(source, fields, host=file.host, line="line")


def _path(key: str) -> str:
    return '$."' + key.replace('"', '\\"') + '"'
