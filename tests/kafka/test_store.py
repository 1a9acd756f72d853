"""The store on real brokers: topics are made as they must be, else refused, deleted, made again."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged, FeedbackGiven, encode
from linkscore_scoring.errors import CorruptState
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.kafka.checkpoints import PIECE_BYTES
from linkscore_server.storage.kafka.store import KafkaStore
from support.cluster.brokers import Brokers
from support.command_line import run

pytestmark = pytest.mark.slow

FEEDBACK = FeedbackGiven("e", "a.org", "http://a.org/", b"", 1.0, 1e9)


@pytest.fixture
def new_store(
    brokers: Brokers, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], KafkaStore]]:
    """Give a function that opens the store of a server, which all have the topics of one test."""
    made: list[KafkaStore] = []

    def open_store(owner: str) -> KafkaStore:
        prefix = request.node.name
        made.append(
            KafkaStore.at(
                brokers.hosts, tmp_path / owner, properties={}, prefix=prefix, replicas=3, owner=owner
            )
        )
        return made[-1]

    yield open_store
    for store in made:
        store.close()


def test_a_log_goes_on_at_another_server(new_store: Callable[[str], KafkaStore]) -> None:
    first, second = new_store("a"), new_store("b")
    log = first.open("books")
    log.append([b"1", b"2"])
    taken = second.open("books")
    assert list(taken.read()) == [(1, b"1"), (2, b"2")]
    with pytest.raises(LogAway):
        log.append([b"lost"])
    taken.append([b"3"])
    assert list(first.open("books").read()) == [(1, b"1"), (2, b"2"), (3, b"3")]
    assert first.ticket_key() == second.ticket_key()


def test_a_topic_is_a_crawl_and_a_partition_a_group(new_store: Callable[[str], KafkaStore]) -> None:
    store = new_store("a")
    store.open("books@1-of-2").append([b"event"])
    store.open("news")
    assert store.shards() == ["books@0-of-2", "books@1-of-2", "news"]
    store.delete("books@1-of-2")
    assert store.open("books@1-of-2").last_seq == 0
    store.delete("books")
    assert store.shards() == ["news"]


def test_a_crawl_that_was_deleted_begins_anew(new_store: Callable[[str], KafkaStore]) -> None:
    store = new_store("a")
    for n in range(3):
        log = store.open("books")
        assert (log.last_seq, log.states.seq) == (0, 0)
        log.append([b"%d" % n])
        log.states.commit(1, b"state")
        while not log.share():
            pass
        log.close()
        store.delete("books")


def test_a_crawl_that_is_made_again_may_have_more_groups(new_store: Callable[[str], KafkaStore]) -> None:
    store = new_store("a")
    store.open("books").append([b"event"])
    store.delete("books")
    log = store.open("books@15-of-16")
    log.append([b"event"])
    assert log.last_seq == 1


def test_a_snapshot_is_there_for_the_next_server(new_store: Callable[[str], KafkaStore]) -> None:
    log, large = new_store("a").open("books"), secrets.token_bytes(3 * PIECE_BYTES)
    for n in range(1, 4):
        log.append([b"%d" % n])
        log.states.put(0, "a.org", b"facts", b"state %d" % n)
        log.states.put(1, "b.org", b"facts", large)
        log.states.commit(n, b"core %d" % n)
        while not log.share():
            pass
    taken = new_store("b").open("books").states
    assert (taken.seq, taken.core(), taken.get(0), taken.get(1)) == (3, b"core 3", b"state 3", large)


def make_topic(brokers: Brokers, topic: str, replicas: int, config: dict[str, str]) -> None:
    """Make a topic of one partition as somebody might by hand."""
    admin = AdminClient({"bootstrap.servers": brokers.hosts})
    admin.create_topics([NewTopic(topic, 1, replicas, config=config)])[topic].result(30)


def test_a_topic_of_snapshots_that_forgets_some_is_refused_by_name(
    brokers: Brokers, new_store: Callable[[str], KafkaStore], request: pytest.FixtureRequest
) -> None:
    topic = f"{request.node.name}.states.books"
    unsafe = {"cleanup.policy": "delete", "min.insync.replicas": "2"}
    make_topic(brokers, topic, 3, unsafe)
    with pytest.raises(CorruptState) as refused:
        new_store("a").open("books")
    assert str(refused.value) == f"topic {topic}: cleanup.policy is delete, must be compact"


def test_a_crawl_moves_from_kafka_to_kafka_through_a_file(
    brokers: Brokers, new_store: Callable[[str], KafkaStore], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    log = new_store("a").open("books")
    events = [encode(event) for event in (ConfigChanged(CrawlConfig("books").to_state()), FEEDBACK)]
    log.append(events)
    kafka = ("--log", f"kafka://{brokers.hosts}", "--kafka-prefix")
    file = str(tmp_path / "books.linkscore")
    exported = run("data", "export", "books", file, *kafka, request.node.name)
    assert exported.exit_code == 0, exported.output
    imported = run("data", "import", file, *kafka, f"{request.node.name}-2")
    assert "imported crawl books (2 events)" in imported.output, imported.output
    moved = KafkaStore.at(
        brokers.hosts, tmp_path / "c", properties={}, prefix=f"{request.node.name}-2", replicas=3, owner="c"
    )
    assert [event for _, event in moved.open("books").read()] == events
    moved.close()


def test_what_an_unfinished_creation_left_makes_room(new_store: Callable[[str], KafkaStore]) -> None:
    store = new_store("a")
    store.open("books@3-of-4").append([b"event"])  # and never the first group, which is made last
    store.open("books@0-of-2").append([b"event"])
    assert store.shards() == ["books@0-of-2", "books@1-of-2"]
    with pytest.raises(CorruptState, match="has 2 partitions, its crawl 3 groups"):
        store.open("books@1-of-3")


def test_a_topic_that_may_lose_events_is_refused_by_name(
    brokers: Brokers, new_store: Callable[[str], KafkaStore], request: pytest.FixtureRequest
) -> None:
    topic = f"{request.node.name}.log.books"
    unsafe = {"retention.ms": "1000", "unclean.leader.election.enable": "true"}
    make_topic(brokers, topic, 2, unsafe)
    with pytest.raises(CorruptState) as refused:
        new_store("a").open("books")
    assert str(refused.value) == (
        f"topic {topic}: has 2 replicas, must have 3 or more; "
        "max.message.bytes is 1048588, must be 67108864 or more; "
        "retention.ms is 1000, must be -1; "
        "min.insync.replicas is 1, must be 2 or more; "
        "unclean.leader.election.enable is true, must be false"
    )


def test_a_log_whose_head_was_deleted_goes_on_from_its_snapshot(
    brokers: Brokers, new_store: Callable[[str], KafkaStore], request: pytest.FixtureRequest
) -> None:
    first, second = new_store("a"), new_store("b")
    first.places_apart = second.places_apart = 20  # type: ignore[misc]
    log = first.open("books")
    for n in range(1, 101):
        log.append([b"%d" % n])
    log.states.commit(90, b"core")
    while not log.share():
        pass
    admin = AdminClient({"bootstrap.servers": brokers.hosts})
    where = TopicPartition(f"{request.node.name}.log.books", 0, 50)
    admin.delete_records([where])[where].result(30)
    taken = second.open("books")
    assert (taken.states.seq, taken.last_seq) == (90, 100)
    assert [int(event) for _, event in taken.read(90)] == list(range(91, 101))


def make_two_groups(store: KafkaStore) -> None:
    created = encode(ConfigChanged(CrawlConfig("books", groups=2).to_state()))
    for key in ("books@1-of-2", "books@0-of-2"):
        store.open(key).append([created])


def add_partitions(brokers: Brokers, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": brokers.hosts})
    for made in admin.create_partitions([NewPartitions(topic, 5) for topic in topics]).values():
        made.result(30)


def test_partitions_that_somebody_added_to_a_log_are_passed_over(
    brokers: Brokers, new_store: Callable[[str], KafkaStore]
) -> None:
    store = new_store("a")
    make_two_groups(store)
    add_partitions(brokers, store.topics.log_of("books"))
    other = new_store("b")
    assert other.shards() == ["books@0-of-2", "books@1-of-2"]
    assert [other.open(key).last_seq for key in other.shards()] == [1, 1]
    with pytest.raises(CorruptState, match="has 5 partitions, its crawl 4 groups"):
        other.open("books@1-of-4")


async def test_a_crawl_both_of_whose_topics_got_partitions_is_back_once_its_states_are_deleted(
    brokers: Brokers, new_store: Callable[[str], KafkaStore]
) -> None:
    store = new_store("a")
    make_two_groups(store)
    add_partitions(brokers, store.topics.log_of("books"), store.topics.states_of("books"))
    enlarged = CrawlRegistry(new_store("b"), Settings(), Metrics())
    await enlarged.recover()
    with pytest.raises(CorruptState, match="holds crawl 'books@1-of-2'"):
        await enlarged.open("books@1-of-5")
    await enlarged.close()
    store.topics.delete(store.topics.states_of("books"))
    again = CrawlRegistry(new_store("c"), Settings(), Metrics())
    await again.recover()
    assert [(await again.open(f"books@{group}-of-2")).model.seq for group in range(2)] == [1, 1]
    await again.close()
