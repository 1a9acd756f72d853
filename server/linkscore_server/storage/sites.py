"""The states of a crawl's sites, events that changed them since, and what is of no site: one SQLite file.

A commit is a cut: all states as they were after one event. Between two cuts one transaction stays open, and
takes what is evicted in the meantime: it can be read back at once, and a crash returns to the last cut, from
which the log goes on. The log is the only truth: without the file, or with a damaged one, a start only takes
longer.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import tempfile
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgpack
import zstandard

from linkscore_scoring.errors import CorruptState, LinkscoreError
from linkscore_server.storage import failpoints
from linkscore_server.storage.disk import PRIVATE
from linkscore_server.storage.formats import SITES, SNAPSHOTS_READ

_LEVEL = 3  # of zstd, its default: a state is written about as often as it is read
_APPLICATION = int.from_bytes(b"LSSN")
_WAL_BYTES = 16 << 20  # what stays of the file of open transactions once a cut is made; chosen, not measured
_CACHE_KB = 256
"""Pages that SQLite keeps of one file: each is read about once, and there may be 1,000 files. Chosen."""

_PASSING = {
    sqlite3.SQLITE_CANTOPEN: errno.EMFILE,
    sqlite3.SQLITE_NOMEM: errno.ENOMEM,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_BUSY: errno.EAGAIN,
}
"""Errors of SQLite that say nothing of what is in the file, and the system's number of each: no descriptor,
memory or space is left. The next call may succeed."""

_SETUP = f"""
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA journal_size_limit = {_WAL_BYTES};
PRAGMA cache_size = -{_CACHE_KB};
"""
_CHANGES = """
CREATE TABLE IF NOT EXISTS changes (
    place INTEGER, number INTEGER, events BLOB NOT NULL, crc INTEGER, PRIMARY KEY (place, number)
);
"""
"""Events that make of a state the one of now, in so many parts. Files before number 7 lack the table, and are
of that number from the first cut on that has any."""
_TABLES = f"""
BEGIN;
CREATE TABLE cut (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER, sites INTEGER, crc INTEGER, core BLOB);
CREATE TABLE sites (place INTEGER PRIMARY KEY, name TEXT NOT NULL, facts BLOB NOT NULL, crc INTEGER);
CREATE TABLE states (place INTEGER PRIMARY KEY, state BLOB NOT NULL, crc INTEGER);
{_CHANGES}
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {SITES.number};
COMMIT;
"""
_SITES = """
SELECT *, (SELECT count(*) FROM changes WHERE changes.place = sites.place) FROM sites ORDER BY place
"""
# Statements that may touch several rows and may fail at NOT NULL: of those SQLite takes back nothing but what
# they did themselves when the disk is full; of others, the transaction with all that was evicted.
_PUT_SITE = """
INSERT INTO sites SELECT ?, ?, ?, ? WHERE true ON CONFLICT (place)
DO UPDATE SET name = excluded.name, facts = excluded.facts, crc = excluded.crc
"""
_ADD_CHANGE = "INSERT INTO changes SELECT ?, ?, ?, ? WHERE true"
_PUT_STATE = """
INSERT INTO states SELECT ?, ?, ? WHERE true ON CONFLICT (place)
DO UPDATE SET state = excluded.state, crc = excluded.crc
"""


class SiteLost(LinkscoreError):
    """An evicted site cannot be read back; its crawl is opened again from the log."""


class SiteStates:
    """The newest cut of a crawl, and what was evicted since. From any thread.

    Parameters
    ----------
    path
        The file, made when it is first written to; None: kept in memory, compressed.

    Attributes
    ----------
    seq
        Number of the last event of the cut, 0 if there is none.
    is_lost
        Whether something that was evicted is gone: nothing may be asked of the crawl any more.

    Raises
    ------
    CorruptState
        If the file is damaged or of another format.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._con: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self.seq = 0
        self.is_lost = self._is_damaged = False
        if path is not None and path.exists():
            try:
                with self._reading("cut"):
                    self._check_format()
                    found = self._connection().execute("SELECT seq FROM cut").fetchone()
                    if found and type(found[0]) is not int:
                        raise CorruptState(f"{path}: the cut has no number")
                    self.seq = found[0] if found else 0
            except CorruptState:
                self.close()
                raise

    def core(self) -> bytes:
        """Return what the cut keeps beside the sites.

        Raises
        ------
        CorruptState
            If it is damaged.
        """
        with self._reading("cut"), self._lock:
            seq, sites, crc, core = (
                self._connection().execute("SELECT seq, sites, crc, core FROM cut").fetchone()
            )
            if crc != _crc(b"%d %d" % (seq, sites), core):
                raise CorruptState(f"{self._path}: the cut does not fit its checksum")
            return zstandard.decompress(core)

    def sites(self) -> Iterator[tuple[str, bytes]]:
        """Yield name and facts of each site of the cut, by place.

        Raises
        ------
        CorruptState
            If one is damaged or missing.
        """
        with self._reading("sites"):
            con, expected = self._connection(), 0
            for place, name, facts, crc, parts in con.execute(_SITES):
                if place != expected or crc != _crc_of_site(place, name, facts, parts):
                    raise CorruptState(f"{self._path}: site {expected} is missing or damaged")
                expected += 1
                yield name, facts
            if expected != con.execute("SELECT sites FROM cut").fetchone()[0]:
                raise CorruptState(f"{self._path}: {expected} sites, the cut has more or fewer")

    def get(self, place: int) -> bytes:
        """Return the state of a site that was put last.

        Raises
        ------
        SiteLost
            If it is missing or damaged, or cannot be read now.
        """
        with self._losing():
            found = (
                self._connection()
                .execute("SELECT state, crc FROM states WHERE place = ?", (place,))
                .fetchone()
            )
            if found is None or found[1] != _crc(b"%d" % place, found[0]):
                raise CorruptState(f"{self._path}: the state of site {place} is missing or damaged")
            return zstandard.decompress(found[0])

    def changes(self, place: int) -> list[bytes]:
        """Return the events that were added to that state, in order; errors as of `get`."""
        with self._losing():
            events: list[bytes] = []
            rows = self._connection().execute(
                "SELECT number, events, crc FROM changes WHERE place = ? ORDER BY number", (place,)
            )
            for expected, (number, packed, crc) in enumerate(rows):
                if number != expected or crc != _crc(b"%d %d" % (place, number), packed):
                    raise CorruptState(f"{self._path}: change {expected} of site {place} is damaged")
                events += msgpack.unpackb(zstandard.decompress(packed))
            return events

    def put(self, place: int, name: str, facts: bytes, state: bytes) -> None:
        """Keep the state of a site until it is put again; part of the next cut.

        Raises
        ------
        OSError
            If the disk takes no more.
        SiteLost
            If a site that was evicted before is lost.
        """
        self._check_not_lost()
        self._put_packed(place, name, facts, zstandard.compress(state, _LEVEL))

    def add(self, place: int, name: str, facts: bytes, events: Sequence[bytes]) -> None:
        """Keep events that changed the state of a site since it was put; errors as of `put`."""
        self._check_not_lost()
        if events:
            self._add_packed(place, name, facts, [zstandard.compress(msgpack.packb(events), _LEVEL)])

    def commit(self, seq: int, core: bytes) -> None:
        """Make a cut of what was put: all states must be those after event `seq`.

        Raises
        ------
        OSError
            If it could not be made durable; the cut before still counts.
        SiteLost
            If a site that was evicted before is lost.
        """
        self._check_not_lost()
        packed = zstandard.compress(core, _LEVEL)
        with self._writing() as con:
            (sites,) = con.execute("SELECT count(*) FROM sites").fetchone()
            crc = _crc(b"%d %d" % (seq, sites), packed)
            con.execute("INSERT OR REPLACE INTO cut VALUES (1, ?, ?, ?, ?)", (seq, sites, crc, packed))
            con.execute(f"PRAGMA user_version = {SITES.number}")  # a file of before is of today from here on
            con.execute("COMMIT")
            self.seq = seq
            failpoints.reached("states.committed")

    def clear(self) -> None:
        """Forget everything, for a crawl whose whole log is replayed."""
        self._is_damaged = True
        self.close()
        self.seq, self.is_lost, self._is_damaged = 0, False, False

    def roll_back(self) -> None:
        """Forget what was put since the last cut."""
        with self._lock:
            if self._con is not None and self._con.in_transaction:
                self._con.execute("ROLLBACK")

    def close(self) -> None:
        """Release the file; what was put since the last cut is forgotten, all of it if some was damaged."""
        self.roll_back()
        with self._lock:
            con, self._con = self._con, None
            if con is not None:
                con.close()
        if self._is_damaged and self._path is not None:
            remove(self._path)

    def _put_packed(self, place: int, name: str, facts: bytes, packed: bytes) -> None:
        with self._writing() as con:
            con.execute(_PUT_SITE, (place, name, facts, _crc_of_site(place, name, facts, 0)))
            con.execute(_PUT_STATE, (place, packed, _crc(b"%d" % place, packed)))
            con.execute("DELETE FROM changes WHERE place = ?", (place,))
        failpoints.reached("site.put")

    def _add_packed(self, place: int, name: str, facts: bytes, parts: Sequence[bytes]) -> None:
        with self._writing() as con:
            (number,) = con.execute("SELECT count(*) FROM changes WHERE place = ?", (place,)).fetchone()
            for n, packed in enumerate(parts, number):
                con.execute(_ADD_CHANGE, (place, n, packed, _crc(b"%d %d" % (place, n), packed)))
            crc = _crc_of_site(place, name, facts, number + len(parts))
            con.execute(_PUT_SITE, (place, name, facts, crc))
        failpoints.reached("site.changed")

    def _check_not_lost(self) -> None:
        if self.is_lost:
            raise SiteLost(f"{self._path}: a site that was evicted is lost; its crawl is opened again")

    def _connection(self) -> sqlite3.Connection:
        if self._con is None:
            self._con = self._connected()
        return self._con

    def _connected(self) -> sqlite3.Connection:
        if self._path is not None and not self._path.exists():
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL, PRIVATE))
        con = sqlite3.connect(self._path or ":memory:", isolation_level=None, check_same_thread=False)
        try:
            con.executescript(_SETUP)
            # A file that a crash left half-made holds nothing yet.
            if not con.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                con.executescript(_TABLES)
            con.executescript(_CHANGES)
        except sqlite3.Error:
            con.close()
            raise
        return con

    def _check_format(self) -> None:
        con = self._connection()
        found = [con.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        if found[0] != _APPLICATION or found[1] not in SNAPSHOTS_READ:
            raise CorruptState(f"{self._path}: not of format {SITES.number}")

    @contextmanager
    def _losing(self) -> Iterator[None]:
        """Read what is of a site; if that fails, the crawl is lost and opened again from its log."""
        self._check_not_lost()
        try:
            with self._reading("site"), self._lock:
                yield
        except (CorruptState, zstandard.ZstdError, OSError) as exc:
            self.is_lost, self._is_damaged = True, not isinstance(exc, OSError)
            raise SiteLost(f"{exc}; the crawl is opened again from its log") from exc

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, zstandard.ZstdError, TypeError, ValueError, AttributeError) as exc:
            if number := _PASSING.get(_code_of(exc)):
                raise OSError(number, f"{self._path}: {exc}") from exc
            raise CorruptState(f"{self._path}: {what}: {exc}") from exc

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection, a transaction begun; what fails takes nothing with it, or loses the crawl."""
        with self._lock:
            try:
                con = self._connection()
                began = con.in_transaction
                if not began:
                    con.execute("BEGIN")
                yield con
            except sqlite3.Error as exc:
                # SQLite may have taken back all that was evicted since the last cut.
                self.is_lost |= self._con is None or (began and not self._con.in_transaction)
                raise OSError(_PASSING.get(_code_of(exc), errno.EIO), f"{self._path}: {exc}") from exc


def remove(path: Path) -> None:
    """Remove a file of states with what SQLite keeps beside it."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(name).unlink(missing_ok=True)


@contextmanager
def reading_copy(path: Path) -> Iterator[SiteStates]:
    """Give a file of states to look at: a copy, for opening one after a crash changes its files.

    Raises
    ------
    CorruptState
        If it is damaged or of another format.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name in (path.name, f"{path.name}-wal"):
            if path.with_name(name).exists():
                shutil.copyfile(path.with_name(name), Path(folder) / name)
        states = SiteStates(Path(folder) / path.name)
        try:
            yield states
        finally:
            states.close()


def _code_of(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _crc_of_site(place: int, name: str, facts: bytes, changes: int) -> int:
    """Return the checksum of a row of sites, which says how many parts of changes there must be."""
    return _crc(b"%d" % place, name.encode(), facts, b"%d" % changes if changes else b"")


def _crc(*parts: bytes) -> int:
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    return crc
