"""Visits of a crawl in one DuckDB file, and the counts of visits that mining reads.

A visit has the columns site, url (identity of the page), referrer (identity of a page of the same site; empty
for another one), day (days since 1970-01-01 UTC), second (of the day), client (64 bits of a salted hash). Of
several records of one client, page and day the first counts, at equal times the one with the lower referrer;
so the visits of two logs are the same whichever is read first.

A batch is stored unseen, in one transaction with its visits. It is shown once the crawl's log has it; the log
says after a crash which batches to show and which to drop.
"""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore_scoring.engine.events import BrowseBatchImported
from linkscore_scoring.errors import CorruptState, InvalidInput
from linkscore_scoring.urls.identity import host_of, validate_url
from linkscore_server.data_folder import PRIVATE, ensure_folder

if TYPE_CHECKING:
    import duckdb

    from linkscore_scoring.browse_logs.counts import BrowseCounts

SiteOf = Callable[[str], str]
COLUMNS = "site, url, referrer, day, second, client"
DAY_S = 86_400  # seconds
SALT_BYTES = 32
"""Bytes of the secret of pseudonyms: as many as SHA-256 has, so that it cannot be guessed."""
MAX_PAGES_A_DAY = 500
"""Pages of a site that a client requests on one day before it is taken for a program."""
DEFAULT_MEMORY_MB = 1_024
"""Memory of DuckDB, MiB, where no setting says it. Chosen, not measured; more than that goes to the disk."""

_SESSION = "SET TimeZone = 'UTC'; SET enable_progress_bar = false"
_SCHEMA = """
    CREATE TABLE IF NOT EXISTS secret (salt BLOB);
    CREATE TABLE IF NOT EXISTS batch (id VARCHAR, arrived DOUBLE, shown BOOLEAN);
    CREATE TABLE IF NOT EXISTS visit (batch VARCHAR, site VARCHAR, url VARCHAR, referrer VARCHAR, day INTEGER,
        second INTEGER, client UBIGINT)"""
_SHOWN = "(SELECT * FROM visit SEMI JOIN (SELECT id FROM batch WHERE shown) AS known ON batch = known.id)"
_TIME = f"t BETWEEN 0 AND {DAY_S * 100_000}"  # to the year 2243: a later time is a broken clock
_DAY = f"CAST(floor(t / {DAY_S}) AS INTEGER)"
_SECOND = f"CAST(floor(t) % {DAY_S} AS INTEGER)"
_CLIENT = "CAST('0x' || substr(sha256(getvariable('salt') || client), 1, 16) AS UBIGINT)"
_BEFORE_1970 = -1.0  # the time of a record without one: no time of a visit, so a bad line
_TEXTS = {"client": "client_id", "url": "url", "referrer": "referrer"}
_RECORDS = """
    SELECT t, client, nullif(url, '') AS url,
        CASE WHEN referrer NOT IN ('', '-') THEN referrer END AS referrer, client = '' OR t < 0 AS bad
    FROM given"""
# Of several records of one client, page and day the first, at equal times the lower referrer.
_FIRST = "min({'second': second, 'referrer': referrer}) AS first"


@dataclass(frozen=True, slots=True)
class SiteSpan:
    """The visits of a site: first and last day (days since 1970-01-01 UTC), and how many there are."""

    first_day: int
    last_day: int
    visits: int


@dataclass(frozen=True, slots=True)
class VisitQuery:
    """Which visits to count: of a site, empty for all, within a window of days.

    On a day on which a client requests more than `max_pages_a_day` pages of a site, its visits do not count.
    """

    site: str
    first_day: int
    n_days: int
    max_pages_a_day: int = MAX_PAGES_A_DAY


