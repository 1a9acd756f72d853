"""Where snapshots of logs on brokers are: in a topic beside the log, unless an annex keeps them elsewhere.

Such an annex is an entry point of the group `settings.SNAPSHOTS`: a function that is given the settings of a
server and returns a `SnapshotPlace`, or None if they do not ask for it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, Protocol

import msgpack
import zstandard
from prometheus_client.registry import Collector

from linkscore_server.storage.kafka.records import LogState, Record


class Partitions(Protocol):
    """What keeps records; see `brokers.Brokers`."""

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> Future[int]:
        """Append a record; its offset comes when it is replicated."""

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[Record]:
        """Yield the records of some offsets."""

    def end(self, topic: str, partition: int) -> int:
        """Return the offset that the next record gets at least."""


class Version(NamedTuple):
    """Of a checkpoint: epoch of its owner, and number of the last event in it. The highest is the newest."""

    epoch: int
    seq: int


class Stored(NamedTuple):
    """Where a part of a site is: the version of the checkpoint it was written for, in so many pieces."""

    version: Version
    pieces: int


class Part(NamedTuple):
    """Of a site, to be written: its state, or what is added to the parts that are there."""

    place: int
    body: bytes
    is_added: bool = False


class Cut(NamedTuple):
    """The sites after one event, as a checkpoint is written of them.

    Attributes
    ----------
    seq
        Number of that event.
    core
        What is kept beside the sites.
    changed
        A part of each site that changed since the checkpoint before, by place.
    whole
        Gives the one part of a site of the newest checkpoint, whose parts may lie better anew.
    """

    seq: int
    core: bytes
    changed: Iterable[Part]
    whole: Callable[[int], Part]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A whole checkpoint: what it keeps beside the sites, and where the parts of each are, by place."""

    version: Version
    core: bytes
    sites: list[tuple[Stored, ...]]

    def pack(self) -> bytes:
        """Return the body of its record; a site of one part is its number, as before there were several."""
        numbers = {stored: n for n, stored in enumerate(dict.fromkeys(chain.from_iterable(self.sites)))}
        kinds = [[*stored.version, stored.pieces] for stored in numbers]
        sites = [[numbers[part] for part in site] for site in self.sites]
        body: bytes = msgpack.packb([self.core, kinds, [one[0] if len(one) == 1 else one for one in sites]])
        return zstandard.compress(body)

    @classmethod
    def unpacked(cls, version: Version, body: bytes) -> Checkpoint:
        """Return the checkpoint of a body; checksums were compared before."""
        core, kinds, sites = msgpack.unpackb(zstandard.decompress(body))
        stored = [Stored(Version(epoch, seq), pieces) for epoch, seq, pieces in kinds]
        parts = [[numbers] if isinstance(numbers, int) else numbers for numbers in sites]
        return cls(version, core, [tuple(stored[n] for n in numbers) for numbers in parts])


class Checkpoints(ABC):
    """The checkpoints of one log. Calls block."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Where they are, for people."""

    @abstractmethod
    def whole(self) -> Iterator[Checkpoint]:
        """Yield the whole checkpoints that count, the newest first; why another one does not is logged.

        Raises
        ------
        LogAway
            If what keeps them does not answer.
        """

    @abstractmethod
    def states(self, checkpoint: Checkpoint) -> Iterator[tuple[int, bytes]]:
        """Yield place and body of each part of a checkpoint that `whole` gave; those of a site in order.

        Raises
        ------
        CorruptState
            If one is gone or damaged since.
        LogAway
            If what keeps them does not answer.
        """

    @abstractmethod
    def go_on_from(self, checkpoint: Checkpoint | None) -> bool:
        """Let the next checkpoint be what changed since one of these; what is not of it is deleted then.

        Says whether it does: if not, the next one has to have all sites.
        """

    @abstractmethod
    def forget(self) -> None:
        """Let the next checkpoint hold all sites anew."""

    @abstractmethod
    def parts(self, place: int) -> int:
        """Return how many parts of a site the newest checkpoint has; 0 if it has not that site."""

    @abstractmethod
    def write(self, cut: Cut, is_owner: Callable[[], bool]) -> Generator[None, None, Version]:
        """Write a checkpoint and return its version; yields whenever it waits.

        Parameters
        ----------
        cut
            What is in it.
        is_owner
            Says whether the log is still this process's: else its new owner may need what would be deleted.

        Raises
        ------
        OSError
            If something is not known to be written: the checkpoint does not count.
        """


class SnapshotPlace(ABC):
    """Keeps the checkpoints of all logs of a server."""

    @abstractmethod
    def of(self, partitions: Partitions, topic: str, partition: int, log: LogState) -> Checkpoints:
        """Return the checkpoints of a log as its new owner has read it.

        Parameters
        ----------
        partitions
            Keeps records.
        topic, partition
            A compacted topic of snapshots, with a partition a log.
        log
            The log.
        """

    @abstractmethod
    def delete(self, topic: str, partition: int | None = None) -> None:
        """Delete what is kept beside a partition, or beside all of a topic; a failure is logged."""

    @abstractmethod
    def collectors(self) -> list[Collector]:
        """Return what counts for the metrics."""

    @abstractmethod
    def close(self) -> None:
        """Let go of everything."""
