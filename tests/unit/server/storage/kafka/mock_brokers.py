"""Brokers within the test process: librdkafka's own mock cluster, up in a moment, kept in memory."""

from __future__ import annotations

from confluent_kafka import Producer

PARTITIONS = 4
"""Partitions of each topic that the mock brokers make when somebody asks for it."""


class MockBrokers:
    """Three brokers that keep records and answer producers and consumers; they know no administration."""

    def __init__(self) -> None:
        self._cluster = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 3})
        brokers = self._cluster.list_topics(timeout=10).brokers.values()
        self.hosts = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)

    def make(self, topic: str) -> str:
        """Make a topic and return its name."""
        self._cluster.list_topics(topic, timeout=10)
        return topic
