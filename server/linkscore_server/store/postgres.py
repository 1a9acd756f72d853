"""The store in PostgreSQL, with a standby or not, behind session pooling or none."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from linkscore_server.store.base import Fenced, Statements, StoreAway

try:
    import psycopg
    from psycopg import conninfo, errors
except ImportError as exc:
    raise ImportError(
        f"crawls in PostgreSQL need the extra: pip install 'linkscore[postgres]' ({exc})"
    ) from exc

_CONNECT_S = 5  # longest wait for a connection, half of that for a statement; chosen, not measured
_STATEMENT_S = 10
"""Longest statement: so that one is noticed that is stuck, as for a standby which is gone. Chosen."""
_READERS = 4
"""Connections that are kept for reading; more are made while more read. Chosen, not measured."""
_SETTINGS = (
    f"SET statement_timeout = {_STATEMENT_S * 1000}",
    "SET synchronous_commit = on",
    "SET client_min_messages = warning",
)


class PostgresEngine:
    """A database of PostgreSQL, see `Engine`.

    `dsn`: where it is: ``postgresql://user@host/database``, as libpq takes it.
    """

    blob = "BYTEA"
    is_shared = True
    setup: tuple[str, ...] = (
        "ALTER TABLE event ALTER COLUMN body SET STORAGE EXTERNAL",
        "ALTER TABLE site ALTER COLUMN state SET STORAGE EXTERNAL",
    )

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        known = conninfo.conninfo_to_dict(dsn)
        self.place = f"postgresql://{known.get('host', '')}/{known.get('dbname', '')}"
        self._idle: list[psycopg.Connection[Any]] = []
        self._lock = threading.Lock()

    def session(self) -> PostgresSession:
        """See `Engine`."""
        return PostgresSession(self.place, self._connected())

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """See `Engine`; a connection that was ended while it lay idle is made anew."""
        with self._lock:
            con = self._idle.pop() if self._idle else None
        if con is not None:
            with suppress(StoreAway):
                return self._rows(con, sql, values)
        return self._rows(self._connected(), sql, values)

    def _rows(self, con: psycopg.Connection[Any], sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            with translated(self.place):
                found = con.cursor(binary=True).execute(_text(sql), values).fetchall()
        except BaseException:
            con.close()
            raise
        with self._lock:
            if len(self._idle) < _READERS:
                self._idle.append(con)
                return found
        con.close()
        return found

    def space(self) -> None:
        """See `Engine`: its disk is not here."""

    def problems(self) -> list[str]:
        """See `Engine`: PostgreSQL has checksums of its own, and `pg_amcheck`."""
        return []

    def close(self) -> None:
        """See `Engine`."""
        with self._lock:
            closing, self._idle = self._idle, []
        for con in closing:
            con.close()

    def _connected(self) -> psycopg.Connection[Any]:
        with translated(self.place):
            con = psycopg.connect(
                self._dsn, autocommit=True, connect_timeout=_CONNECT_S, application_name="linkscore"
            )
            for setting in _SETTINGS:
                con.execute(setting)
            return con


class PostgresSession:
    """The connection that writes, see `Session`: it holds the locks of its process too."""

    def __init__(self, place: str, con: psycopg.Connection[Any]) -> None:
        self._place, self._con = place, con
        self._warning = ""
        con.add_notice_handler(self._noticed)

    def commit(self, statements: Statements) -> None:
        """See `Session`.

        PostgreSQL answers COMMIT, with a warning, also where the wait for a standby was given up: what is
        written may be lost with the primary then, and is not acknowledged.
        """
        self._warning = ""
        with translated(self._place):
            try:
                with self._con.pipeline(), self._con.transaction(), self._con.cursor() as cursor:
                    for sql, rows in statements:
                        cursor.executemany(_text(sql), rows)
            except (errors.IntegrityError, errors.DiskFull):
                # What the pipeline was to prepare after the error it did not, and psycopg believes it did.
                self._con.execute("DEALLOCATE ALL")
                raise
        if self._warning:
            raise StoreAway(f"{self._place}: {self._warning}")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """See `Session`."""
        with translated(self._place):
            return self._con.cursor(binary=True).execute(_text(sql), values).fetchall()

    def interrupt(self) -> None:
        """End what the thread of the connection waits for, from another thread: cut its socket."""
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(self._con.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """See `Session`."""
        self._con.close()

    def _noticed(self, notice: errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self._warning = f"{notice.message_primary}; {notice.message_detail or ''}"


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn errors of psycopg into those of the store.

    Raises Fenced if a key was there, or the shard is erased; OSError if the disk of the database is full, or
    it refuses a statement; StoreAway if the connection is lost, or too slow.
    """
    try:
        yield
    except (errors.UniqueViolation, errors.NotNullViolation) as exc:
        raise Fenced(f"{place}: another process wrote or erased it: {_line(exc)}") from exc
    except errors.DiskFull as exc:
        raise OSError(errno.ENOSPC, f"{place}: {_line(exc)}") from exc
    except (psycopg.OperationalError, psycopg.InternalError, psycopg.InterfaceError) as exc:
        raise StoreAway(f"{place}: {_line(exc)}") from exc
    except psycopg.Error as exc:
        raise OSError(errno.EIO, f"{place}: {_line(exc)}") from exc


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0]


@lru_cache
def _text(sql: str) -> str:
    """Return SQL as psycopg takes it."""
    return sql.replace("%", "%%").replace("?", "%s")
