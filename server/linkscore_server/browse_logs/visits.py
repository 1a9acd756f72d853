"""Visits of a crawl in one DuckDB file, and the counts of visits that mining reads.

A visit has the columns site, url (identity of the page), referrer (identity of a page of the same site; of
another one its site, a tab, and the identity; empty if unknown or not kept), day (days since 1970-01-01 UTC),
second (of the day), client (64 bits of a salted hash). Of several records of one client, page and day the
first counts, at equal times the one with the lower referrer; so the visits of two logs are the same whichever
is read first.

While they are worked on, visits are numbers: the table names(id, site, url), and first_visits(page, day,
client, first), where page is an id and first is second x 2^32 + id of the referrer, 0 for none. The view
visits shows them with their columns.

A batch is stored unseen, in one transaction with its visits. It is shown once the crawl's log has it; the log
says after a crash which batches to show and which to drop.
"""

from __future__ import annotations

import errno
import os
import secrets
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from linkscore_scoring.errors import CorruptState
from linkscore_server.data_folder import PRIVATE, ensure_folder

if TYPE_CHECKING:
    import duckdb

    from linkscore_scoring.browse_logs.counts import BrowseCounts

COLUMNS = "site, url, referrer, day, second, client"
DAY_S = 86_400  # seconds
ORIGIN_BITS = 32
"""Bits of the referrer's id in `first`: a second above them orders visits by time, then by referrer."""
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
# Of a stored visit: the site and the identity of its referrer.
_ORIGIN_SITE = "CASE WHEN contains(referrer, '\t') THEN split_part(referrer, '\t', 1) ELSE site END"
_ORIGIN = "split_part(referrer, '\t', -1)"


@dataclass(frozen=True, slots=True)
class SiteSpan:
    """The visits of a site: first and last day (days since 1970-01-01 UTC), and how many there are."""

    first_day: int
    last_day: int
    visits: int


@dataclass(frozen=True, slots=True)
class VisitQuery:
    """Which visits to count, see `counts_of`; without a site those of all."""

    site: str
    first_day: int
    n_days: int
    max_pages_a_day: int


