"""Visits in Parquet files, a folder a day.

::

    CRAWL/browse/salt                         a secret, readable by the owner only
    CRAWL/browse/staged/BATCH/2026-09-07.CHECKSUM.parquet
    CRAWL/browse/days/2026-09-07/BATCH.CHECKSUM.parquet

The checksum is BLAKE2b of the file, 128 bits: nothing is counted of a file that does not fit its name. Files
of format 1 have none; `verify` gives them one.

A batch is staged under a passing name, synced and renamed; once the crawl's log has it, it is published,
file by file. Whatever a crash leaves behind, the log says whether to publish it or to drop it. The files of a
day are merged when they are many; while both are there, readers see visits twice, which makes no difference.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from linkscore_scoring.errors import CorruptState
from linkscore_server.browse_logs.visits.base import (
    SALT_BYTES,
    SiteSpan,
    VisitQuery,
    VisitReader,
    VisitStore,
    token_of,
)
from linkscore_server.browse_logs.visits.connection import WORK, in_memory, is_full, text, workspace
from linkscore_server.browse_logs.visits.tables import COLUMNS, DAY_S, counts_of, load_stored
from linkscore_server.data_folder import PRIVATE, ensure_folder, sync
from linkscore_server.store import failpoints
from linkscore_server.store.bodies import checked, seal

if TYPE_CHECKING:
    import duckdb

    from linkscore_scoring.browse_logs.counts import BrowseCounts

MAX_PARTS = 24
"""Files of a day beyond which they are merged. Chosen, not measured: a batch an hour is one merge a day."""

CHECKSUM_BYTES = 16
"""Bytes of the checksum of a file: damage that it misses does not happen."""

_FORMAT, _FORMAT_OF_SITES, _FORMAT_KEY = 3, 2, "linkscore_format"
"""Number of the format, that of files whose referrers are all of the site of their page, and the name of the
Parquet metadata that holds it."""

FAILPOINTS = (
    "visits.drafted",  # a batch is written, under its passing name
    "visits.staged",  # it is durable, and in no log
    "visits.published",  # one file of it is where it belongs
)
"""Places that a batch passes, as in `store.failpoints`."""

DRAFT = ".tmp"
"""How passing names end."""
_TRIES = 3  # a merge takes files away from a reader; the next list of them is whole again
_NONE = (
    "(SELECT '' AS site, '' AS url, '' AS referrer, 0 AS day, 0 AS second, 0::UBIGINT AS client WHERE false)"
)


@dataclass(frozen=True, slots=True)
class FileReader(VisitReader):
    """Reads the files of a folder of days."""

    folder: Path

    def counts(self, query: VisitQuery, *, memory_mb: int) -> BrowseCounts:
        """See `VisitReader.counts`; starts again if files were merged meanwhile.

        Raises
        ------
        CorruptState
            If a file is damaged, or has a format of a later version, naming it.
        """
        import duckdb  # slow to import: only where there are logs

        for left in reversed(range(_TRIES)):
            try:
                return self._counts(query, memory_mb)
            except (duckdb.IOException, FileNotFoundError):
                if not left:
                    raise
        raise AssertionError

    def _counts(self, query: VisitQuery, memory_mb: int) -> BrowseCounts:
        parts = self.parts(query.first_day, query.first_day + query.n_days - 1)
        ensure_folder(self.folder.parent)
        check(parts)
        source = source_of(parts)
        own = f"(SELECT * FROM {source} WHERE site = {text(query.site)})" if query.site else source
        with workspace(memory_mb=memory_mb, threads=1, below=self.folder.parent) as con:
            load_stored(con, own)
            return counts_of(
                con, query.site, query.first_day, query.n_days, max_pages_a_day=query.max_pages_a_day
            )

    def parts(self, first_day: int, last_day: int) -> list[Path]:
        """Return the files of some days, in order."""
        days = sorted(self.folder.iterdir()) if self.folder.exists() else []
        return [
            part
            for day in days
            if first_day <= number_of(day.name) <= last_day
            for part in sorted(day.glob("*.parquet"))
        ]


def salt_in(path: Path) -> bytes:
    """Return the secret of a file.

    Raises
    ------
    CorruptState
        If it does not hold one, naming it: a new one would tell the same people apart from now on.
    """
    try:
        return checked(b"salt", path.read_bytes())
    except CorruptState as exc:
        raise CorruptState(f"{path}: {exc}") from exc


class FileVisits(VisitStore):
    """The visits of one crawl below its folder, which exists."""

    def __init__(self, folder: Path, *, max_parts: int = MAX_PARTS) -> None:
        self._folder = folder
        self._staged, self._days = folder / "staged", folder / "days"
        self._max_parts = max_parts

    def counts(self, query: VisitQuery, *, memory_mb: int) -> BrowseCounts:
        """See `VisitReader.counts`."""
        return self.reader().counts(query, memory_mb=memory_mb)

    def reader(self) -> FileReader:
        """See `VisitStore.reader`."""
        return FileReader(self._days)

    def salt(self) -> bytes:
        """See `VisitStore.salt`."""
        path = self._folder / "salt"
        if not path.exists():
            ensure_folder(self._folder)
            draft = self._folder / f"salt-{secrets.token_hex(8)}{DRAFT}"
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE), "wb") as file:
                file.write(seal(b"salt", secrets.token_bytes(SALT_BYTES)))
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
            sync(self._folder)
        return salt_in(path)

    def stage(self, batch_id: str, con: duckdb.DuckDBPyConnection) -> dict[int, int]:
        """See `VisitStore.stage`."""
        for folder in (self._folder, self._staged, self._days):
            ensure_folder(folder)
        token = token_of(batch_id)
        draft = self._staged / f"{token}{DRAFT}"
        days = draft_of(draft, con)
        shutil.rmtree(self._staged / token, ignore_errors=True)
        draft.replace(self._staged / token)
        sync(self._staged)
        failpoints.reached("visits.staged")
        return days

    def publish(self, batch_id: str) -> None:
        """See `VisitStore.publish`; merges the files of a day that has many."""
        token = token_of(batch_id)
        self.move(self._staged / token, token)

    def recover(self, imported: Collection[str]) -> None:
        """See `VisitStore.recover`."""
        self.sweep()
        staged = list(self._staged.iterdir()) if self._staged.exists() else []
        known = {token_of(batch_id) for batch_id in imported} if staged else set()
        for batch in staged:
            if batch.name in known:
                self._publish(batch, batch.name)
            else:
                shutil.rmtree(batch)

    def days(self) -> Mapping[int, int]:
        """See `VisitStore.days`."""
        folders = sorted(self._days.iterdir()) if self._days.exists() else []
        return {
            number_of(folder.name): sum(part.stat().st_size for part in folder.glob("*.parquet"))
            for folder in folders
        }

    def spans(self) -> dict[str, SiteSpan]:
        """See `VisitStore.spans`; visits that came with several batches count once for each."""
        parts = self.reader().parts(-(1 << 31), 1 << 31)
        if not parts:
            return {}
        check(parts)
        source = source_of(parts)
        with in_memory() as con:  # a full disk answers too
            rows = con.execute(
                f"SELECT site, min(day), max(day), count(*) FROM {source} GROUP BY site"
            ).fetchall()
        return {site: SiteSpan(first, last, n) for site, first, last, n in rows}

    def expire(self, arrived_before_s: float) -> list[int]:
        """See `VisitStore.expire`."""
        expired = []
        for folder in sorted(self._days.iterdir()) if self._days.exists() else []:
            # A day without files was just made for some, or a crash left it.
            arrived = [part.stat().st_mtime for part in folder.glob("*.parquet")] or [folder.stat().st_mtime]
            if max(arrived) < arrived_before_s:
                shutil.rmtree(folder)
                expired.append(number_of(folder.name))
        if expired:
            sync(self._days)
        return expired

    def verify(self) -> list[str]:
        """See `VisitStore.verify`; files of format 1 that can be read get a checksum."""
        problems = []
        for part in self.reader().parts(-(1 << 31), 1 << 31):
            try:
                check([part])
                if not checksum_of(part):
                    part.replace(_named(part))
            except CorruptState as exc:
                problems.append(str(exc))
        return problems

    def sweep(self) -> None:
        """Remove what a crash left of files that were being written."""
        for leftover in [*self._folder.glob(f"*{DRAFT}"), *self._days.glob(f"*/*{DRAFT}")]:
            leftover.unlink()
        for leftover in self._folder.glob(f"{WORK}*"):
            shutil.rmtree(leftover)

    def move(self, batch: Path, token: str) -> None:
        """Move the files of a batch from its folder to their days; those of a day with many are merged."""
        for folder in self._publish(batch, token):
            if len(parts := sorted(folder.glob("*.parquet"))) > self._max_parts:
                self._merge(folder, parts)

    def _publish(self, batch: Path, token: str) -> list[Path]:
        """Move what is staged of a batch to its days; returns their folders."""
        if not batch.exists():
            return []
        folders = []
        for part in sorted(batch.glob("*.parquet")):
            day, *checksum = part.stem.split(".")
            folder = self._days / day
            ensure_folder(folder)
            part.replace(folder / ".".join([token, *checksum, "parquet"]))
            sync(folder)
            failpoints.reached("visits.published")
            folders.append(folder)
        shutil.rmtree(batch)
        sync(self._staged)
        return folders

    def _merge(self, folder: Path, parts: list[Path]) -> None:
        """Put one file in the place of several; the day keeps the time at which its last visits arrived."""
        arrived = max(part.stat().st_mtime for part in parts)
        check(parts)
        draft = folder / f"merged-{secrets.token_hex(8)}{DRAFT}"
        with workspace(threads=1, below=self._folder) as con:
            load_stored(con, source_of(parts))
            _write(con, "visits", draft)
        os.utime(draft, (arrived, arrived))
        draft.replace(_named(draft))
        sync(folder)
        for part in parts:
            part.unlink()


def draft_of(draft: Path, con: duckdb.DuckDBPyConnection) -> dict[int, int]:
    """Write the table `visits` into a new folder, durably, a file a day; returns visits by day."""
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    days = dict(con.execute("SELECT day, count(*) FROM visits GROUP BY day ORDER BY day").fetchall())
    for day in days:
        part = draft / name_of(day)
        _write(con, f"visits WHERE day = {day}", part)
        part.replace(_named(part))
    sync(draft)
    failpoints.reached("visits.drafted")
    return days


def source_of(parts: list[Path]) -> str:
    """Return the FROM item of some files."""
    return f"read_parquet([{', '.join(text(str(part)) for part in parts)}])" if parts else _NONE


def check(parts: list[Path]) -> None:
    """Return if all that some files hold can be counted on.

    Raises
    ------
    CorruptState
        If one is damaged or of a format of a later version, naming it.
    """
    import duckdb

    with duckdb.connect() as con:
        for part in parts:
            try:
                _check_part(con, part)
            except (duckdb.Error, ValueError) as exc:
                if not part.exists():
                    raise
                raise CorruptState(f"{part}: damaged visits: {exc}") from exc


def _check_part(con: duckdb.DuckDBPyConnection, part: Path) -> None:
    number, known = _format_of(con, part), checksum_of(part)
    if not 1 <= number <= _FORMAT:
        raise CorruptState(f"{part}: visits of format {number}, known are 1 to {_FORMAT}")
    if known:
        if known != _checksum(part):
            raise CorruptState(f"{part}: damaged visits, the file does not fit the checksum in its name")
    elif number > 1:
        raise CorruptState(f"{part}: visits of format {number} without the checksum in the name")
    else:
        con.execute(f"SELECT bit_xor(hash({COLUMNS})) FROM {source_of([part])}").fetchall()


def checksum_of(part: Path) -> str:
    """Return the checksum in the name of a file, empty if it has none."""
    return part.stem.partition(".")[2]


def _checksum(part: Path) -> str:
    with part.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=CHECKSUM_BYTES)).hexdigest()


def _named(part: Path) -> Path:
    """Return the path of a file that is all written, with its checksum in the name."""
    return part.with_name(f"{part.name.partition('.')[0]}.{_checksum(part)}.parquet")


def _format_of(con: duckdb.DuckDBPyConnection, part: Path) -> int:
    """Return the number of a file's format; files written before there was one have the first."""
    found = con.execute(
        f"SELECT value::VARCHAR FROM parquet_kv_metadata({text(str(part))}) "
        f"WHERE key::VARCHAR = '{_FORMAT_KEY}'"
    ).fetchone()
    return int(found[0]) if found else 1