class Visits:
    """The visits of one crawl; all calls block, and one runs at a time.

    There may be several of one client, page and day, from several batches; readers take the first. The file
    is made with the first batch, in a folder that is made too.
    """

    def __init__(self, path: Path, *, memory_mb: int = DEFAULT_MEMORY_MB) -> None:
        self._path, self._memory_mb = path, memory_mb

    def stage(self, message: pb.ImportBrowseRecordsRequest, site_of: SiteOf = host_of) -> BrowseBatchImported:
        """Store the visits of a batch, unseen by readers; returns the event that will show them.

        Raises OSError if the visits could not be made durable.
        """
        batch_id = message.batch_id
        with self._opened() as con:
            con.register("given", _rows(message.records))
            outcomes = load_records(
                con, _RECORDS, "CASE WHEN bad THEN 'bad_line' ELSE '' END", _salt(con), site_of=site_of
            )
            con.execute("BEGIN")
            _drop(con, batch_id)
            con.execute("INSERT INTO batch VALUES ($1, $2, false)", [batch_id, time.time()])
            con.execute(f"INSERT INTO visit SELECT $1, {COLUMNS} FROM visits", [batch_id])
            con.execute("COMMIT")
            days = con.execute("SELECT day, count(*) FROM visits GROUP BY day ORDER BY day").fetchall()
        outcomes.update({name: count for name, count in message.left_out.items() if name and count})
        return BrowseBatchImported(batch_id, dict(days), dict(outcomes))

    def show(self, batch_id: str) -> None:
        """Show readers a batch that is stored; nothing stored is fine."""
        if self._exists:
            with self._opened() as con:
                con.execute("UPDATE batch SET shown = true WHERE id = $1", [batch_id])

    def recover(self, imported: Collection[str]) -> None:
        """Show what is stored of the batches named, drop what is stored of others: the end of a crash."""
        if not self._exists:
            return
        with self._opened() as con:
            for (batch_id,) in con.execute("SELECT id FROM batch WHERE NOT shown").fetchall():
                if batch_id in imported:
                    con.execute("UPDATE batch SET shown = true WHERE id = $1", [batch_id])
                else:
                    _drop(con, batch_id)

    def counts(self, query: VisitQuery) -> BrowseCounts:
        """Count what is shown; see `counts_of`. Raises CorruptState, naming the file, if it is damaged."""
        with self._opened() as con:
            return counts_of(con, _SHOWN, query)

    def spans(self) -> dict[str, SiteSpan]:
        """Return the span of each site; visits that came with several batches count once for each."""
        if not self._exists:
            return {}
        with self._opened() as con:
            return spans_of(con, _SHOWN)

    def problems(self) -> list[str]:
        """Read all that is stored and say what is damaged; DuckDB has a checksum for each block."""
        if not self._exists:
            return []
        try:
            with self._opened() as con:
                con.execute(f"SELECT bit_xor(hash({COLUMNS})) FROM visit").fetchall()
                con.execute("SELECT * FROM secret, batch").fetchall()
        except CorruptState as exc:
            return [str(exc)]
        return []

    def expire(self, arrived_before_s: float) -> list[int]:
        """Delete the days whose last visits arrived before a time (epoch seconds); returns them.

        What is left is written to a new file, so that nothing of what is deleted stays on the disk.
        """
        if not self._exists:
            return []
        with self._opened() as con:
            expired = con.execute(
                "SELECT day FROM visit JOIN batch ON batch = batch.id GROUP BY day "
                "HAVING max(arrived) < $1 ORDER BY day",
                [arrived_before_s],
            ).fetchall()
            if not expired:
                return []
            con.execute(f"DELETE FROM visit WHERE day IN ({', '.join(str(day) for (day,) in expired)})")
            fresh = self._path.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            con.execute(f"ATTACH {text(str(fresh))} AS fresh")
            con.execute(f"COPY FROM DATABASE {column(self._path.stem)} TO fresh")
            con.execute("DETACH fresh")
        fresh.chmod(PRIVATE)
        fresh.replace(self._path)
        self._path.with_suffix(f"{self._path.suffix}.wal").unlink(missing_ok=True)
        return [day for (day,) in expired]

    @property
    def _exists(self) -> bool:
        return self._path.exists()

    @contextmanager
    def _opened(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file, which is private, for one piece of work.

        Raises OSError if the disk is full, CorruptState if the file is damaged or none of ours.
        """
        import duckdb  # slow to import: only where there are logs

        ensure_folder(self._path.parent)
        try:
            is_new = not self._path.exists()
            config = _config(self._memory_mb, 1, f"{self._path}.tmp")
            with duckdb.connect(str(self._path), config=config) as con:
                if is_new:
                    self._path.chmod(PRIVATE)
                con.execute(f"{_SESSION}; {_SCHEMA}")
                yield con
        except duckdb.Error as exc:
            if os.strerror(errno.ENOSPC) in str(exc):  # DuckDB gives the number in its text alone
                raise OSError(errno.ENOSPC, f"browse logs: {exc}") from exc
            # A block that does not fit its checksum is an error of no class of its own.
            of_file = (duckdb.IOException, duckdb.SerializationException, duckdb.FatalException)
            if isinstance(exc, of_file) or "Corrupt database file" in str(exc):
                raise CorruptState(f"{self._path}: damaged visits: {exc}") from exc
            raise


def _rows(records: Sequence[pb.BrowseRecord]) -> dict[str, NDArray[Any]]:
    """Return records as columns; cost 3 us a record."""
    times = [r.time.seconds + r.time.nanos / 1e9 if r.HasField("time") else _BEFORE_1970 for r in records]
    columns = {"t": np.array(times)}
    for name, field in _TEXTS.items():
        columns[name] = np.array([getattr(record, field) for record in records], dtype=object)
    return columns


def _drop(con: duckdb.DuckDBPyConnection, batch_id: str) -> None:
    con.execute("DELETE FROM visit WHERE batch = $1", [batch_id])
    con.execute("DELETE FROM batch WHERE id = $1", [batch_id])


def _salt(con: duckdb.DuckDBPyConnection) -> bytes:
    """Return the secret of the crawl's pseudonyms, the same at every call and after a restart."""
    found = con.execute("SELECT salt FROM secret").fetchone()
    if found is None:
        found = (secrets.token_bytes(SALT_BYTES),)
        con.execute("INSERT INTO secret VALUES ($1)", found)
    return bytes(found[0])


def load_records(
    con: duckdb.DuckDBPyConnection,
    records: str,
    rule: str,
    salt: bytes,
    *,
    site_of: SiteOf = host_of,
) -> Counter[str]:
    """Clean records into the temporary table visits; returns records by rule, visits under "".

    `records` is SQL as of `reading.record_sql`, run once; `rule` that of `reading.rule_sql`. Client ids are
    hashed while the records are read, and stored nowhere else.
    """
    con.execute("SET VARIABLE salt = $1", [salt.hex()])  # not in the text of a query, which errors may show
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE cleaned AS
        SELECT t, {_CLIENT} AS client, CASE WHEN rule = '' THEN url END AS url,
            CASE WHEN rule = '' THEN referrer END AS referrer, rule
        FROM (SELECT *, CASE WHEN NOT bad AND NOT ({_TIME}) THEN 'bad_line' ELSE {rule} END AS rule
            FROM ({records}))""")
    con.create_function("page_of", _page_of(site_of), ["VARCHAR"], "VARCHAR")
    # Materialized: otherwise the filter on the page would be asked before repeats are gone.
    con.execute("""
        CREATE OR REPLACE TEMP TABLE pages AS
        WITH addresses AS MATERIALIZED (
            SELECT url AS raw FROM cleaned WHERE rule = ''
            UNION SELECT referrer FROM cleaned WHERE rule = ''),
        placed AS MATERIALIZED (SELECT raw, page_of(raw) AS page FROM addresses WHERE raw IS NOT NULL)
        SELECT raw, split_part(page, '\t', 1) AS site, split_part(page, '\t', 2) AS url
        FROM placed WHERE page <> ''""")
    con.remove_function("page_of")
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE visits AS
        SELECT site, url, first.referrer AS referrer, day, first.second AS second, client, n
        FROM (SELECT site, url, day, client, count(*) AS n, {_FIRST} FROM (
            SELECT page.site AS site, page.url AS url, {_DAY} AS day, {_SECOND} AS second, client,
                CASE WHEN origin.site = page.site THEN origin.url ELSE '' END AS referrer
            FROM cleaned JOIN pages AS page ON cleaned.url = page.raw
            LEFT JOIN pages AS origin ON cleaned.referrer = origin.raw WHERE rule = '') GROUP BY ALL)""")
    counts = Counter(dict(con.execute("SELECT rule, count(*) FROM cleaned GROUP BY rule").fetchall()))
    found = con.execute("SELECT coalesce(sum(n), 0)::BIGINT, count(*) FROM visits").fetchone()
    placed, made = found or (0, 0)
    con.execute("DROP TABLE cleaned; DROP TABLE pages")
    counts["bad_url"] += counts[""] - placed
    counts["repeat"], counts[""] = placed - made, made
    return +counts