class Visits:
    """The visits of one crawl; all calls block, and one runs at a time.

    There may be several of one client, page and day, from several batches; readers take the first.

    Parameters
    ----------
    path
        The file, made with the first batch in a folder that is made too; None keeps visits in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._memory: duckdb.DuckDBPyConnection | None = None

    def salt(self) -> bytes:
        """Return the secret of the crawl's pseudonyms, the same at every call and after a restart."""
        with self._opened() as con:
            found = con.execute("SELECT salt FROM secret").fetchone()
            if found is None:
                found = (secrets.token_bytes(SALT_BYTES),)
                con.execute("INSERT INTO secret VALUES ($1)", found)
            return bytes(found[0])

    def stage(self, batch_id: str, source: duckdb.DuckDBPyConnection) -> dict[int, int]:
        """Store the view `visits` of a connection, unseen by readers; returns visits by day.

        Raises
        ------
        OSError
            If it could not be made durable.
        """
        found = source.execute(f"SELECT {COLUMNS} FROM visits").fetchnumpy()
        rows = {name: np.asarray(values) for name, values in found.items()}
        with self._opened() as con:
            con.register("rows", rows)
            con.execute("BEGIN")
            _drop(con, batch_id)
            con.execute("INSERT INTO batch VALUES ($1, $2, false)", [batch_id, time.time()])
            con.execute(f"INSERT INTO visit SELECT $1, {COLUMNS} FROM rows", [batch_id])
            con.execute("COMMIT")
        days, counts = np.unique(rows["day"], return_counts=True)
        return dict(zip(days.tolist(), counts.tolist(), strict=True))

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

    def counts(self, query: VisitQuery, *, memory_mb: int = DEFAULT_MEMORY_MB) -> BrowseCounts:
        """Count what is shown of a site within a window; see `counts_of`.

        Raises
        ------
        CorruptState
            If the file is damaged, naming it.
        """
        last = query.first_day + query.n_days - 1
        own = f" AND site = {text(query.site)}" if query.site else ""
        with self._opened(memory_mb=memory_mb) as con:
            load_stored(con, f"{_SHOWN} WHERE day BETWEEN {query.first_day} AND {last}{own}")
            return counts_of(
                con, query.site, query.first_day, query.n_days, max_pages_a_day=query.max_pages_a_day
            )

    def days(self) -> Mapping[int, int]:
        """Return bytes by day, in order: the share of the file that the visits of the day have."""
        if not self._exists:
            return {}
        with self._opened() as con:
            found = con.execute(f"SELECT day, count(*) FROM {_SHOWN} GROUP BY day ORDER BY day").fetchall()
        size = self._path.stat().st_size if self._path else 8 * 7 * sum(n for _, n in found)
        return {day: size * n // sum(count for _, count in found) for day, n in found}

    def spans(self) -> dict[str, SiteSpan]:
        """Return the span of each site; visits that came with several batches count once for each."""
        if not self._exists:
            return {}
        with self._opened() as con:
            rows = con.execute(
                f"SELECT site, min(day), max(day), count(*) FROM {_SHOWN} GROUP BY site"
            ).fetchall()
        return {site: SiteSpan(first, last, n) for site, first, last, n in rows}

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
            if self._path is not None:
                fresh = self._path.with_suffix(".new")
                fresh.unlink(missing_ok=True)
                con.execute(f"ATTACH {text(str(fresh))} AS fresh")
                con.execute(f"COPY FROM DATABASE {column(self._path.stem)} TO fresh")
                con.execute("DETACH fresh")
        if self._path is not None:
            fresh.chmod(PRIVATE)
            fresh.replace(self._path)
            with suppress(FileNotFoundError):
                self._path.with_suffix(f"{self._path.suffix}.wal").unlink()
        return [day for (day,) in expired]

    @property
    def _exists(self) -> bool:
        return self._memory is not None if self._path is None else self._path.exists()

    @contextmanager
    def _opened(self, *, memory_mb: int = DEFAULT_MEMORY_MB) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open the file, which is private, for one piece of work.

        Raises
        ------
        OSError
            If the disk is full.
        CorruptState
            If the file is damaged or none of ours, naming it.
        """
        import duckdb  # slow to import: only where there are logs

        if self._path is None:
            self._memory = self._memory or in_memory()
            with self._memory.cursor() as con:
                con.execute(f"{_SESSION}; {_SCHEMA}")
                yield con
            return
        ensure_folder(self._path.parent)
        try:
            is_new = not self._path.exists()
            with duckdb.connect(str(self._path), config=_config(memory_mb, 1, f"{self._path}.tmp")) as con:
                if is_new:
                    self._path.chmod(PRIVATE)
                con.execute(f"{_SESSION}; {_SCHEMA}")
                yield con
        except duckdb.Error as exc:
            if is_full(exc):
                raise OSError(errno.ENOSPC, f"browse logs: {exc}") from exc
            # A block that does not fit its checksum is an error of no class of its own.
            of_file = (duckdb.IOException, duckdb.SerializationException, duckdb.FatalException)
            if isinstance(exc, of_file) or "Corrupt database file" in str(exc):
                raise CorruptState(f"{self._path}: damaged visits: {exc}") from exc
            raise


def _drop(con: duckdb.DuckDBPyConnection, batch_id: str) -> None:
    con.execute("DELETE FROM visit WHERE batch = $1", [batch_id])
    con.execute("DELETE FROM batch WHERE id = $1", [batch_id])


def counts_of(
    con: duckdb.DuckDBPyConnection,
    site: str,
    first_day: int,
    n_days: int,
    *,
    max_pages_a_day: int = MAX_PAGES_A_DAY,
) -> BrowseCounts:
    """Count the visits of a site by page and day, and by referrer and page.

    Parameters
    ----------
    con
        Connection with the tables names and first_visits.
    site
        Site as in names; referrers of other sites are `OUTSIDE`. Empty: all sites, and none is outside.
    first_day, n_days
        Window, days since 1970-01-01 UTC.
    max_pages_a_day
        On a day on which a client requests more pages of a site, its visits of that site do not count.

    Notes
    -----
    Out of core but for the result, O(pages x days + pairs). URLs are in the order of their bytes, rows in
    that of their columns: the same visits give the same counts.
    """
    from linkscore_scoring.browse_logs.counts import BrowseCounts

    own = f"SELECT id, site FROM names WHERE site = {text(site)}" if site else "SELECT id, site FROM names"
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE windowed AS
        SELECT page, day - {first_day} AS day, client, first & {(1 << ORIGIN_BITS) - 1} AS origin, site
        FROM first_visits JOIN ({own}) AS own ON page = own.id
        WHERE day BETWEEN {first_day} AND {first_day + n_days - 1}""")
    busy = f"""
        SELECT (site, client, day) FROM windowed GROUP BY site, client, day
        HAVING count(*) > {max_pages_a_day}"""
    deleted = con.execute(f"DELETE FROM windowed WHERE (site, client, day) IN ({busy})").fetchone()
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE used AS
        SELECT id, row_number() OVER (ORDER BY id) - 1 AS row FROM (
            SELECT page AS id FROM windowed
            UNION SELECT origin FROM windowed SEMI JOIN ({own}) AS own ON origin = own.id)""")
    urls = con.execute("SELECT url FROM names JOIN used USING (id) ORDER BY row").fetchall()
    clicks = con.execute("""
        SELECT row, day, count(*) AS n FROM windowed JOIN used ON page = id
        GROUP BY ALL ORDER BY ALL""").fetchnumpy()
    transits = con.execute("""
        SELECT coalesce(source.row, -1) AS origin, target.row AS page, count(*) AS n
        FROM windowed JOIN used AS target ON windowed.page = target.id
        LEFT JOIN used AS source ON windowed.origin = source.id
        GROUP BY ALL ORDER BY ALL""").fetchnumpy()
    return BrowseCounts(
        first_day,
        n_days,
        [url for (url,) in urls],
        click_urls=_integers(clicks["row"]),
        click_days=_integers(clicks["day"]),
        clicks=_integers(clicks["n"]),
        from_urls=_integers(transits["origin"]),
        to_urls=_integers(transits["page"]),
        transits=_integers(transits["n"]),
        left_out=deleted[0] if deleted else 0,
    )


def digest_of(con: duckdb.DuckDBPyConnection) -> str:
    """Return the digest of the table or view visits, the same in whatever order they are."""
    row = con.execute(f"SELECT bit_xor(md5_number(concat_ws('\t', {COLUMNS}))) FROM visits").fetchone()
    return f"{(row and row[0]) or 0:032x}"


def spans_of(con: duckdb.DuckDBPyConnection) -> dict[str, SiteSpan]:
    """Return the span of each site of the tables names and first_visits."""
    rows = con.execute("""
        SELECT site, min(day), max(day), count(*)
        FROM first_visits JOIN names ON page = id GROUP BY site""").fetchall()
    return {site: SiteSpan(first, last, n) for site, first, last, n in rows}


def _integers(values: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.asarray(values).astype(np.int64)


def load_stored(con: duckdb.DuckDBPyConnection, source: str) -> None:
    """Make names, first_visits and the view visits of stored visits, which may be there more than once."""
    con.execute(f"CREATE OR REPLACE TEMP TABLE taken AS SELECT {COLUMNS} FROM {source}")
    make_names(
        con,
        f"SELECT site, url FROM taken UNION SELECT {_ORIGIN_SITE}, {_ORIGIN} FROM taken WHERE referrer <> ''",
    )
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE first_visits AS
        SELECT page.id AS page, day, client,
            min((second::BIGINT << {ORIGIN_BITS}) + coalesce(origin.id, 0)) AS first
        FROM taken JOIN names AS page USING (url)
        LEFT JOIN names AS origin ON origin.url = {_ORIGIN} GROUP BY ALL""")
    con.execute("DROP TABLE taken")
    show_visits(con)


