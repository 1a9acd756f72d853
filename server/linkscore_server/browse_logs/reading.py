"""A log file as batches for ImportBrowseRecords: told by its first lines, read by DuckDB, cleaned on the way.

Each format gives the SQL of a file's records, all with the same columns; `rule_sql` names which are no visits
of a page by a person. Only what is kept is sent, with counts of what is not. The id of a batch is made of
what the file holds, how it is read and where the batch begins: a second run over the same file makes the same
batches.
"""

from __future__ import annotations

import codecs
import csv
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import re2

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore_scoring.errors import InvalidInput
from linkscore_server.browse_logs.visits import column, text, workspace

FIELDS = ("time", "client", "url", "referrer", "user_agent", "method", "status", "content_type", "host")
"""What a record may say; the first three it must."""

NEEDED = FIELDS[:3]
POSITIONS = FIELDS[:8]
"""Fields of a file without a header, in this order, as many as there are."""

_NAMES = {
    "time": "time timestamp ts datetime date @timestamp time_local time_iso8601 event_timestamp",
    "client": "client client_id client_ip ip remote_addr user user_id clientip clienthost host_ip "
    "user_pseudo_id",
    "url": "url request_url uri request_uri page target path requestpath page_location",
    "referrer": "referrer referer http_referrer http_referer ref page_referrer",
    "user_agent": "user_agent useragent http_user_agent agent ua",
    "method": "method request_method verb requestmethod",
    "status": "status status_code response code downstreamstatus",
    "content_type": "content_type mime_type mime",
    "host": "host http_host vhost server_name requesthost",
}
"""Usual names of the column of each field, the likeliest first."""

# Access logs of Apache and nginx: common, combined, and combined with the virtual host in front.
_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_REST = rf"\S+ .+? \[([^\]]+)\] {_QUOTED} ([0-9]{{3}}) (?:[0-9]+|-)(?:$| {_QUOTED} {_QUOTED}(?: .*)?$)"
_GROUPS = ("client", "time", "request", "status", "referrer", "user_agent")
# A proxy in front may write all it came by, "client, proxy", with quotes and ports: the first is who asked.
_CLIENT = r'"?(?:(?:unknown|-), ?)*\[?([0-9]+(?:\.[0-9]+){3}|[^\s,"\[\]]+)\]?(?::[0-9]+)?(?:, ?[^\s,]+)*'
_COMBINED = rf"^{_CLIENT} {_REST}"
_ADDRESS = re.compile(r"[0-9]+(\.[0-9]+){3}|[0-9a-fA-F]*:[0-9a-fA-F:.]*")

_LOOK_LINES = 50
"""Lines that a format is told by: enough to pass over a few that are damaged."""

_DELIMITERS = {"csv": ",;", "tsv": "\t"}
"""Between cells; CSV has the semicolon where a comma is in numbers."""

BATCH_RECORDS = 50_000
"""Lines of a batch: a bound, about 10 MB of message and half of what the server takes by default."""

MAX_SAMPLES = 5  # shapes of bad lines that are shown to a user
_END_CHARS = 45  # of both ends of a long bad line: the shape fits one line of a terminal
_MAX_TEXT_BYTES = 2_083  # longest URL of the contract

BOT_AGENTS = (
    r"bot\b|bot[/;_-]|crawl|spider|slurp|archiver|scrapy|curl/|wget|python-|java/|libwww|httpclient|http_client|"
    r"okhttp|go-http|axios|node-fetch|headless|phantomjs|lighthouse|feedfetcher|feedburner|feedparser|feedly|"
    r"tiny tiny rss|rss|monitor|uptime|pingdom|validator|facebookexternalhit|preview|mediapartners"
)
"""Regular expression (RE2) found in the user agents of programs, whatever their case."""

