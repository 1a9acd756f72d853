"""Brokers within the test process: librdkafka's own mock cluster, up in a moment, kept in memory."""

from __future__ import annotations

from confluent_kafka import Producer

from linkscore_scoring.engine.groups import Shard, shards_of
from linkscore_scoring.errors import CorruptState

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


class MockTopics:
    """Topics of mock brokers, which know no administration: all have four partitions and stay."""

    secret = "ticket-key"

    def __init__(self, mock: MockBrokers) -> None:
        self.mock = mock
        self.made: list[str] = []
        self.checked: list[str] = []
        self.kept_s: dict[str, float] = {}
        self.wrong: set[str] = set()

    def log_of(self, crawl: str) -> str:
        return f"log.{crawl}"

    def states_of(self, crawl: str) -> str:
        return f"states.{crawl}"

    def draft_of(self, crawl: str) -> str:
        return f"draft.{crawl}"

    def visits_of(self, crawl: str) -> str:
        return f"visits.{crawl}"

    def shards(self) -> list[Shard]:
        crawls = [topic.removeprefix("log.") for topic in self.made if topic.startswith("log.")]
        return [shard for crawl in crawls for shard in shards_of(crawl, PARTITIONS)]

    def partitions(self, topic: str) -> int:
        return PARTITIONS if topic in self.made and topic != self.secret else int(topic in self.made)

    def groups(self, crawl: str) -> int:
        return self.partitions(self.log_of(crawl))

    def make(self, topic: str, partitions: int) -> None:
        self.made.append(self.mock.make(topic))

    def make_kept(self, topic: str, partitions: int, keep_s: float) -> None:
        self.kept_s[topic] = keep_s
        if topic not in self.made:
            self.make(topic, partitions)

    def check(self, topic: str) -> None:
        self.checked.append(topic)
        if topic in self.wrong:
            raise CorruptState(f"topic {topic}: retention.ms is 1, must be -1")

    def delete(self, topic: str) -> None:
        if topic in self.made:
            self.made.remove(topic)
