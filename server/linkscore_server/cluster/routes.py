"""The table of who has which slot: a compacted topic, in which the newest word about a slot counts."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from linkscore_server import tasks

_KEY = b"owner"  # one key a partition: compaction keeps the newest record of each
_POLL_S = 0.1  # between two looks whether to stop; what is written is heard at once
_log = logging.getLogger(__name__)


class Records(Protocol):
    """What appends records; see `storage.kafka.brokers`."""

    def append(self, topic: str, partition: int, key: bytes | None, value: bytes) -> int:
        """Append a record and return its offset."""


@dataclass(frozen=True, slots=True)
class Route:
    """Who has a slot.

    Attributes
    ----------
    address
        Where the process is reached by the others.
    epoch
        Offset of the record that says so: the highest one counts.
    """

    address: str
    epoch: int


class RouteTable:
    """Who has which slot, as the topic says; read by a thread of its own.

    Parameters
    ----------
    properties
        Of a client of the brokers.
    records
        Writes to the topic.
    topic, slots
        The topic, and how many partitions it has.
    heard
        Called by the thread with each route that it read: a slot, and who has it.
    read
        Called by the thread once, when all that was in the topic at the start is read.
    """

    def __init__(
        self,
        properties: Mapping[str, Any],
        records: Records,
        topic: str,
        slots: int,
        *,
        heard: Callable[[int, Route], None],
        read: Callable[[], None],
    ) -> None:
        self._records = records
        self._topic = topic
        self._slots = slots
        self._heard = heard
        self._read = read
        self._closing = threading.Event()
        self._consumer = Consumer(
            {
                **properties,
                "group.id": "linkscore-reads",  # asked for, and not used
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 100,
            },
            logger=_log,
        )
        self._thread = tasks.thread(self._run, "linkscore-routes")

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def publish(self, slot: int, address: str) -> Route:
        """Say who has a slot; blocks. Raises `LogAway` if that is not known to be there."""
        return Route(address, self._records.append(self._topic, slot, _KEY, address.encode()))

    def close(self) -> None:
        """Stop reading; blocks."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        unread = set(range(self._slots))
        self._consumer.assign([TopicPartition(self._topic, slot, OFFSET_BEGINNING) for slot in unread])
        try:
            while not self._closing.is_set():
                message = self._consumer.poll(_POLL_S)
                if message is None:
                    continue
                slot, error = message.partition(), message.error()
                if error is None and slot is not None:
                    self._heard(slot, Route(bytes(message.value() or b"").decode(), message.offset() or 0))
                elif error is not None and error.code() == KafkaError._PARTITION_EOF:
                    is_last = unread == {slot}
                    unread.discard(slot if slot is not None else -1)
                    if is_last:
                        self._read()
                elif error is not None:
                    _log.warning("table of routes: %s", error.str())
        finally:
            self._consumer.close()
