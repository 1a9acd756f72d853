"""Access logs of Apache and nginx: common, combined, and combined with the virtual host in front."""

from __future__ import annotations

import re

from linkscore_server.browse_logs.formats.base import LogFile, line_source, record_sql
from linkscore_server.storage.visits.connection import text

_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_REST = rf"\S+ .+? \[([^\]]+)\] {_QUOTED} ([0-9]{{3}}) (?:[0-9]+|-)(?:$| {_QUOTED} {_QUOTED}(?: .*)?$)"
_GROUPS = ("client", "time", "request", "status", "referrer", "user_agent")
COMBINED = rf"^(\S+) {_REST}"
VHOST_COMBINED = rf"^(\S+) (\S+) {_REST}"
_ADDRESS = re.compile(r"[0-9]+(\.[0-9]+){3}|[0-9a-fA-F]*:[0-9a-fA-F:.]*")


def access_records(file: LogFile) -> str:
    """Return the records of an access log in common or combined format; extra fields at the end are fine.

    A line that ends within a quoted field is bad. Paths get the host of `LogFile.host`.
    """
    return _records(file, COMBINED, _GROUPS)


def vhost_records(file: LogFile) -> str:
    """Return the records of an access log whose lines begin with the virtual host, with or without port."""
    return _records(file, VHOST_COMBINED, ("host", *_GROUPS))


def kind_of(line: str) -> str:
    """Return which of the two formats a line has, empty for none: behind a host stands an address."""
    if not re.match(COMBINED, line):
        return ""
    front = line.partition(" [")[0].split()
    return "vhost_combined" if len(front) > 3 and _ADDRESS.fullmatch(front[1]) else "combined"


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