ASSET_EXTENSIONS = (
    r"7z|atom|avi|avif|bin|bmp|bz2|css|dmg|eot|exe|flac|flv|gif|gz|ico|iso|jar|"
    r"jpeg|jpg|js|json|map|mjs|mkv|mov|mp3|mp4|mpeg|mpg|msi|ogg|ogv|otf|png|"
    r"rar|rss|svg|swf|tar|tgz|tif|tiff|ttf|txt|wasm|wav|webm|webmanifest|webp|"
    r"woff|woff2|xml|xsl|xz|zip"
)
"""Extensions of paths that are no pages."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file, plain, gzip or zstd, and how to read it."""

    path: Path
    format: str  # name in `FORMATS`
    columns: Mapping[str, str] = field(
        default_factory=dict
    )  # by field; others by usual names, or by position
    names: tuple[str, ...] = ()  # of all columns in order, as the header has them, or `POSITIONS`
    has_header: bool = False
    host: str = ""  # in front of paths without a host; empty leaves such records out


def log_file(
    path: Path,
    *,
    format: str = "",
    columns: Mapping[str, str] | None = None,
    host: str = "",
) -> LogFile:
    """Return how to read a file; what is not given is found out by its first lines.

    Raises InvalidInput if the file has no record to go by or is of no known format, OSError if it cannot be
    read.
    """
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1"
    lines = [] if is_parquet else _first_lines(path)
    kind = format or ("parquet" if is_parquet else _kind(lines, path))
    names, has_header = _header(path, kind, lines, (columns or {}).values())
    base = host if not host or "://" in host else f"http://{host}"
    return LogFile(path, kind, columns or {}, names, has_header, base.rstrip("/"))


def _first_lines(path: Path) -> list[str]:
    try:
        with workspace(threads=1) as con:
            rows = con.execute(f"SELECT line FROM {_lines(path)} LIMIT {_LOOK_LINES}").fetchall()
    except duckdb.Error as exc:
        raise InvalidInput(f"{path.name}: damaged, or no text: {exc}") from exc
    return [line for (line,) in rows if line]


def _kind(lines: list[str], path: Path) -> str:
    for line in lines:
        if line.startswith("{"):
            return "json"
        if re2.match(_COMBINED, line):
            front = line.partition(" [")[0].split()
            behind_a_host = (
                len(front) > 3 and _ADDRESS.fullmatch(front[1].rstrip(",")) and "," not in front[0]
            )
            return "vhost_combined" if behind_a_host else "combined"
        for kind in _DELIMITERS:
            cells = _cells(line, kind)
            if len(cells) > 2 and ("://" in line or _is_header(cells)):
                return kind
    rule = f"{path.name}: none of {', '.join(FORMATS)} in its first lines: say which it is, or make it one"
    raise InvalidInput(rule, field="format")


