"""What goes into the store and comes out of it, and what an engine has to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from linkscore_scoring.errors import LinkscoreError


class StoreAway(LinkscoreError):
    """The store cannot be reached, or did not say whether it took what it was given: open the shard again."""


class Fenced(StoreAway):
    """Another process has appended to the shard, and has these sites now, or has erased it."""


class NewEvent(NamedTuple):
    """An event to be appended.

    Attributes
    ----------
    site
        The site that it is about; empty: all of them.
    id
        What tells a repeat of it from a new one; empty: nothing does.
    body
        What it says.
    """

    site: str
    id: str
    body: bytes


class StoredEvent(NamedTuple):
    """An event of a shard: as it was appended, with its number; events of a shard count 1, 2, ..."""

    seq: int
    site: str
    id: str
    body: bytes


class SiteRow(NamedTuple):
    """A site as of event `seq`: the events after it with its name, or none, are what changed it since.

    Attributes
    ----------
    site
        Its name.
    seq
        Number of the last event that its state knows; 0: no state was written yet.
    facts
        What is asked of a site that is not in memory.
    state
        All that is known of it.
    """

    site: str
    seq: int
    facts: bytes
    state: bytes


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


class Session(Protocol):
    """A connection that writes. Its calls block; one thread uses it."""

    def commit(self, statements: Statements) -> None:
        """Execute statements in one transaction; on return it survives a crash.

        Raises
        ------
        Fenced
            If a key is there already: nothing is written.
        OSError
            If there is no room, or the disk failed: nothing is written.
        StoreAway
            If it is not known whether it is written.
        """

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""

    def close(self) -> None:
        """Let go of the connection, and of the locks that it holds."""


class Engine(Protocol):
    """A database. Its calls block, from any thread.

    Attributes
    ----------
    place
        Where it is, for people; without a password.
    blob
        Its type of bytes.
    setup
        Statements that follow those of the tables.
    is_shared
        Whether other servers have shards in it, and this one only those that it is told.
    """

    place: str
    blob: str
    setup: tuple[str, ...]
    is_shared: bool

    def session(self) -> Session:
        """Return a connection that writes.

        Raises
        ------
        OSError, StoreAway
            If there is none now.
        """

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query, as of the last commit.

        Raises
        ------
        CorruptState
            If the database is damaged.
        OSError, StoreAway
            If it cannot be read now.
        """

    def space(self) -> tuple[int, int] | None:
        """Return free and all bytes of its disk; None if that is not here."""

    def problems(self) -> list[str]:
        """Return what the engine itself finds damaged."""

    def close(self) -> None:
        """Let go of all connections."""
