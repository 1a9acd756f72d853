"""The store in PostgreSQL, with a standby or not, behind session pooling or none."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from linkscore_server.store.base import Engine, Fenced, Session, Statements, StoreAway

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
_SETTINGS = (
    f"SET statement_timeout = {_STATEMENT_S * 1000}",
    "SET synchronous_commit = on",
    "SET client_min_messages = warning",
)


class PostgresEngine(Engine):
    """A database of PostgreSQL, at an address as libpq takes it, see `Engine`."""

    blob = "BYTEA"
    is_shared = True
    setup: tuple[str, ...] = (
        "ALTER TABLE event ALTER COLUMN body SET STORAGE EXTERNAL",
        "ALTER TABLE site ALTER COLUMN state SET STORAGE EXTERNAL",
    )

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        with translated("data_dir"):
            known = conninfo.conninfo_to_dict(dsn)
        super().__init__(f"postgresql://{known.get('host', '')}/{known.get('dbname', '')}")

    def session(self) -> PostgresSession:
        return PostgresSession(self, self._connected())

    def asked(self, con: psycopg.Connection[Any], sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with translated(self.place):
            return con.cursor(binary=True).execute(_text(sql), values).fetchall()

    def _connected(self) -> psycopg.Connection[Any]:
        with translated(self.place):
            con = psycopg.connect(
                self._dsn, autocommit=True, connect_timeout=_CONNECT_S, application_name="linkscore"
            )
            for setting in _SETTINGS:
                con.execute(setting)
            return con


class PostgresSession(Session):
    """The connection that writes, see `Session`: it holds the locks of its process too."""

    def __init__(self, engine: Engine, con: psycopg.Connection[Any]) -> None:
        super().__init__(engine, con)
        self._warning = ""
        con.add_notice_handler(self._noticed)

    def commit(self, statements: Statements) -> None:
        """See `Session`.

        PostgreSQL answers COMMIT, with a warning, also where the wait for a standby was given up: what is
        written may be lost with the primary then, and is not acknowledged.
        """
        self._warning = ""
        with translated(self._engine.place):
            try:
                with self._con.pipeline(), self._con.transaction(), self._con.cursor() as cursor:
                    for sql, rows in statements:
                        cursor.executemany(_text(sql), rows)
            except (errors.IntegrityError, errors.DiskFull):
                # What the pipeline was to prepare after the error it did not, and psycopg believes it did.
                self._con.execute("DEALLOCATE ALL")
                raise
        if self._warning:
            raise StoreAway(f"{self._engine.place}: {self._warning}")

    def interrupt(self) -> None:
        """End what the thread of the connection waits for, from another thread: cut its socket."""
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(self._con.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)

    def _noticed(self, notice: errors.Diagnostic) -> None:
        if notice.severity_nonlocalized == "WARNING":
            self._warning = f"{notice.message_primary}; {notice.message_detail or ''}"


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn errors of psycopg into those of the store: Fenced, OSError, or StoreAway."""
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
