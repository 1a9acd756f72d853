"""What keeps the visits of a crawl: staged with a batch, published once the batch is in the crawl's log."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from linkscore_scoring.browse_logs.counts import BrowseCounts

SALT_BYTES = 32
"""Bytes of the secret of pseudonyms: as many as SHA-256 has, so that it cannot be guessed."""


@dataclass(frozen=True, slots=True)
class SiteSpan:
    """The visits of a site: first and last day (days since 1970-01-01 UTC), and how many there are."""

    first_day: int
    last_day: int
    visits: int


@dataclass(frozen=True, slots=True)
class VisitQuery:
    """Which visits to count, see `tables.counts_of`; without a site those of all."""

    site: str
    first_day: int
    n_days: int
    max_pages_a_day: int


class VisitReader(ABC):
    """Counts visits; may be sent to another process."""

    @abstractmethod
    def counts(self, query: VisitQuery, *, memory_mb: int) -> BrowseCounts:
        """Count the published visits of a site within a window."""


class VisitStore(VisitReader):
    """Visits of one crawl by day. All calls block, and of those that write one runs at a time.

    The columns of a visit are those of `visits`. There may be several of one client, page and day, from
    several batches; readers take the first.
    """

    @abstractmethod
    def salt(self) -> bytes:
        """Return the secret of the crawl's pseudonyms, the same at every call and after a restart."""

    @abstractmethod
    def stage(self, batch_id: str, con: duckdb.DuckDBPyConnection) -> dict[int, int]:
        """Make the table `visits` of a connection durable, unseen by readers; returns visits by day.

        Raises
        ------
        OSError
            If it could not be made durable.
        """

    @abstractmethod
    def publish(self, batch_id: str) -> None:
        """Show readers what is staged of a batch; nothing staged is fine."""

    @abstractmethod
    def recover(self, imported: Collection[str]) -> None:
        """Publish what is staged of the batches named, drop what is staged of others: the end of a crash."""

    @abstractmethod
    def reader(self) -> VisitReader:
        """Return what another process can count with."""

    @abstractmethod
    def days(self) -> Mapping[int, int]:
        """Return bytes by day, in order."""

    @abstractmethod
    def spans(self) -> dict[str, SiteSpan]:
        """Return the span of each site; reads the visits, some 10 million a second."""

    @abstractmethod
    def verify(self) -> list[str]:
        """Read all that is published and say what is damaged, one line a file, naming it."""

    @abstractmethod
    def expire(self, arrived_before_s: float) -> list[int]:
        """Delete the days whose last visits arrived before a time (epoch seconds); returns them."""


def token_of(batch_id: str) -> str:
    """Return the name under which a batch is stored, whatever characters its id has."""
    return hashlib.sha256(batch_id.encode()).hexdigest()[:32]
