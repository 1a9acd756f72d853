"""Crawls moved between files and brokers: the same events, the same states, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgpack
import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_scoring.engine.groups import shards_of
from linkscore_scoring.errors import AlreadyExists, CorruptState, NotFound
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.base import LogAway, Store
from linkscore_server.storage.check import problems_of_store
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.kafka.brokers import Brokers
from linkscore_server.storage.kafka.moving import to_brokers, to_files
from linkscore_server.storage.kafka.records import Marker
from linkscore_server.storage.kafka.store import KafkaStore
from support.kafka.mock_brokers import PARTITIONS, MockBrokers, MockTopics

CRAWL = CrawlConfig("crawl", groups=PARTITIONS)


@pytest.fixture
def topics() -> MockTopics:
    return MockTopics(MockBrokers())


@pytest.fixture
def new_kafka(topics: MockTopics, tmp_path: Path) -> Iterator[Callable[[str], KafkaStore]]:
    made: list[KafkaStore] = []

    def store(name: str) -> KafkaStore:
        made.append(KafkaStore(Brokers(topics.mock.hosts), topics, FileStore(tmp_path / name), name))  # type: ignore[arg-type]
        return made[-1]

    yield store
    for each in made:
        each.close()


@pytest.fixture
def new_files(tmp_path: Path) -> Iterator[Callable[[str], FileStore]]:
    made: list[FileStore] = []

    def store(name: str) -> FileStore:
        made.append(FileStore(tmp_path / name))
        return made[-1]

    yield store
    for each in made:
        each.close()


async def crawled(store: Store, *, with_snapshot: bool = True) -> dict[str, bytes]:
    """Make a crawl with events in each group, some after the snapshot; return its states."""
    registry = CrawlRegistry(store, Settings(snapshot_events=10, snapshot_s=0), Metrics())
    for shard in reversed(shards_of("crawl", PARTITIONS)):
        actor = await registry.changes.create(CRAWL, shard.group)
        for n in range(13 + shard.group):
            event = FeedbackGiven(f"e{n}", f"{n % 3}.org", f"http://{n % 3}.org/{n}", b"", n % 2, 1e9)
            await actor.submit(event)
    states = states_in(registry)
    for name in [] if with_snapshot else registry.names():
        await registry.changes.drop(name)
    await registry.close()  # with a snapshot of those that are open
    return states


def states_in(registry: CrawlRegistry) -> dict[str, bytes]:
    return {actor.key: msgpack.packb(actor.model.to_state()) for actor in registry.actors()}


async def opened(store: Store) -> tuple[dict[str, bytes], list[int]]:
    """Return the states of a crawl as a server finds them, and how many events of each it replayed."""
    registry = CrawlRegistry(store, Settings(), Metrics())
    for shard in shards_of("crawl", PARTITIONS):
        registry.open_crawls.take(shard.key)
        await registry.open(shard.key)
    found = states_in(registry), [actor.replay_count for actor in registry.actors()]
    await registry.close()
    return found


@pytest.mark.parametrize(("with_snapshot", "replayed"), [(True, [0] * 4), (False, [4, 5, 6, 7])])
async def test_a_crawl_moves_to_brokers_and_back(
    new_kafka: Callable[[str], KafkaStore],
    new_files: Callable[[str], FileStore],
    *,
    with_snapshot: bool,
    replayed: list[int],
) -> None:
    source, brokers, target = new_files("source"), new_kafka("mover"), new_files("target")
    states = await crawled(source, with_snapshot=with_snapshot)
    to_brokers(source, "crawl", brokers)
    to_files(brokers, "crawl", target)
    assert list(problems_of_store(target)) == []
    assert await opened(target) == (states, replayed)
    assert await opened(new_kafka("server")) == (states, replayed)


async def test_what_a_marker_voided_stays_behind(
    new_kafka: Callable[[str], KafkaStore], new_files: Callable[[str], FileStore]
) -> None:
    store, target = new_kafka("a"), new_files("target")
    old = store.open("crawl@1-of-4")
    old.append([b"void"])
    old.close()
    store.brokers.append(store.topics.log_of("crawl"), 1, None, Marker.of("a", voids=True).pack())
    states = await crawled(store)
    to_files(store, "crawl", target)
    assert (await opened(target))[0] == states


async def test_a_crawl_that_is_there_is_not_written_to(
    new_kafka: Callable[[str], KafkaStore], new_files: Callable[[str], FileStore]
) -> None:
    source, brokers = new_files("source"), new_kafka("a")
    await crawled(source)
    states = await crawled(brokers)
    with pytest.raises(AlreadyExists, match="the brokers have one of this name"):
        to_brokers(source, "crawl", brokers)
    assert (await opened(brokers))[0] == states


async def test_what_a_killed_import_left_is_named(
    new_kafka: Callable[[str], KafkaStore], new_files: Callable[[str], FileStore]
) -> None:
    source, brokers = new_files("source"), new_kafka("a")
    await crawled(source)
    left = brokers.open("crawl@3-of-4")
    left.append([b"event"] * 5)
    left.close()
    log, states = brokers.topics.log_of("crawl"), brokers.topics.states_of("crawl")
    events = sum(14 + group for group in range(PARTITIONS))  # the creation is one
    said = f"of 5 events; the one to be moved has {events}. .* delete topics {log} and {states};"
    with pytest.raises(AlreadyExists, match=said):
        to_brokers(source, "crawl", brokers)


async def test_a_crawl_that_cannot_be_copied_whole_is_deleted(
    new_kafka: Callable[[str], KafkaStore],
    new_files: Callable[[str], FileStore],
    topics: MockTopics,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, brokers, appended = new_files("source"), new_kafka("a"), []
    await crawled(source)

    def append(topic: str, partition: int, *record: bytes | None) -> int:
        appended.append(partition)
        if partition == 1:
            raise LogAway("the brokers are away")
        return Brokers.append(brokers.brokers, topic, partition, *record)  # type: ignore[arg-type]

    monkeypatch.setattr(brokers.brokers, "append", append)
    with pytest.raises(LogAway):
        to_brokers(source, "crawl", brokers)
    assert (set(appended), topics.made) == ({3, 2, 1}, [])


def test_a_crawl_that_is_not_there_is_named(
    new_kafka: Callable[[str], KafkaStore], new_files: Callable[[str], FileStore]
) -> None:
    with pytest.raises(NotFound, match="crawl 'crawl': there is no topic"):
        to_files(new_kafka("a"), "crawl", new_files("target"))


async def test_a_log_that_was_cut_cannot_move(
    new_kafka: Callable[[str], KafkaStore], tmp_path: Path, topics: MockTopics
) -> None:
    source = FileStore(tmp_path / "cut", cuts=True, segment_bytes=100)
    await crawled(source)
    with pytest.raises(CorruptState, match="cut"):
        to_brokers(source, "crawl", new_kafka("a"))
    assert topics.made == []
    source.close()
