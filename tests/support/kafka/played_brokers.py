"""Brokers in memory whose topics are made and deleted, and where a process may end at every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from linkscore_server.storage.base import LogAway
from linkscore_server.storage.kafka.brokers import Brokers
from linkscore_server.storage.kafka.records import Record
from linkscore_server.storage.kafka.topics import Topics

REPLICAS = 3


class PlayedCluster:
    """What is kept, and what is done to whoever asks.

    Attributes
    ----------
    topics
        The records of each partition, by topic.
    members
        Servers that share the slots.
    step
        Is called before and after each change, with what it is: raises what is to befall the process.
    """

    def __init__(self) -> None:
        self.topics: dict[str, list[list[Record]]] = {}
        self.members = 0
        self.step: Callable[[str], None] = lambda what: None


class PlayedBrokers(Brokers):
    """A client of it."""

    def __init__(self, cluster: PlayedCluster) -> None:
        self._cluster = cluster

    @property
    def properties(self) -> dict[str, Any]:
        return {}

    def append(self, topic: str, partition: int, key: bytes | None, value: bytes) -> int:
        self._cluster.step(f"append to {topic} [{partition}]")
        records = self._records(topic, partition)
        records.append(Record(len(records), key, value))
        self._cluster.step(f"appended to {topic} [{partition}]")
        return records[-1].offset

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[Record]:
        yield from self._records(topic, partition)[start:end]

    def begin(self, topic: str, partition: int) -> int:
        return 0

    def end(self, topic: str, partition: int) -> int:
        return len(self._records(topic, partition))

    def close(self) -> None:
        """Nothing is held."""

    def _records(self, topic: str, partition: int) -> list[Record]:
        if topic not in self._cluster.topics:
            raise LogAway(f"{topic} [{partition}]: no such topic")
        return self._cluster.topics[topic][partition]


class PlayedTopics(Topics):
    """The topics of it."""

    def __init__(self, cluster: PlayedCluster) -> None:
        super().__init__(None, "p", REPLICAS, lambda topic: 0)  # type: ignore[arg-type]
        self._cluster = cluster

    def make(self, topic: str, partitions: int, **settings: str) -> None:
        self._cluster.step(f"make {topic}")
        there = self._cluster.topics.setdefault(topic, [[] for _ in range(partitions)])
        self._cluster.step(f"made {topic}")
        if len(there) != partitions:
            raise LogAway(f"topic {topic} was not made")

    def check(self, topic: str) -> None:
        """Nothing is wrong."""

    def delete(self, topic: str) -> None:
        self._cluster.step(f"delete {topic}")
        self._cluster.topics.pop(topic, None)
        self._cluster.step(f"deleted {topic}")

    def members_of_cluster(self) -> int:
        return self._cluster.members

    def _listed(self, *topic: str) -> dict[str, int]:
        return {
            name: len(found) for name, found in self._cluster.topics.items() if not topic or name in topic
        }