def _header(path: Path, kind: str, lines: list[str], given: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """Return the columns of a file and whether its first line names them; `given`: names of some."""
    if kind == "parquet":
        with duckdb.connect() as con:
            rows = con.execute(f"DESCRIBE SELECT * FROM read_parquet({text(str(path))})").fetchall()
        return tuple(row[0] for row in rows), False
    if kind == "json":
        return tuple({key: None for line in lines for key in _keys(line)}), False
    if kind in _DELIMITERS:
        cells = _cells((lines or [""])[0], kind)
        if _is_header(cells) or any(name in cells for name in given):
            told = (name if name and name not in cells[:n] else f"{name} {n}" for n, name in enumerate(cells))
            return tuple(told), True
        return POSITIONS[: len(cells)], False
    return (), False


def _cells(line: str, kind: str) -> list[str]:
    """Return the cells of a line of CSV or TSV."""
    read = csv.reader([line], delimiter=_delimiter(line, kind), skipinitialspace=True)
    try:
        return [cell.strip() for cell in next(read, [""])]
    except csv.Error:  # a carriage return within, or a cell of 128 KB
        return [""]


def _delimiter(line: str, kind: str) -> str:
    return next((char for char in _DELIMITERS[kind] if line.count(char) > 1), _DELIMITERS[kind][0])


def _keys(line: str) -> list[str]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return list(found) if isinstance(found, dict) else []


def _is_header(names: Iterable[str]) -> bool:
    """Say whether texts are names of columns: one is a usual name of the URL, and none is a URL."""
    lowered = [name.strip().lower() for name in names]
    return any(name in _NAMES["url"].split() for name in lowered) and not any("://" in n for n in lowered)


def found_columns(names: Iterable[str], given: Mapping[str, str], path: Path) -> dict[str, str]:
    """Return the column of each field: as given, else by its usual names, whatever their case."""
    known = {name.lower(): name for name in names}
    has = f"(it has: {', '.join(known.values())})"
    for name, given_column in given.items():
        if name not in FIELDS:
            raise InvalidInput(f"must be one of {', '.join(FIELDS)}, got {name!r}", field="column")
        if given_column.lower() not in known:
            raise InvalidInput(f"{path.name} has no column {given_column!r} {has}", field=name)
    found = {name: known[of.lower()] for name, of in given.items()}
    for name, usual in _NAMES.items():
        if name not in found and (alias := next((a for a in usual.split() if a in known), None)):
            found[name] = known[alias]
    if missing := [name for name in NEEDED if name not in found]:
        rule = f"{path.name} has no column for {', '.join(missing)}: say which {has}"
        raise InvalidInput(rule, field="column")
    return found


def record_sql(source: str, fields: Mapping[str, str], *, host: str = "", line: str = "NULL") -> str:
    """Return the SQL of records of a FROM item, by the expression of each field.

    They have the columns t (seconds since the epoch, double), client, url, referrer, user_agent, method,
    status (integer), content_type, bad (it is no record); NULL is not known. `line` is its text then.
    """
    have = {
        name: f"NULLIF(NULLIF(trim(CAST({fields[name]} AS VARCHAR)), ''), '-')"
        for name in fields
        if name != "time"
    }
    seconds = _seconds(f"CAST({fields['time']} AS VARCHAR)")
    columns = [
        f"{seconds} AS t",
        f"{have['client']} AS client",
        f"{_completed(have['url'], have.get('host', 'NULL'), host)} AS url",
        *(f"{have.get(name, 'NULL')}::VARCHAR AS {name}" for name in ("referrer", "user_agent", "method")),
        f"TRY_CAST({have.get('status', 'NULL')} AS INTEGER) AS status",
        f"{have.get('content_type', 'NULL')}::VARCHAR AS content_type",
        "t IS NULL OR client IS NULL AS bad",
        f"CASE WHEN bad THEN CAST({line} AS VARCHAR) END AS line",
    ]
    return f"SELECT {', '.join(columns)} FROM {source}"


def _seconds(value: str) -> str:
    """Return the expression that reads a time as seconds since the epoch; NULL if it is none.

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


def _completed(url: str, own_host: str, host: str) -> str:
    """Return the expression of a URL with the host that its record, or else the user, names."""
    scheme = text(host.partition("://")[0] if host else "http")
    base = f"coalesce({scheme} || '://' || {own_host}, {text(host) if host else 'NULL'})"
    return f"CASE WHEN {url} LIKE '/%' THEN {base} || {url} ELSE {url} END"


def _csv(path: Path, names: Sequence[str], *, delim: str, quote: str, skip: int = 0) -> str:
    """Return the FROM item of a delimited file, all columns texts; rows that do not fit are rejected."""
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in names)
    with path.open("rb") as file:
        magic = file.read(4)
    compression = "gzip" if magic[:2] == b"\x1f\x8b" else "zstd" if magic == b"\x28\xb5\x2f\xfd" else "none"
    encoding = "utf-16" if magic[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8"
    cells = ", ".join(map(column, names))
    # Not strict: lines may end in both ways, and then each CRLF brings an empty line.
    return (
        f"(SELECT * FROM read_csv({text(str(path))}, columns = {{{columns}}}, header = false, skip = {skip}, "
        f"delim = {text(delim)}, quote = {text(quote)}, escape = {text(quote)}, "
        "auto_detect = false, ignore_errors = true, strict_mode = false, "
        f"store_rejects = true, rejects_limit = 0, compression = '{compression}', "
        f"encoding = '{encoding}') "
        f"WHERE concat_ws('', {cells}) <> '')"
    )


def _lines(path: Path) -> str:
    """Return the FROM item of a text file as one column, `line`; lines that are no UTF-8 are rejected."""
    return _csv(path, ("line",), delim="\x1f", quote="")


def _delimited(file: LogFile) -> str:
    """Return the records of CSV, whose texts may be quoted, or TSV, where quotes are characters like
    others."""
    delim = _delimiter((_first_lines(file.path) or [""])[0], file.format)
    quote = '"' if file.format == "csv" else ""
    found = found_columns(file.names, file.columns, file.path)
    source = _csv(file.path, file.names, delim=delim, quote=quote, skip=int(file.has_header))
    line = f"concat_ws({delim!r}, {', '.join(column(name) for name in file.names)})"
    return record_sql(source, {name: column(of) for name, of in found.items()}, host=file.host, line=line)


def _json(file: LogFile) -> str:
    """Return the records of a file of JSON objects, one a line; a line that is none is bad."""
    found = found_columns(file.names, file.columns, file.path)
    source = (
        f"(SELECT line, CASE WHEN json_valid(line) THEN line::JSON END AS object FROM {_lines(file.path)})"
    )
    paths = {name: '$."' + of.replace('"', '\\"') + '"' for name, of in found.items()}
    fields = {name: f"json_extract_string(object, {text(path)})" for name, path in paths.items()}
    return record_sql(source, fields, host=file.host, line="line")


def _access(file: LogFile) -> str:
    """Return the records of an access log; a line that ends within a quoted field is bad."""
    has_host = file.format == "vhost_combined"
    pattern, groups = (rf"^(\S+) {_CLIENT} {_REST}", ("host", *_GROUPS)) if has_host else (_COMBINED, _GROUPS)
    read = f"regexp_extract(ltrim(line, chr(0)), {text(pattern)}, [{', '.join(map(text, groups))}]) AS found"
    fields = {name: f"found.{name}" for name in groups if name != "request"}
    fields |= {name: f"split_part(found.request, ' ', {n})" for n, name in ((1, "method"), (2, "url"))}
    if has_host:
        fields["host"] = "regexp_replace(found.host, ':(80|443)$', '')"
    return record_sql(f"(SELECT line, {read} FROM {_lines(file.path)})", fields, host=file.host, line="line")


def _parquet(file: LogFile) -> str:
    """Return the records of a Parquet file; a column of timestamps without a zone is UTC."""
    fields = {n: column(of) for n, of in found_columns(file.names, file.columns, file.path).items()}
    return record_sql(f"read_parquet({text(str(file.path))})", fields, host=file.host)


FORMATS: dict[str, Callable[[LogFile], str]] = {
    "csv": _delimited,
    "tsv": _delimited,
    "json": _json,
    "combined": _access,
    "vhost_combined": _access,
    "parquet": _parquet,
}
"""SQL of the records of a file, in its order, by the name under which a user may ask for the format."""


def rule_sql(hosts: Sequence[str] = ()) -> str:
    """Return the expression that names the rule by which a record is left out, empty if none is.

    It reads the columns of `record_sql` and knows neither sites nor repeats. `hosts` keeps those alone, with
    their port if it is not the usual one.
    """
    essence = "lower(trim(split_part(content_type, ';', 1)))"
    asset = text(rf"(?i)^[^?#]*[^/?#]/[^?#]*\.({ASSET_EXTENSIONS})([?#]|$)")  # between host and query
    host = "lower(regexp_extract(url, '(?i)^https?://(?:[^/?#@]*@)?([^/?#]*)', 1))"
    kept = ", ".join(text(host.lower()) for host in hosts)
    conditions = {
        "bad_line": "bad",
        "method": "upper(method) <> 'GET'",
        "status": "status >= 400",
        "bot": f"regexp_matches(user_agent, {text('(?i)' + BOT_AGENTS)})",
        "asset": f"{essence} NOT IN ('text/html', 'application/xhtml+xml') OR regexp_matches(url, {asset})",
        "bad_url": "url IS NULL OR NOT regexp_matches(url, '(?i)^https?://[^/?#]')",
        "host": f"{host} NOT IN ({kept})" if hosts else "false",
    }
    cases = " ".join(f"WHEN {condition} THEN {text(name)}" for name, condition in conditions.items())
    return f"CASE {cases} ELSE '' END"


@dataclass(slots=True)
class ReadLog:
    """What was read of a file: records (bad lines included), what was left out by rule, shapes of bad
    lines."""

    records: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    samples: list[str] = field(default_factory=list)

    def add_sample(self, line: str | None) -> None:
        """Keep the shape of a bad line if few are kept yet."""
        if len(self.samples) < MAX_SAMPLES:
            self.samples.append(shape_of(line or ""))


def batches_of(
    file: LogFile, hosts: Sequence[str], read: ReadLog
) -> Generator[pb.ImportBrowseRecordsRequest, None, None]:
    """Yield the batches of a file in its order, of some hosts or all; `read` is kept up to date.

    Raises duckdb.Error if the file cannot be read.
    """
    prefix, begin = fingerprint(file, hosts), 0
    rule = rule_sql(hosts)
    kept = [f"CASE WHEN rule = '' THEN {name} END" for name in ("client", "url", "referrer")]
    query = (
        f"SELECT CAST(t * 1000 AS BIGINT), {', '.join(kept)}, rule, line "
        f"FROM (SELECT *, {rule} AS rule FROM ({FORMATS[file.format](file)}))"
    )
    with workspace(memory_mb=512, threads=2) as con:
        result = con.execute(query)
        rows, following = result.fetchmany(BATCH_RECORDS), list[Any]()
        while begin == 0 or rows:
            following = result.fetchmany(BATCH_RECORDS)
            message = pb.ImportBrowseRecordsRequest(batch_id=f"{prefix}-{begin}")
            left_out = _fill(message, rows, read)
            read.records += len(rows)
            if not following:
                left_out["bad_line"] += _add_rejected(con, read)
            read.left_out.update(+left_out)
            message.left_out.update(+left_out)
            yield message
            begin, rows = begin + max(len(rows), 1), following


def fingerprint(file: LogFile, hosts: Sequence[str]) -> str:
    """Return the prefix of batch ids of one way to read a file; reads the file once."""
    with file.path.open("rb") as opened:
        content = hashlib.file_digest(opened, "sha256").hexdigest()
    how = (file.format, sorted(file.columns.items()), file.names, file.has_header, file.host)
    reading = repr((content, how, list(hosts), BATCH_RECORDS))
    return hashlib.sha256(reading.encode()).hexdigest()[:24]


def _fill(message: pb.ImportBrowseRecordsRequest, rows: list[tuple[Any, ...]], read: ReadLog) -> Counter[str]:
    """Put the rows that are kept into a message; returns how many others there are by rule."""
    left_out: Counter[str] = Counter()
    for ms, client, url, referrer, rule, line in rows:
        if rule or len(url) > _MAX_TEXT_BYTES:
            left_out[rule or "bad_url"] += 1
            if rule == "bad_line":
                read.add_sample(line)
            continue
        made = message.records.add(client_id=client, url=url, referrer=referrer or "")
        made.time.FromMilliseconds(ms)
    return left_out


def _add_rejected(con: duckdb.DuckDBPyConnection, read: ReadLog) -> int:
    """Note the lines that DuckDB's reader could not split or decode; returns how many there are."""
    if not con.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = 'reject_errors'").fetchall():
        return 0
    lines = con.execute(
        "SELECT min(csv_line) FROM reject_errors GROUP BY scan_id, line ORDER BY scan_id, line"
    ).fetchall()
    read.records += len(lines)
    for (line,) in lines[:MAX_SAMPLES]:
        read.add_sample(str(line).strip("\r\n"))
    return len(lines)


def shape_of(line: str) -> str:
    """Return a line with every letter as `a` or `A` and every digit as `9`; of a long one both ends.

    It shows what is wrong with the form of a line and nothing of a client, an address or a page.
    """
    cut = line if len(line) <= 2 * _END_CHARS else f"{line[:_END_CHARS]} ... {line[-_END_CHARS:]}"
    return re.sub(r"[^\W\d_]", lambda m: "A" if m[0].isupper() else "a", re.sub(r"\d", "9", cut))
