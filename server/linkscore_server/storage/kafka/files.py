"""Files that go with a shard: records of a topic beside its log, which brokers delete after a time.

The key of a record is the identity of the log, a slash, and the name of the file; the value is the file. A
file is one record, so it is there as a whole or not at all.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import Protocol

from linkscore_server.storage.base import LogAway, SharedFile, SharedFiles
from linkscore_server.storage.kafka.brokers import DELIVERY_S
from linkscore_server.storage.kafka.records import Record

_PURPOSE = b"files beside the log "
"""What secrets are made for, so that they are no others made of the same key."""


class Partitions(Protocol):
    """What keeps records; see `brokers.Brokers`."""

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> Future[int]:
        """Append a record; its offset comes when it is replicated."""

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[Record]:
        """Yield the records of some offsets."""

    def begin(self, topic: str, partition: int) -> int:
        """Return the offset of the first record that was not deleted."""

    def end(self, topic: str, partition: int) -> int:
        """Return the offset that the next record gets at least."""


class FilesOnBrokers(SharedFiles):
    """Files beside the log of one shard.

    Parameters
    ----------
    partitions
        Keeps them.
    topic, partition
        Where.
    identity
        Of the log.
    key
        Gives the secret of the cluster, of which that of the shard is made; blocks.
    make
        Sees to it that the topic is there, and forgets in time.
    is_there
        Says whether the topic is there.
    """

    def __init__(
        self,
        partitions: Partitions,
        topic: str,
        partition: int,
        identity: str,
        *,
        key: Callable[[], bytes],
        make: Callable[[], None],
        is_there: Callable[[], bool],
    ) -> None:
        self._partitions = partitions
        self._topic, self._partition = topic, partition
        self.identity = identity
        self._key = key
        self._make = make
        self._is_there = is_there

    def secret(self) -> bytes:
        """See `SharedFiles.secret`: without the identity, which goes with the log, nobody can make it."""
        return hmac.digest(self._key(), _PURPOSE + self.identity.encode(), hashlib.sha256)

    def add(self, files: Iterable[tuple[str, bytes]]) -> None:
        """See `SharedFiles.add`."""
        self._make()
        sent = [
            self._partitions.send(self._topic, self._partition, f"{self.identity}/{name}".encode(), body)
            for name, body in files
        ]
        try:
            for offset in sent:
                offset.result(2 * DELIVERY_S)
        except TimeoutError as exc:
            where = f"{self._topic} [{self._partition}]"
            raise LogAway(f"{where}: no answer within {2 * DELIVERY_S:g} s") from exc

    def after(self, number: int) -> Iterator[SharedFile]:
        """See `SharedFiles.after`; a number that a topic made anew does not have is none."""
        if not self._is_there():
            return
        self._make()
        begin = self._partitions.begin(self._topic, self._partition)
        end = self._partitions.end(self._topic, self._partition)
        start = number if begin <= number <= end else begin
        for record in self._partitions.read(self._topic, self._partition, start, end):
            identity, _, name = (record.key or b"").decode(errors="replace").partition("/")
            if identity == self.identity:
                yield SharedFile(record.offset + 1, name, record.value, record.arrived_s)
