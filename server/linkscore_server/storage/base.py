"""What a store is. All calls block; the server makes them in a thread."""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from prometheus_client.registry import Collector

from linkscore_scoring.engine.groups import Shard
from linkscore_server.storage.sites import SiteStates

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """State of a crawl after event `seq`, as bytes."""

    seq: int
    state: bytes


class LogAway(OSError):
    """A log cannot be written to or read now: another process has taken it over, or what keeps it is away.

    What was to be appended may be in the log or not; whoever wants to go on opens the log again.
    """

    def __init__(self, message: str) -> None:
        super().__init__(errno.EAGAIN, message)

    def __str__(self) -> str:
        """Return the message alone: the number says nothing to people."""
        return str(self.strerror)


class CrawlLog(ABC):
    """The events of one crawl, numbered 1, 2, ... without gaps, and its newest snapshot.

    Attributes
    ----------
    last_seq
        Number of the last event.
    states
        The newest snapshot, and the sites that were evicted since.
    needs_whole_snapshots
        Whether `save` is to be given the whole crawl at each snapshot too, for what both hold is cut.
    is_away
        Whether nothing can be appended any more until the log is opened again.
    """

    last_seq: int = 0
    states: SiteStates
    needs_whole_snapshots: bool = False
    is_away: bool = False

    @abstractmethod
    def append(self, events: Sequence[bytes]) -> None:
        """Add events `last_seq + 1`, ...; on return they survive a crash. All of them are added, or none.

        Raises
        ------
        OSError
            If they could not be made durable (disk full, I/O error).
        LogAway
            If it is not known whether they are in the log, or another process writes to it: see `is_away`.
        """

    def confirm(self) -> None:  # noqa: B027 - most have one owner for good
        """Return if no other process has appended by now.

        Raises
        ------
        LogAway
            If another one may have.
        """

    @abstractmethod
    def read(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        """Yield (sequence number, event) of every event after number `after`.

        Raises
        ------
        CorruptState
            If a stored event is damaged, naming file and offset, or events after `after` were cut.
        """

    def place(self, seq: int) -> str:
        """Say where an event is stored, for people."""
        return f"event {seq}"

    @abstractmethod
    def save(self, snapshot: Snapshot) -> int:
        """Keep a snapshot instead of the one before; returns the bytes of the log that were cut for it."""

    @abstractmethod
    def snapshot(self) -> Snapshot | None:
        """Return the newest snapshot that is whole, None if there is none."""

    def check_trusted(self) -> Iterator[str]:
        """Check what was not read when the log was opened, because the snapshot knows it.

        Yields after each piece what is wrong with it, empty if nothing is; the crawl serves meanwhile, and
        goes on to: its snapshot is sound.
        """
        return iter(())

    @abstractmethod
    def close(self) -> None:
        """Release files; the log may be opened again."""


class Store(ABC):
    """The logs of all crawls with what annexes keep beside them, and the secret of their tickets.

    What is opened is a shard, by its key: the name of a crawl, or that of one group of its sites (`Shard`).

    Attributes
    ----------
    is_durable
        Whether a crawl that is closed can be opened again.
    appends_at_once
        How many logs are worth appending to at a time.
    opens_at_once
        How many logs are worth opening, and snapshots worth writing, at a time.
    """

    is_durable: bool = True
    appends_at_once: int = 2
    opens_at_once: int = 2

    @abstractmethod
    def shards(self) -> list[str]:
        """Return the keys of all shards, sorted; of a crawl of one group that is its name."""

    def crawls(self) -> list[str]:
        """Return the names of all crawls, sorted."""
        return sorted({Shard.of(key).crawl for key in self.shards()})

    @abstractmethod
    def open(self, shard: str) -> CrawlLog:
        """Open the log of a shard, made if it is new."""

    @abstractmethod
    def delete(self, crawl: str) -> None:
        """Erase a crawl at once, all groups, with what is beside its logs; none of that name is fine.

        Given the key of a shard, erase that.
        """

    def forget(self, shard: str) -> None:
        """Erase a log without events, which an unfinished creation left."""
        self.delete(shard)

    def disk_bytes(self, shard: str) -> int:
        """Return what the files of a shard take on the disk; 0 where there are none."""
        return 0

    def space(self) -> tuple[int, int] | None:
        """Return free and all bytes of the disk that events go to; None if they go to none here."""
        return None

    @abstractmethod
    def beside(self, shard: str, name: str, kept: Callable[[Path | None], T]) -> T:
        """Return what an annex keeps of a shard that exists; `delete` erases it too.

        Parameters
        ----------
        name
            Of the annex's folder beside the log, which need not be there yet.
        kept
            Makes what is returned from that folder; None: the store keeps nothing on a disk.
        """

    @abstractmethod
    def ticket_key(self) -> bytes:
        """Return the store's secret, 32 bytes, the same at every call and after a restart."""

    def collectors(self) -> Sequence[Collector]:
        """Return what counts beside the metrics of the server."""
        return ()

    def close(self) -> None:  # noqa: B027 - most have nothing to let go of
        """Let go of what the store has open; it must not be used any more."""