def _page_of(site_of: SiteOf) -> Callable[[str], str]:
    """Return a function of a URL: its site and identity, a tab between; empty for a bad URL."""
    sites: dict[str, str] = {}

    def page_of(url: str) -> str:
        try:
            identity = validate_url(url, "url")
            origin = identity[: identity.find("/", len("https://"))]
            if origin not in sites:
                sites[origin] = site_of(identity)
            return f"{sites[origin]}\t{identity}"
        except (InvalidInput, ValueError):
            return ""

    return page_of


def counts_of(con: duckdb.DuckDBPyConnection, source: str, query: VisitQuery) -> BrowseCounts:
    """Count visits, which may be there more than once, by page and day, and by referrer and page.

    URLs are in the order of their bytes, rows in that of their columns: the same visits give the same counts.
    Out of core but for the result.
    """
    from linkscore_scoring.browse_logs.counts import BrowseCounts

    first_day, last_day = query.first_day, query.first_day + query.n_days - 1
    own = f" AND site = {text(query.site)}" if query.site else ""
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE windowed AS
        SELECT site, url, day - {first_day} AS day, client, first.referrer AS origin FROM (
            SELECT site, url, day, client, {_FIRST} FROM {source}
            WHERE day BETWEEN {first_day} AND {last_day}{own} GROUP BY ALL)""")
    busy = f"""
        SELECT (site, client, day) FROM windowed GROUP BY site, client, day
        HAVING count(*) > {query.max_pages_a_day}"""
    deleted = con.execute(f"DELETE FROM windowed WHERE (site, client, day) IN ({busy})").fetchone()
    con.execute("""
        CREATE OR REPLACE TEMP TABLE used AS
        SELECT url, row_number() OVER (ORDER BY url) - 1 AS row
        FROM (SELECT url FROM windowed UNION SELECT origin FROM windowed WHERE origin <> '')""")
    urls = con.execute("SELECT url FROM used ORDER BY row").fetchall()
    clicks = con.execute("""
        SELECT row, day, count(*) AS n FROM windowed JOIN used USING (url)
        GROUP BY ALL ORDER BY ALL""").fetchnumpy()
    transits = con.execute("""
        SELECT coalesce(source.row, -1) AS origin, target.row AS page, count(*) AS n
        FROM windowed JOIN used AS target ON windowed.url = target.url
        LEFT JOIN used AS source ON windowed.origin = source.url
        GROUP BY ALL ORDER BY ALL""").fetchnumpy()
    con.execute("DROP TABLE windowed; DROP TABLE used")
    left_out = deleted[0] if deleted else 0
    rows, days, n = (np.asarray(column).astype(np.int64) for column in clicks.values())
    origins, pages, moves = (np.asarray(column).astype(np.int64) for column in transits.values())
    return BrowseCounts(
        first_day, query.n_days, [url for (url,) in urls], rows, days, n, origins, pages, moves, left_out
    )


def spans_of(con: duckdb.DuckDBPyConnection, source: str) -> dict[str, SiteSpan]:
    """Return the span of each site of some visits."""
    rows = con.execute(f"SELECT site, min(day), max(day), count(*) FROM {source} GROUP BY site").fetchall()
    return {site: SiteSpan(first, last, n) for site, first, last, n in rows}


@contextmanager
def workspace(*, memory_mb: int = DEFAULT_MEMORY_MB, threads: int = 0) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB of bounded memory; what does not fit goes to a folder that is deleted on leaving.

    `threads` of a query; 0 takes one a core.
    """
    import duckdb  # slow to import: only where there are logs

    with (
        TemporaryDirectory(prefix="linkscore-") as folder,
        duckdb.connect(f"{folder}/work.duckdb", config=_config(memory_mb, threads, folder)) as con,
    ):
        con.execute(_SESSION)
        yield con


def text(value: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def column(value: str) -> str:
    """Return a name of a column or database as an expression of SQL."""
    return '"' + value.replace('"', '""') + '"'


def _config(memory_mb: int, threads: int, folder: str) -> dict[str, str | bool | int | float | list[str]]:
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory_mb}MiB",
        "temp_directory": folder,
        "autoinstall_known_extensions": False,
    }
    return config | ({"threads": threads} if threads else {})