def name_of(day: int) -> str:
    """Return a day, in days since 1970-01-01, as ISO 8601."""
    return datetime.fromtimestamp(day * DAY_S, UTC).date().isoformat()


def number_of(name: str) -> int:
    """Return the day of `name_of`."""
    return (date.fromisoformat(name) - date(1970, 1, 1)).days


def _write(con: duckdb.DuckDBPyConnection, source: str, path: Path) -> None:
    query = f"SELECT {COLUMNS} FROM {source} ORDER BY site, url, client"
    foreign = f"SELECT 1 FROM (SELECT referrer FROM {source}) WHERE contains(referrer, '\t')"
    with _disk_errors():
        number = _FORMAT if con.execute(foreign).fetchone() else _FORMAT_OF_SITES
        con.execute(
            f"COPY ({query}) TO {text(str(path))} (FORMAT parquet, COMPRESSION zstd, "
            f"KV_METADATA {{{_FORMAT_KEY}: '{number}'}})"
        )
    path.chmod(PRIVATE)
    sync(path)


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Turn what DuckDB says of a disk into what Python says of it."""
    import duckdb

    try:
        yield
    except duckdb.IOException as exc:
        raise OSError(errno.ENOSPC if is_full(exc) else errno.EIO, f"browse logs: {exc}") from exc