def make_names(con: duckdb.DuckDBPyConnection, pages: str) -> None:
    """Make the table names(id, site, url) of a query of distinct sites and URLs, ids in URL order."""
    con.execute(f"""
        CREATE OR REPLACE TEMP TABLE names AS
        SELECT row_number() OVER (ORDER BY url) AS id, site, url FROM ({pages})""")


def show_visits(con: duckdb.DuckDBPyConnection) -> None:
    """Make the view visits over names and first_visits."""
    con.execute(f"""
        CREATE OR REPLACE TEMP VIEW visits AS
        SELECT page.site AS site, page.url AS url,
            CASE WHEN origin.id IS NULL THEN '' WHEN origin.site = page.site THEN origin.url
                ELSE concat(origin.site, '\t', origin.url) END AS referrer, day,
            CAST(first >> {ORIGIN_BITS} AS INTEGER) AS second, client
        FROM first_visits JOIN names AS page ON first_visits.page = page.id
        LEFT JOIN names AS origin ON origin.id = first & {(1 << ORIGIN_BITS) - 1}""")


# A DuckDB of one's own: bounded memory, no network, times in UTC


@contextmanager
def workspace(
    *, memory_mb: int = DEFAULT_MEMORY_MB, threads: int = 0, below: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB whose tables lie compressed in a folder that is deleted on leaving.

    Parameters
    ----------
    memory_mb
        Most memory of DuckDB in MiB; what does not fit goes to the folder.
    threads
        Threads of a query; 0 takes one a core.
    below
        Where the folder is made; None: where the system keeps what is passing.

    Raises
    ------
    OSError
        If the disk has no room for the folder.
    """
    import duckdb  # slow to import: only where there are logs

    try:
        with (
            TemporaryDirectory(prefix="linkscore-", dir=below) as folder,
            duckdb.connect(f"{folder}/work.duckdb", config=_config(memory_mb, threads, folder)) as con,
        ):
            con.execute(_SESSION)
            yield con
    except duckdb.IOException as exc:
        if is_full(exc):
            raise OSError(errno.ENOSPC, f"browse logs: {exc}") from exc
        raise


def is_full(error: Exception) -> bool:
    """Say whether DuckDB found no room on the disk; the number of the error is in its text alone."""
    return os.strerror(errno.ENOSPC) in str(error)


def in_memory(*, memory_mb: int = DEFAULT_MEMORY_MB, threads: int = 1) -> duckdb.DuckDBPyConnection:
    """Open a DuckDB that touches no disk; fails with `duckdb.OutOfMemoryException` beyond `memory_mb`."""
    import duckdb

    con = duckdb.connect(config=_config(memory_mb, threads, ""))
    con.execute(_SESSION)
    return con


def text(value: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + value.replace("'", "''") + "'"


def column(value: str) -> str:
    """Return a name of a column or database as an expression of SQL."""
    return '"' + value.replace('"', '""') + '"'


def date_of(day: int) -> str:
    """Return a day, in days since 1970-01-01, as ISO 8601."""
    return datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat()


def _config(memory_mb: int, threads: int, folder: str) -> dict[str, str | bool | int | float | list[str]]:
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{memory_mb}MiB",
        "temp_directory": folder,
        "autoinstall_known_extensions": False,
    }
    if threads:
        config["threads"] = threads
    return config
