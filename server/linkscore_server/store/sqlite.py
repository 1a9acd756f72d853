"""The store in one file of SQLite, or in memory; synchronous: what a commit returned from is on the disk."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from linkscore_scoring.errors import CorruptState
from linkscore_server.data_folder import PRIVATE, ensure_folder, sync
from linkscore_server.store.base import Engine, Fenced, Session, Statements

_PAGE_BYTES = 4096  # of a page of the file: SQLite's own default since 3.12
_WAL_BYTES = 16 << 20  # what stays of the file of commits once it was copied into the database; chosen
_CACHE_KB = 4096
"""Pages that SQLite keeps a connection: an event is written once and read hardly ever. Chosen."""
_SETTINGS = f"""
PRAGMA page_size = {_PAGE_BYTES}; PRAGMA cache_size = -{_CACHE_KB};
PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA journal_size_limit = {_WAL_BYTES};
"""
_BUSY_S = 5.0
"""Longest wait for another process that writes to the file, as a backup's end does. Chosen."""
_RESERVE_BYTES = 64 << 10
"""What opening a database takes on a full disk: an index of the WAL of 32 KiB, and as much again for what
comes later. Measured: without, `CANTOPEN` or `FULL` at the first statement."""
_CODES = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_NOMEM: errno.ENOMEM,
    sqlite3.SQLITE_CANTOPEN: errno.EMFILE,
    sqlite3.SQLITE_BUSY: errno.EAGAIN,
    sqlite3.SQLITE_LOCKED: errno.EAGAIN,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_PERM: errno.EACCES,
}
"""Errors of SQLite that say nothing of what is in the file, and the system's number of each."""
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class SqliteEngine(Engine):
    """A file of SQLite in WAL mode; without a path in memory. `place`: its name for people."""

    def __init__(self, path: Path | None, place: str = "") -> None:
        self._path = path
        super().__init__(place or str(path or "memory"))
        self.only: sqlite3.Connection | None = None  # in memory, where a second one would see nothing
        if path is None:
            self.only = self._connected()
            return
        ensure_folder(path.parent)
        if not path.exists():
            os.close(os.open(path, os.O_CREAT, PRIVATE))
            sync(path.parent)
        self._open_first(path.with_name("reserve"))

    def session(self) -> _SqliteSession:
        return _SqliteSession(self, self.only or self._connected())

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if self.only is None:
            return super().rows(sql, values)
        with self.shared():
            return self.asked(self.only, sql, values)

    def shared(self) -> AbstractContextManager[Any]:
        """Return what keeps others from the connection meanwhile, if there is only one."""
        return self._lock if self.only is not None else nullcontext()

    def asked(self, con: sqlite3.Connection, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with translated(self.place):
            return con.execute(sql, values).fetchall()

    def space(self) -> tuple[int, int] | None:
        if self._path is None:
            return None
        try:
            disk = os.statvfs(self._path.parent)
        except OSError:  # its folder is gone: who writes hears it
            return None
        return disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize

    def problems(self) -> list[str]:
        try:
            found = [str(row[0]) for row in self.rows("PRAGMA integrity_check(20)")]
        except CorruptState as exc:
            return [str(exc)]
        return [] if found == ["ok"] else [f"{self.place}: {line}" for line in found]

    def copy_to(self, target: Path) -> None:
        """Write all of the last commit into a new file; FileExistsError if there is one."""
        os.close(os.open(target, os.O_CREAT | os.O_EXCL, PRIVATE))  # ours from here on, and empty
        try:
            self.rows("VACUUM INTO ?", (str(target),))
            with target.open("rb") as file:
                os.fsync(file.fileno())
        except BaseException:
            target.unlink()
            raise

    def close(self) -> None:
        super().close()
        if self.only is not None:
            self.only.close()

    def _open_first(self, reserve: Path) -> None:
        """Open the file once; on a full disk by what is kept for that."""
        first = "SELECT count(*) FROM sqlite_master"
        try:
            self.rows(first)
        except OSError:
            if not reserve.exists():
                raise
            reserve.unlink()
            self.rows(first)
        if not reserve.exists():
            with suppress(OSError):  # the next start tries again
                _fill(reserve)

    def _connected(self) -> sqlite3.Connection:
        with translated(self.place):
            con = sqlite3.connect(
                self._path or ":memory:", timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
            try:
                con.executescript(_SETTINGS)
            except BaseException:
                con.close()
                raise
            return con


class _SqliteSession(Session):
    """The connection that writes, see `Session`; in memory others read by it too."""

    _engine: SqliteEngine

    def commit(self, statements: Statements) -> None:
        with self._engine.shared(), translated(self._engine.place):
            self._con.execute("BEGIN IMMEDIATE")
            try:
                for sql, rows in statements:
                    self._con.executemany(sql, rows)
                self._con.execute("COMMIT")
            except BaseException:
                if self._con.in_transaction:  # a full disk may have ended it
                    self._con.execute("ROLLBACK")
                raise

    def close(self) -> None:
        if self._con is not self._engine.only:
            super().close()


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn errors of SQLite into those of the store: Fenced, CorruptState, or OSError with its number."""
    try:
        yield
    except sqlite3.IntegrityError as exc:
        raise Fenced(f"{place}: another process wrote or erased it: {exc}") from exc
    except sqlite3.Error as exc:
        whole = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_IOERR)
        if whole == sqlite3.SQLITE_IOERR_WRITE:  # of a quota too, which SQLite does not tell from a fault
            raise OSError(errno.EDQUOT, f"{place}: {exc}") from exc
        code = whole & 0xFF
        is_no_text = "Could not decode" in str(exc)  # which sqlite3 says, without a number
        if code in _DAMAGE or is_no_text:
            raise CorruptState(f"{place}: {exc}") from exc
        raise OSError(_CODES.get(code, errno.EIO), f"{place}: {exc}") from exc


def _fill(reserve: Path) -> None:
    """Take room on the disk: with bytes that no file system leaves out."""
    fd = os.open(reserve, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE)
    try:
        if os.write(fd, os.urandom(_RESERVE_BYTES)) < _RESERVE_BYTES:
            raise OSError(errno.ENOSPC, f"{reserve}: no room for the reserve")
        os.fsync(fd)
    except OSError:
        reserve.unlink()
        raise
    finally:
        os.close(fd)
