"""What goes into the store and comes out of it, and what an engine has to do."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from linkscore_scoring.errors import LinkscoreError

_READERS = 4
"""Connections that are kept for reading; more are made while more read. Chosen, not measured."""


class StoreAway(LinkscoreError):
    """The store cannot be reached, or did not say whether it took what it was given: open the shard again."""


class Fenced(StoreAway):
    """Another process has appended to the shard, and has these sites now, or has erased it."""


class NewEvent(NamedTuple):
    """An event to be appended."""

    site: str  # the site that it is about; empty: all of them
    id: str  # what tells a repeat of it from a new one; empty: nothing does
    body: bytes  # what it says


class StoredEvent(NamedTuple):
    """An event of a shard: as it was appended, with its number; events of a shard count 1, 2, ..."""

    seq: int
    site: str
    id: str
    body: bytes


class SiteRow(NamedTuple):
    """A site as of event `seq`: the events after it with its name, or none, are what changed it since."""

    site: str  # its name
    seq: int  # number of the last event that its state knows; 0: no state was written yet
    facts: bytes  # what is asked of a site that is not in memory
    state: bytes  # all that is known of it


class SiteFacts(NamedTuple):
    """A site's row without its state, whose bytes as written are `size` many."""

    site: str
    seq: int
    facts: bytes
    size: int


class Core(NamedTuple):
    """What a shard knows beside its sites, as of event `seq`."""

    seq: int
    state: bytes


Rows = Sequence[tuple[Any, ...]]
Statements = Sequence[tuple[str, Rows]]
"""SQL with `?` for values, and the rows of values that it is executed with."""


class Session:
    """A connection that writes. Its calls block; one thread uses it."""

    def __init__(self, engine: Engine, con: Any) -> None:
        self._engine, self._con = engine, con

    def commit(self, statements: Statements) -> None:
        """Execute statements in one transaction; on return it survives a crash.

        Raises Fenced if a key is there already: nothing is written; OSError if there is no room, or the disk
        failed: nothing is written; StoreAway if it is not known whether it is written.
        """
        raise NotImplementedError

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._engine.asked(self._con, sql, values)

    def interrupt(self) -> None:
        """End what the thread waits for, from another one."""
        self._con.interrupt()

    def close(self) -> None:
        """Let go of the connection, and of the locks that it holds."""
        self._con.close()


class Engine:
    """A database, read by connections that are kept. Its calls block, from any thread.

    `blob`: its type of bytes. `setup`: statements that follow those of the tables. `is_shared`: whether other
    servers have shards in it.
    """

    blob = "BLOB"
    setup: tuple[str, ...] = ()
    is_shared = False

    def __init__(self, place: str) -> None:
        self.place = place
        self._idle: list[Any] = []
        self._lock = threading.Lock()

    def session(self) -> Session:
        """Return a connection that writes; OSError, StoreAway if there is none now."""
        raise NotImplementedError

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query; CorruptState if damaged, OSError, StoreAway if it cannot be read."""
        with self._lock:
            con = self._idle.pop() if self._idle else None
        if con is not None:
            with suppress(StoreAway):  # it was ended while it lay idle
                return self._found(con, sql, values)
        return self._found(self._connected(), sql, values)

    def _found(self, con: Any, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            found = self.asked(con, sql, values)
        except BaseException:
            con.close()
            raise
        with self._lock:
            if len(self._idle) < _READERS:
                self._idle.append(con)
                return found
        con.close()
        return found

    def asked(self, con: Any, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the rows of a query by a connection."""
        raise NotImplementedError

    def _connected(self) -> Any:
        raise NotImplementedError

    def space(self) -> tuple[int, int] | None:
        """Return free and all bytes of its disk; None if that is not here."""
        return None

    def problems(self) -> list[str]:
        """Return what the engine itself finds damaged."""
        return []

    def close(self) -> None:
        """Let go of all connections."""
        with self._lock:
            closing, self._idle = self._idle, []
        for con in closing:
            con.close()
