"""The formats of log files: each gives the SQL of a file's records, all with the same columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import re2

from linkscore_scoring.errors import InvalidInput
from linkscore_server.browse_logs.visits import column, text

FIELDS = ("time", "client", "url", "referrer", "user_agent", "method", "status", "content_type", "host")
"""What a record may say; the first three it must."""

POSITIONS = FIELDS[:8]
"""Fields of a file without a header, in this order, as many as there are."""

NEEDED = ("time", "client", "url")
_NAMES = {
    "time": ("time", "timestamp", "ts", "datetime", "date", "@timestamp", "time_local", "time_iso8601"),
    "client": (
        "client",
        "client_id",
        "client_ip",
        "ip",
        "remote_addr",
        "user",
        "user_id",
        "clientip",
        "host_ip",
    ),
    "url": ("url", "request_url", "uri", "request_uri", "page", "target", "path"),
    "referrer": ("referrer", "referer", "http_referrer", "http_referer", "ref"),
    "user_agent": ("user_agent", "useragent", "http_user_agent", "agent", "ua"),
    "method": ("method", "request_method", "verb"),
    "status": ("status", "status_code", "response", "code"),
    "content_type": ("content_type", "mime_type", "mime"),
    "host": ("host", "http_host", "vhost", "server_name"),
}

# Access logs of Apache and nginx: common, combined, and combined with the virtual host in front.
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_REST = rf"\S+ .+? \[([^\]]+)\] {_QUOTED} ([0-9]{{3}}) (?:[0-9]+|-)(?:$| {_QUOTED} {_QUOTED}(?: .*)?$)"
_GROUPS = ("client", "time", "request", "status", "referrer", "user_agent")
COMBINED = rf"^(\S+) {_REST}"
VHOST_COMBINED = rf"^(\S+) (\S+) {_REST}"
_ADDRESS = re.compile(r"[0-9]+(\.[0-9]+){3}|[0-9a-fA-F]*:[0-9a-fA-F:.]*")


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file and how to read it.

    Attributes
    ----------
    path
        The file; ``.gz`` and ``.zst`` are decompressed on the way.
    format
        Name in `FORMATS`.
    columns
        Column of the file by field; what it leaves out is found by usual names, or by position where a file
        has no header.
    names
        Columns of the file in order, as the header has them or the user said.
    has_header
        Whether the first line names the columns.
    host
        ``https://example.org`` in front of paths without a host; empty leaves such records out.
    """

    path: Path
    format: str
    columns: Mapping[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    has_header: bool = False
    host: str = ""


Reader = Callable[[LogFile], str]
"""Returns SQL that yields the columns of `record_sql`, in the order of the file."""


def found_columns(names: Iterable[str], given: Mapping[str, str], path: Path) -> dict[str, str]:
    """Return the column of each field: as given, else by its usual names, whatever their case.

    Raises
    ------
    InvalidInput
        If a given field or column does not exist, or a field that records must have is not found.
    """
    known = {name.lower(): name for name in names}
    for name, given_column in given.items():
        if name not in FIELDS:
            raise InvalidInput(f"must be one of {', '.join(FIELDS)}, got {name!r}", field="column")
        if given_column.lower() not in known:
            raise InvalidInput(
                f"{path.name} has no column {given_column!r} (it has: {', '.join(known.values())})",
                field=name,
            )
    usual = {
        name: known[alias]
        for name, aliases in _NAMES.items()
        for alias in reversed(aliases)
        if alias in known
    }
    found = usual | {name: known[column.lower()] for name, column in given.items()}
    missing = [name for name in NEEDED if name not in found]
    if missing:
        has = ", ".join(known.values())
        rule = f"{path.name} has no column for {', '.join(missing)}: say which (it has: {has})"
        raise InvalidInput(rule, field="column")
    return found


def is_header(names: Iterable[str]) -> bool:
    """Say whether texts are names of columns: one is a usual name of the URL, and none is a URL."""
    lowered = [name.strip().lower() for name in names]
    return any(name in _NAMES["url"] for name in lowered) and not any("://" in name for name in lowered)


def record_sql(
    source: str, fields: Mapping[str, str], *, host: str = "", bad: str = "false", line: str = ""
) -> str:
    """Return the SQL of records.

    They have the columns t (seconds since the epoch, double), client, url, referrer, user_agent, method,
    status (integer), content_type; NULL is not known. `bad` says that the line is no record, `line` is its
    text then.

    Parameters
    ----------
    source
        A FROM item.
    fields
        Expression of each field, texts; time may be a timestamp or a number.
    host
        As in `LogFile`.
    bad
        Expression: the line cannot be read.
    line
        Expression of the line's text, for samples.
    """
    have = {
        name: f"NULLIF(NULLIF(CAST({fields[name]} AS VARCHAR), ''), '-')" for name in fields if name != "time"
    }
    seconds = seconds_sql(f"CAST({fields['time']} AS VARCHAR)")
    own = have.get("host", "NULL")
    wrong = f"(({bad}) OR t IS NULL OR client IS NULL)"
    columns = [
        f"{seconds} AS t",
        f"{have['client']} AS client",
        f"{completed(have['url'], own, host)} AS url",
        *(f"{have.get(name, 'NULL')}::VARCHAR AS {name}" for name in ("referrer", "user_agent", "method")),
        f"TRY_CAST({have.get('status', 'NULL')} AS INTEGER) AS status",
        f"{have.get('content_type', 'NULL')}::VARCHAR AS content_type",
    ]
    sample = f", CASE WHEN bad THEN CAST({line or 'NULL'} AS VARCHAR) END AS line"
    return f"SELECT {', '.join(columns)}, coalesce({wrong}, true) AS bad{sample} FROM {source}"


def seconds_sql(value: str) -> str:
    """Return the expression that reads a time, as text, as seconds since the epoch; NULL if it is none.

    ISO 8601 (without an offset it is UTC), epoch seconds, milliseconds or microseconds, and the time of
    access logs are read.
    """
    number = f"TRY_CAST({value} AS DOUBLE)"
    return (
        f"CASE WHEN {number} IS NULL THEN coalesce(epoch(TRY_CAST({value} AS TIMESTAMPTZ)), "
        f"epoch(try_strptime({value}, '%d/%b/%Y:%H:%M:%S %z'))) "
        f"WHEN abs({number}) > 1e14 THEN {number} / 1e6 WHEN abs({number}) > 1e11 THEN {number} / 1e3 "
        f"ELSE {number} END"
    )


def completed(url: str, own_host: str, host: str) -> str:
    """Return the expression of a URL with the host that its record, or else the user, names."""
    given = text(host) if host else "NULL"
    scheme = text(host.partition("://")[0] if host else "http")
    base = f"coalesce({scheme} || '://' || {own_host}, {given})"
    return f"CASE WHEN {url} LIKE '/%' THEN {base} || {url} ELSE {url} END"


def line_source(path: Path) -> str:
    """Return the FROM item of a text file as one column, `line`; lines that are no UTF-8 are rejected."""
    return csv_source(path, ("line",), delim="\x1f", quote="", skip=0)


def csv_source(path: Path, names: Iterable[str], *, delim: str, quote: str, skip: int) -> str:
    """Return the FROM item of a delimited file, all columns texts; rows that do not fit are rejected."""
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({text(str(path))}, columns = {{{columns}}}, header = false, skip = {skip}, "
        f"delim = {text(delim)}, quote = {text(quote)}, escape = {text(quote)}, "
        "auto_detect = false, ignore_errors = true, "
        f"store_rejects = true, rejects_limit = 0, compression = {text(compression(path))})"
    )


def compression(path: Path) -> str:
    """Return how a file is compressed, by its first bytes: gzip, zstd or none."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic[:2] == b"\x1f\x8b":
        return "gzip"
    return "zstd" if magic == b"\x28\xb5\x2f\xfd" else "none"


def csv_records(file: LogFile) -> str:
    """Return the records of a file of comma-separated values; texts may be quoted."""
    return _delimited(file, ",", '"')


def tsv_records(file: LogFile) -> str:
    """Return the records of a file of tab-separated values; quotes are characters like others."""
    return _delimited(file, "\t", "")


def _delimited(file: LogFile, delim: str, quote: str) -> str:
    found = found_columns(file.names, file.columns, file.path)
    source = csv_source(file.path, file.names, delim=delim, quote=quote, skip=int(file.has_header))
    line = f"concat_ws({delim!r}, {', '.join(column(name) for name in file.names)})"
    return record_sql(source, {name: column(of) for name, of in found.items()}, host=file.host, line=line)


def json_records(file: LogFile) -> str:
    """Return the records of a file of JSON objects, one a line; a line that is none is bad."""
    found = found_columns(file.names, file.columns, file.path)
    read = "CASE WHEN json_valid(line) THEN line::JSON END AS object"
    source = f"(SELECT line, {read} FROM {line_source(file.path)})"
    fields = {name: f"json_extract_string(object, {text(_json_path(of))})" for name, of in found.items()}
    return record_sql(source, fields, host=file.host, line="line")


def _json_path(key: str) -> str:
    return '$."' + key.replace('"', '\\"') + '"'


def access_records(file: LogFile) -> str:
    """Return the records of an access log in common or combined format; extra fields at the end are fine.

    A line that ends within a quoted field is bad. Paths get the host of `LogFile.host`.
    """
    return _access_records(file, COMBINED, _GROUPS)


def vhost_records(file: LogFile) -> str:
    """Return the records of an access log whose lines begin with the virtual host, with or without port."""
    return _access_records(file, VHOST_COMBINED, ("host", *_GROUPS))


def access_format_of(line: str) -> str:
    """Return which of the two formats a line has, empty for none: behind a host stands an address."""
    if not re2.match(COMBINED, line):
        return ""
    front = line.partition(" [")[0].split()
    return "vhost_combined" if len(front) > 3 and _ADDRESS.fullmatch(front[1]) else "combined"


def _access_records(file: LogFile, pattern: str, groups: tuple[str, ...]) -> str:
    names = ", ".join(text(name) for name in groups)
    read = f"regexp_extract(line, {text(pattern)}, [{names}]) AS found"
    source = f"(SELECT line, {read} FROM {line_source(file.path)})"
    fields = {name: f"found.{name}" for name in groups if name != "request"}
    fields["method"] = "split_part(found.request, ' ', 1)"
    fields["url"] = "split_part(found.request, ' ', 2)"
    if "host" in groups:
        fields["host"] = "regexp_replace(found.host, ':(80|443)$', '')"
    return record_sql(source, fields, host=file.host, line="line")


def parquet_records(file: LogFile) -> str:
    """Return the records of a Parquet file; a column of timestamps without a zone is UTC."""
    found = found_columns(file.names, file.columns, file.path)
    fields = {name: column(of) for name, of in found.items()}
    return record_sql(f"read_parquet({text(str(file.path))})", fields, host=file.host)


FORMATS: dict[str, Reader] = {
    "csv": csv_records,
    "tsv": tsv_records,
    "json": json_records,
    "combined": access_records,
    "vhost_combined": vhost_records,
    "parquet": parquet_records,
}
"""Every format by the name under which a user may ask for it."""
