"""The connection to a cluster of brokers: records appended and read, by offset."""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from linkscore_scoring.errors import CorruptState
from linkscore_server import tasks
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.kafka.records import Record

DELIVERY_S = 30.0
"""Longest wait until a record is replicated: longer than brokers take to choose another leader (9 s until a
broker counts as dead, and 1 s: Kafka's defaults). Chosen, not measured."""

REQUEST_S = 5.0
"""Longest wait for the answer to one request, which takes milliseconds: then it is sent again, to the leader
there is by then. Chosen, not measured."""

RECORD_BYTES = 64 << 20
"""Largest record: a group of events, compressed. A group is of some 15 MB at most in practice."""

_log = logging.getLogger(__name__)
_POLL_S = 0.1  # between two looks whether to stop; what is delivered is told at once
_BATCH = 500  # records taken from the client at a time

_SLACK = 1 << 20  # bytes around a record in a request
_COMMON: dict[str, Any] = {
    "allow.auto.create.topics": False,
    "topic.metadata.refresh.interval.ms": 10_000,
    "reconnect.backoff.max.ms": 1_000,
    "socket.connection.setup.timeout.ms": 5_000,
}
_PRODUCER: dict[str, Any] = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 0,  # a record is a group already
    "request.timeout.ms": int(REQUEST_S * 1e3),
    "socket.timeout.ms": int(REQUEST_S * 2e3),
    "message.timeout.ms": int(DELIVERY_S * 1e3),
    "retry.backoff.max.ms": 500,
}
_OTHER_TOPIC = (KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC)
"""What a producer says that has not heard that a topic was deleted and made again, with more partitions."""
_NEWS_S = 2.0
"""Longest wait until a broker hears of a new topic or leader. A bound: it takes moments."""
_NO_NEWS = (
    *_OTHER_TOPIC,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
)
"""What is said of a topic or leader by who has not heard of it yet."""
_OUT_OF_RANGE = (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE)
_CONSUMER: dict[str, Any] = {
    "group.id": "linkscore-reads",  # is asked for, and not used: partitions are assigned by hand
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "fetch.wait.max.ms": 100,
}


class HeadDeleted(CorruptState):
    """The first records of a partition were deleted: somebody changed its retention, or deleted them by hand.

    Attributes
    ----------
    first
        Offset of the first that is left.
    """

    def __init__(self, topic: str, partition: int, first: int) -> None:
        super().__init__(f"{topic} [{partition}]: what came before offset {first} was deleted by the brokers")
        self.first = first


