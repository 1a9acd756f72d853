"""Access logs of Apache and nginx: common, combined, and combined with the virtual host in front."""

from __future__ import annotations

from linkscore_server.browse.connection import text
from linkscore_server.browse.formats.base import LogFile, line_source, record_sql

_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_REST = rf"\S+ .*?\[([^\]]+)\] {_QUOTED} ([0-9]{{3}}) (?:[0-9]+|-)(?:$| {_QUOTED} {_QUOTED}(?: .*)?$)"
_GROUPS = ("client", "time", "request", "status", "referrer", "user_agent")
COMBINED = rf"^(\S+) {_REST}"
VHOST_COMBINED = rf"^(\S+) (\S+) {_REST}"


def access_records(file: LogFile) -> str:
    """Return the records of an access log in common or combined format; extra fields at the end are fine.

    A line that ends within a quoted field is bad. Paths get the host of `LogFile.host`.
    """
    return _records(file, COMBINED, _GROUPS)


def vhost_records(file: LogFile) -> str:
    """Return the records of an access log whose lines begin with the virtual host, with or without port."""
    return _records(file, VHOST_COMBINED, ("host", *_GROUPS))


def _records(file: LogFile, pattern: str, groups: tuple[str, ...]) -> str:
    names = ", ".join(text(name) for name in groups)
    read = f"regexp_extract(line, {text(pattern)}, [{names}]) AS found"
    source = f"(SELECT line, {read} FROM {line_source(file.path)})"
    fields = {name: f"found.{name}" for name in groups if name != "request"}
    fields["method"] = "split_part(found.request, ' ', 1)"
    fields["url"] = "split_part(found.request, ' ', 2)"
    if "host" in groups:
        fields["host"] = "regexp_replace(found.host, ':(80|443)$', '')"
    return record_sql(source, fields, host=file.host, line="line")
