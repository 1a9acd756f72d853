"""A server without `peers_listen` over the topics of a cluster: refused at its start, or gives way later."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import InvalidInput
from linkscore_server.cluster import lone as room
from linkscore_server.cluster.lone import LoneDirectory
from linkscore_server.cluster.settings import ClusterSettings
from linkscore_server.directories import Directory, directory_of
from linkscore_server.routing.directory import GroupDirectory
from linkscore_server.storage.base import LogAway


class FakeTopics:
    """Topics that so many servers of a cluster share."""

    members = 0
    asked = 0

    def members_of_cluster(self) -> int:
        self.asked += 1
        return self.members


@pytest.fixture
def topics(monkeypatch: pytest.MonkeyPatch) -> FakeTopics:
    monkeypatch.setattr(GroupDirectory, "__init__", lambda directory, parts: None)
    return FakeTopics()


def lone_over(topics: FakeTopics) -> LoneDirectory:
    registry = SimpleNamespace(open_crawls=SimpleNamespace(lease=None))
    parts: Any = SimpleNamespace(store=SimpleNamespace(topics=topics), registry=registry)
    made = LoneDirectory(parts)
    assert registry.open_crawls.lease is made
    return made


@pytest.mark.parametrize(
    ("settings", "is_lone"),
    [
        ({}, False),
        ({"log": "kafka://a:9092"}, True),
        ({"log": "kafka://a:9092", "peers_listen": "127.0.0.1:0"}, False),
        ({"log": "kafka://a:9092", "role": "front"}, False),
    ],
)
def test_who_has_its_log_on_brokers_and_no_peers_is_lone(settings: dict[str, str], *, is_lone: bool) -> None:
    found: type[Directory] = directory_of(ClusterSettings(**settings))  # type: ignore[arg-type]
    assert (found is LoneDirectory) == is_lone


def test_beside_a_cluster_it_does_not_start(topics: FakeTopics) -> None:
    topics.members = 3
    with pytest.raises(InvalidInput, match="3 servers with peers_listen") as refused:
        lone_over(topics)
    assert [problem.field for problem in refused.value.problems] == ["peers_listen"]


async def test_it_opens_no_log_again_once_a_cluster_has_it(
    topics: FakeTopics, monkeypatch: pytest.MonkeyPatch
) -> None:
    lone, shard = lone_over(topics), Shard("books")
    await lone.confirm(shard)
    await lone.confirm(shard)
    assert topics.asked == 2  # at its start, and once for both
    monkeypatch.setattr(room, "_KNOWN_S", 0.05)
    lone._asked_s = -1.0
    await asyncio.gather(*(lone.confirm(shard) for _ in range(20)))
    assert topics.asked == 3  # many crawls are opened at once
    topics.members = 1
    monkeypatch.setattr(room, "_KNOWN_S", 0.0)
    with pytest.raises(LogAway, match="servers of a cluster have it"):
        await lone.confirm(shard)
    assert lone.serves(shard)
