"""Crawls whose logs are on brokers: they go on wherever they are opened, and open anew if it is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgpack
import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import CorruptState
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.kafka import store as room
from linkscore_server.storage.kafka.brokers import Brokers
from linkscore_server.storage.kafka.store import KafkaStore
from support.kafka.mock_brokers import PARTITIONS, MockBrokers, MockTopics


@pytest.fixture
def topics() -> MockTopics:
    return MockTopics(MockBrokers())


@pytest.fixture
def stores(topics: MockTopics, tmp_path: Path) -> Iterator[list[KafkaStore]]:
    """Two servers, each with a data folder of its own."""
    hosts = topics.mock.hosts
    made = [
        KafkaStore(Brokers(hosts), topics, FileStore(tmp_path / owner), owner)  # type: ignore[arg-type]
        for owner in "ab"
    ]
    yield made
    for store in made:
        store.close()


SHARD = Shard("crawl", 1, PARTITIONS).key


def feedback(n: int) -> FeedbackGiven:
    return FeedbackGiven(f"e{n}", "a.org", "http://a.org/", b"", 1.0, 1e9)


def state_of(registry: CrawlRegistry) -> bytes:
    (actor,) = registry.actors()
    packed: bytes = msgpack.packb(actor.model.to_state())
    return packed


def registry_on(store: KafkaStore) -> CrawlRegistry:
    return CrawlRegistry(store, Settings(), Metrics(), owns=lambda shard: shard.key == SHARD)


async def test_a_crawl_goes_on_at_another_server(stores: list[KafkaStore]) -> None:
    first, second = map(registry_on, stores)
    await first.recover()
    actor = await first.changes.create(CrawlConfig("crawl", groups=PARTITIONS), 1)
    for n in range(5):
        await actor.submit(feedback(n))
    expected = state_of(first)
    await second.recover()
    assert (await second.open(SHARD)).model.feedbacks == 5
    assert state_of(second) == expected
    await first.close()
    await second.close()


async def test_who_lost_a_crawl_says_try_again_and_opens_it_anew_with_all_that_happened(
    stores: list[KafkaStore],
) -> None:
    first, second = map(registry_on, stores)
    await first.recover()
    old = await first.changes.create(CrawlConfig("crawl", groups=PARTITIONS), 1)
    await old.submit(feedback(1))
    await second.recover()
    await (await second.open(SHARD)).submit(feedback(2))
    with pytest.raises(LogAway):
        await old.submit(feedback(3))
    assert old.model.feedbacks == 1
    again = await first.open(SHARD)
    assert again is not old
    assert again.model.feedbacks == 2
    await again.submit(feedback(3))
    await second.close()
    assert state_of(first) == await state_of_log(stores[1])
    assert [store.counts.fenced for store in stores] == [1, 0]
    await first.close()


async def state_of_log(store: KafkaStore) -> bytes:
    """Return the state that a server without any snapshot makes of the log."""
    registry = registry_on(store)
    await registry.recover()
    await registry.open(SHARD)
    state = state_of(registry)
    await registry.close()
    return state


async def test_a_snapshot_shortens_the_replay_and_another_log_of_the_name_has_none_of_it(
    stores: list[KafkaStore],
) -> None:
    store = stores[0]
    registry = registry_on(store)
    await registry.recover()
    actor = await registry.changes.create(CrawlConfig("crawl", groups=PARTITIONS), 1)
    await actor.submit(feedback(1))
    await registry.close()
    again = store.open(SHARD)
    assert again.states.seq == again.last_seq == 2
    again.close()
    store.delete(SHARD)  # of a crawl that is there, its log begins anew
    begun = store.open(SHARD)
    assert (begun.states.seq, begun.last_seq, list(begun.read())) == (0, 0, [])
    begun.close()


def test_all_servers_have_one_secret_of_tickets(stores: list[KafkaStore]) -> None:
    assert stores[0].ticket_key() == stores[1].ticket_key()
    assert len(stores[0].ticket_key()) == 32


def test_the_settings_of_a_topic_are_checked_once(stores: list[KafkaStore], topics: MockTopics) -> None:
    for shard in (SHARD, SHARD, Shard("crawl", 2, PARTITIONS).key):
        stores[0].open(shard).close()
    assert topics.checked == ["log.crawl", "states.crawl"]
    assert Shard.of(SHARD) in topics.shards()


@pytest.mark.parametrize("topic", ["log.crawl", "states.crawl"])
def test_settings_that_became_wrong_are_named_and_a_crawl_with_events_is_served_on(
    stores: list[KafkaStore],
    topics: MockTopics,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    topic: str,
) -> None:
    monkeypatch.setattr(room, "_CHECKED_FOR_S", 0.0)
    stores[0].open(SHARD).append([b"event"])
    topics.wrong = {topic}
    for store in stores:
        assert store.open(SHARD).last_seq == 1
        assert unsafe(store) == 1
    assert caplog.text.count(f"topic {topic}: retention.ms is 1, must be -1; events may be lost") == 2
    with pytest.raises(CorruptState, match=r"retention\.ms is 1, must be -1"):
        stores[0].open(Shard("crawl", 2, PARTITIONS).key)  # which has none yet
    topics.wrong = set()
    assert stores[0].open(SHARD).last_seq == 1
    assert unsafe(stores[0]) == 0


def unsafe(store: KafkaStore) -> float:
    [gauge] = [family for family in store.counts.collect() if family.name == "linkscore_unsafe_topics"]
    value: float = gauge.samples[0].value
    return value


def test_what_lies_beside_shards_of_other_processes_is_found(
    stores: list[KafkaStore], tmp_path: Path
) -> None:
    folders = [
        tmp_path / "a" / "crawls" / name / "room" for name in ("one", "two", "many/1-of-4", "many/2-of-4")
    ]
    for folder in folders:
        folder.mkdir(parents=True)
    found = stores[0].left_beside("room", ["one", "many@2-of-4"])
    assert sorted(found) == sorted(folders[1:3])


def test_a_folder_with_logs_of_its_own_is_refused(stores: list[KafkaStore], tmp_path: Path) -> None:
    files = FileStore(tmp_path / "files")
    files.open("books").append([b"event"])
    with pytest.raises(CorruptState, match=r"holds crawls with logs of their own \(books\)"):
        KafkaStore(stores[0].brokers, stores[0].topics, files, "c")
    files.close()