class Brokers:
    """A cluster of brokers. From any thread; calls block.

    Parameters
    ----------
    hosts
        Of some of the brokers, ``host:port,host:port``.
    properties
        Of librdkafka, passed on as they are: TLS and SASL.
    record_bytes
        Largest record.
    """

    def __init__(
        self, hosts: str, properties: Mapping[str, str] | None = None, *, record_bytes: int = RECORD_BYTES
    ) -> None:
        self._properties: dict[str, Any] = {
            "bootstrap.servers": hosts,
            **(properties or {}),
            **_COMMON,
            "message.max.bytes": record_bytes,
            "receive.message.max.bytes": 2 * RECORD_BYTES,
        }
        self._fetch_bytes = record_bytes + _SLACK
        self._producer = self._new_producer()
        self._asking = self._consumer()  # kept: one for each question takes ten times as long
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread = tasks.thread(self._poll, "linkscore-kafka")
        self._thread.start()

    @property
    def properties(self) -> dict[str, Any]:
        """Properties of every client of the cluster."""
        return dict(self._properties)

    def append(self, topic: str, partition: int, key: bytes | None, value: bytes) -> int:
        """Append a record; returns its offset once all replicas in sync have it.

        Raises
        ------
        OSError
            If the record is too large: nothing was written.
        LogAway
            If it is not known whether it is there, or ever will be.
        """
        try:
            return self.send(topic, partition, key, value).result(2 * DELIVERY_S)
        except TimeoutError as exc:
            raise LogAway(f"{topic} [{partition}]: no answer within {2 * DELIVERY_S:g} s") from exc

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> Future[int]:
        """Append a record, a value of None deletes that of the key; its offset comes as of `append`.

        Raises
        ------
        OSError
            If the record is too large, or too many are on their way: nothing was written.
        LogAway
            If the client takes nothing more; the next call may succeed.
        """
        where, producer = f"{topic} [{partition}], {len(value or b'')} bytes", self._producer
        done: Future[int] = Future()

        def delivered(error: KafkaError | None, message: Any) -> None:
            if error is None:
                done.set_result(message.offset())
            else:
                done.set_exception(self._failed(where, error, producer))

        def produce() -> None:
            producer.produce(topic, value=value, key=key, partition=partition, on_delivery=delivered)

        try:
            try:
                produce()
            except KafkaException as exc:
                if exc.args[0].code() not in _OTHER_TOPIC:
                    raise
                producer.list_topics(topic, timeout=REQUEST_S)
                produce()
        except BufferError as exc:
            raise OSError(errno.ENOBUFS, f"{where}: {exc}") from exc
        except KafkaException as exc:
            raise self._failed(where, exc.args[0], producer) from exc
        return done

    def _failed(self, where: str, error: KafkaError, producer: Producer) -> OSError:
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return OSError(errno.EMSGSIZE, f"{where}: {error}")
        if error.fatal() or error.code() == KafkaError._FATAL:
            self._replace(producer)
        return LogAway(f"{where}: {error.str()}")

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[Record]:
        """Yield the records from offset `start` up to `end`, which is not read any more.

        Raises
        ------
        HeadDeleted
            If the first of them were deleted.
        LogAway
            If they cannot be read now.
        """
        if start >= end:
            return
        consumer = self._consumer()
        try:
            consumer.assign([TopicPartition(topic, partition, start)])
            deadline = time.monotonic() + DELIVERY_S
            while start < end:
                # Of a compacted topic there may be fewer than asked for: those are waited for no longer.
                messages = consumer.consume(min(_BATCH, end - start), _POLL_S)
                if messages:
                    deadline = time.monotonic() + DELIVERY_S
                elif time.monotonic() > deadline:
                    raise LogAway(f"{topic} [{partition}]: nothing read within {DELIVERY_S:g} s")
                for message in messages:
                    if (error := message.error()) is not None:
                        if error.retriable():
                            continue
                        if error.code() in _OUT_OF_RANGE and start < (first := self.begin(topic, partition)):
                            raise HeadDeleted(topic, partition, first)
                        raise LogAway(f"{topic} [{partition}]: {error.str()}")
                    if (at := message.offset()) is not None and start <= at < end:
                        arrived_s = message.timestamp()[1] / 1e3
                        yield Record(at, _bytes(message.key()), _bytes(message.value()) or b"", arrived_s)
                        start = at + 1
        except KafkaException as exc:
            raise LogAway(f"{topic} [{partition}]: {exc}") from exc
        finally:
            consumer.close()

    def begin(self, topic: str, partition: int) -> int:
        """Return the offset of the first record that was not deleted; errors as of `end`."""
        return self._span(topic, partition)[0]

    def end(self, topic: str, partition: int) -> int:
        """Return the offset that the next record gets at least.

        Raises
        ------
        LogAway
            If the brokers do not answer.
        """
        return self._span(topic, partition)[1]

    def _span(self, topic: str, partition: int) -> tuple[int, int]:
        deadline = time.monotonic() + _NEWS_S
        while True:
            try:
                # Who leads is asked too: a broker that was asked before and leads no more answers as of then.
                self._asking.list_topics(topic, timeout=REQUEST_S)
                asked = TopicPartition(topic, partition)
                found = self._asking.get_watermark_offsets(asked, timeout=DELIVERY_S)
                break
            except KafkaException as exc:
                if exc.args[0].code() not in _NO_NEWS or time.monotonic() > deadline:
                    raise LogAway(f"{topic} [{partition}]: {exc}") from exc
                time.sleep(_POLL_S)
        if found is None:
            raise LogAway(f"{topic} [{partition}]: no answer within {DELIVERY_S:g} s")
        return int(found[0]), int(found[1])

    def close(self) -> None:
        """Let go of the connections; what was appended is there."""
        self._closing.set()
        self._thread.join()
        self._asking.close()

    def _new_producer(self) -> Producer:
        return Producer({**self._properties, **_PRODUCER}, logger=_log)

    def _consumer(self) -> Consumer:
        own = {**_CONSUMER, "fetch.message.max.bytes": self._fetch_bytes}
        return Consumer({**self._properties, **own}, logger=_log)

    def _replace(self, broken: Producer) -> None:
        """Take a new producer for one that takes nothing more after a fatal error."""
        with self._lock:
            if self._producer is broken:
                self._producer = self._new_producer()

    def _poll(self) -> None:
        """Hear of what was delivered, and what clients log."""
        while not self._closing.is_set():
            with suppress(KafkaException):
                self._producer.poll(_POLL_S)
                self._asking.poll(0)


def _bytes(value: Any) -> bytes | None:
    return value if isinstance(value, bytes | None) else str(value).encode()
