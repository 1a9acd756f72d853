"""A log file as batches for ImportBrowseRecords: read in one pass, cleaned on the way, flat in memory.

Only what is kept is sent, with counts of what is not. The id of a batch is made of what the file holds, how
it is read and where the batch begins: a second run over the same file makes the same batches.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore_server.browse_logs.cleaning import BOT_AGENTS, rule_sql
from linkscore_server.browse_logs.formats import FORMATS, LogFile
from linkscore_server.browse_logs.visits import in_memory

BATCH_RECORDS = 50_000
"""Lines of a batch: a bound, about 10 MB of message and half of what the server takes by default."""

MAX_SAMPLES = 5  # shapes of bad lines that are shown to a user
_END_CHARS = 45  # of both ends of a long bad line: the shape fits one line of a terminal
_MAX_TEXT_BYTES = 2_083  # longest URL of the contract
_Row = tuple[Any, ...]


@dataclass(slots=True)
class BadLines:
    """Bad lines of a file.

    Attributes
    ----------
    count
        How many there are.
    samples
        Shapes of the first ones.
    """

    count: int = 0
    samples: list[str] = field(default_factory=list)

    def add(self, line: str | None) -> None:
        """Count a line, and keep its shape if few are kept yet."""
        self.count += 1
        if len(self.samples) < MAX_SAMPLES:
            self.samples.append(shape_of(line or ""))


@dataclass(slots=True)
class ReadLog:
    """What was read of a file: records (bad lines included), what was left out by rule, and bad lines."""

    records: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    bad: BadLines = field(default_factory=BadLines)


@dataclass(frozen=True, slots=True)
class Cleaning:
    """What the user says about cleaning: hosts to keep (none: all), user agents to leave out (RE2)."""

    hosts: Sequence[str] = ()
    bots: str = BOT_AGENTS


def batches_of(
    file: LogFile,
    cleaning: Cleaning,
    read: ReadLog,
    *,
    is_known: Callable[[str], bool] = lambda batch_id: False,
    batch_records: int = BATCH_RECORDS,
    memory_mb: int = 512,
) -> Iterator[pb.ImportBrowseRecordsRequest]:
    """Yield the batches of a file that are not known yet, in the order of the file.

    Parameters
    ----------
    file, cleaning
        The file, and what to leave out.
    read
        Counts, kept up to date.
    is_known
        Batch id -> whether the crawl has it.
    batch_records
        Lines of the file a batch.
    memory_mb
        Memory of DuckDB, MiB.

    Raises
    ------
    duckdb.Error
        If the file cannot be read.
    """
    prefix = fingerprint(file, cleaning, batch_records)
    with in_memory(memory_mb=memory_mb, threads=2) as con:
        for begin, rows, is_last in _chunks(con, _query(file, cleaning), batch_records):
            batch_id = f"{prefix}-{begin}"
            message = pb.ImportBrowseRecordsRequest(batch_id=batch_id)
            left_out = _fill(message.columns, rows, read.bad)
            read.records += len(rows)
            if is_last:
                _add_rejected(con, read, left_out)
            read.left_out.update(left_out)
            message.left_out.update(left_out)
            if not is_known(batch_id):
                yield message


def fingerprint(file: LogFile, cleaning: Cleaning, batch_records: int) -> str:
    """Return the prefix of batch ids of one way to read a file; reads the file once."""
    with file.path.open("rb") as opened:
        content = hashlib.file_digest(opened, "sha256").hexdigest()
    how = (file.format, sorted(file.columns.items()), file.names, file.has_header, file.host)
    reading = repr((content, how, list(cleaning.hosts), cleaning.bots, batch_records))
    return hashlib.sha256(reading.encode()).hexdigest()[:24]


def _query(file: LogFile, cleaning: Cleaning) -> str:
    rule = rule_sql(cleaning.hosts, bots=cleaning.bots)
    kept = [f"CASE WHEN rule = '' THEN {name} END" for name in ("client", "url", "referrer")]
    return (
        f"SELECT CAST(t * 1000 AS BIGINT), {', '.join(kept)}, rule, line "
        f"FROM (SELECT *, {rule} AS rule FROM ({FORMATS[file.format](file)}))"
    )


def _chunks(con: duckdb.DuckDBPyConnection, query: str, size: int) -> Iterator[tuple[int, list[_Row], bool]]:
    """Yield (number of the first row, rows, whether they are the last) of a streamed result."""
    result = con.execute(query)
    begin, rows = 0, result.fetchmany(size)
    while True:
        following = result.fetchmany(size)
        yield begin, rows, not following
        if not following:
            return
        begin, rows = begin + len(rows), following


def _fill(columns: pb.BrowseColumns, rows: list[_Row], bad: BadLines) -> Counter[str]:
    """Put the rows that are kept into a message; returns how many others there are by rule."""
    left_out: Counter[str] = Counter()
    kept = []
    for row in rows:
        if not row[4] and len(row[2]) <= _MAX_TEXT_BYTES:
            kept.append(row)
            continue
        left_out[row[4] or "bad_url"] += 1
        if row[4] == "bad_line":
            bad.add(row[5])
    ids: dict[str, int] = {}
    columns.epoch_ms.extend([row[0] for row in kept])
    columns.clients.extend([ids.setdefault(row[1], len(ids)) for row in kept])
    columns.urls.extend([ids.setdefault(row[2], len(ids)) for row in kept])
    columns.referrers.extend([ids.setdefault(row[3], len(ids)) + 1 if row[3] else 0 for row in kept])
    columns.texts.extend(ids)
    return left_out


def _add_rejected(con: duckdb.DuckDBPyConnection, read: ReadLog, left_out: Counter[str]) -> None:
    found = rejected(con)
    if found.count:
        left_out["bad_line"] += found.count
        read.records += found.count
        read.bad.count += found.count
        read.bad.samples = (read.bad.samples + found.samples)[:MAX_SAMPLES]


def shape_of(line: str) -> str:
    """Return a line with every letter as `a` or `A` and every digit as `9`; of a long one both ends.

    It shows what is wrong with the form of a line and nothing of a client, an address or a page.
    """
    cut = line if len(line) <= 2 * _END_CHARS else f"{line[:_END_CHARS]} ... {line[-_END_CHARS:]}"
    return re.sub(r"[^\W\d_]", lambda m: "A" if m[0].isupper() else "a", re.sub(r"\d", "9", cut))


def rejected(con: duckdb.DuckDBPyConnection) -> BadLines:
    """Return the lines that DuckDB's reader could not split or decode in the scans of a connection."""
    tables = con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'reject_errors'").fetchone()
    found = BadLines()
    if not tables or not tables[0]:
        return found
    lines = "SELECT scan_id, line, min(csv_line) AS text FROM reject_errors GROUP BY scan_id, line"
    for (text,) in con.execute(
        f"SELECT text FROM ({lines}) ORDER BY scan_id, line LIMIT {MAX_SAMPLES}"
    ).fetchall():
        found.samples.append(shape_of(str(text).strip("\r\n")))
    row = con.execute(f"SELECT count(*) FROM ({lines})").fetchone()
    found.count = row[0] if row else 0
    return found
