"""Snapshots on brokers: the next owner goes on from the newest whole one, or says why it does not."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

import msgpack
import pytest
import zstandard

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_server import residency
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.kafka import sharing
from linkscore_server.storage.kafka.checkpoints import PIECE_BYTES, SharedCheckpoints
from linkscore_server.storage.kafka.counts import Counts
from linkscore_server.storage.kafka.log import KafkaLog
from linkscore_server.storage.kafka.records import LogState, Marker, Record
from linkscore_server.storage.kafka.sharing import SharedStates
from linkscore_server.storage.kafka.snapshots import Cut, Part
from linkscore_server.storage.sites import SiteStates
from support.kafka.mock_brokers import PARTITIONS, MockBrokers, MockTopics
from support.kafka.shards import (
    LOG,
    SHARD,
    STATES,
    Compacting,
    Server,
    created,
    replayed,
    send,
    server_of,
    state_of,
)


@pytest.fixture
def mock() -> MockBrokers:
    return MockBrokers()


@pytest.fixture
def topics(mock: MockBrokers) -> MockTopics:
    return MockTopics(mock)


@pytest.fixture
def brokers(mock: MockBrokers) -> Iterator[Compacting]:
    made = Compacting(mock.hosts)
    yield made
    made.close()


@pytest.fixture
async def new_server(
    brokers: Compacting, topics: MockTopics, tmp_path: Path
) -> AsyncIterator[Callable[[str], Server]]:
    made: list[Server] = []

    def server(name: str) -> Server:
        made.append(server_of(brokers, topics, tmp_path / name))
        return made[-1]

    yield server
    for each in made:
        await each.close()


def kept(server: Server) -> Counter[int]:
    """Return how many records there are of each place, -1 for checkpoints."""
    brokers = server.store.brokers
    records = brokers.read(STATES, SHARD.group, 0, brokers.end(STATES, SHARD.group))
    return Counter(int.from_bytes(r.key[-8:-4], signed=True) for r in records if r.key and r.value)


def sizes_of(server: Server) -> list[int]:
    """Return the bytes of the records of sites."""
    brokers = server.store.brokers
    records = brokers.read(STATES, SHARD.group, 0, brokers.end(STATES, SHARD.group))
    return [len(r.value) for r in records if r.key and r.value and r.key[-8] < 128]


async def test_who_takes_a_crawl_over_replays_only_what_came_since_the_snapshot(
    new_server: Callable[[str], Server],
) -> None:
    first, second = new_server("a"), new_server("b")
    await send(await created(first), 0, 50)
    await first.die()
    actor = await second.open()
    assert (actor.model.seq, actor.replay_count) == (51, 51 - 40)  # of the second snapshot
    assert (second.store.counts.checkpoints_taken, first.store.counts.checkpoints) == (1, 2)
    assert state_of(actor) == replayed(second)
    await send(actor, 50, 90)
    assert state_of(actor) == replayed(second)


async def test_sites_are_shared_with_the_events_that_changed_them(
    new_server: Callable[[str], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residency, "_SHARE", 0)  # no state is written twice
    monkeypatch.setattr(residency, "_EVICTED_SHARE", 0)
    first, second = new_server("a"), new_server("b")
    await send(await created(first), 0, 50)
    await first.hand_over()
    actor = await second.open()
    states = actor._log.states
    assert any(states.changes(place) for place in range(7))
    assert (actor.replay_count, state_of(actor)) == (0, replayed(second))
    await send(actor, 50, 60)
    await second.hand_over()
    actor = await first.open()
    assert (actor.replay_count, state_of(actor)) == (0, replayed(first))


async def test_a_crawl_handed_over_needs_no_replay(new_server: Callable[[str], Server]) -> None:
    first, second = new_server("a"), new_server("b")
    await send(await created(first), 0, 10)
    await first.hand_over()
    actor = await second.open()
    assert (actor.model.seq, actor.replay_count) == (11, 0)
    assert state_of(actor) == replayed(second)


async def test_a_snapshot_has_the_sites_that_changed_and_old_ones_are_deleted(
    new_server: Callable[[str], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residency, "_SHARE", 0)  # no state is written twice here
    monkeypatch.setattr(sharing, "_MOST_PARTS", 4)
    server = new_server("a")
    actor = await created(server)
    await send(actor, 0, 7)  # a page of each site
    await server.hand_over()
    assert kept(server) == {-1: 1, **dict.fromkeys(range(7), 1)}
    for times, parts in enumerate([2, 3, 4, 4 + 1, 2, 3], start=2):  # of four the next is the whole
        await send(await server.open(), 7 * times, 7 * times + 2)
        await server.hand_over()
        assert kept(server) == {-1: 2, 0: parts, 1: parts, **dict.fromkeys(range(2, 7), 1)}
    assert server.store.counts.checkpoints_taken == 0  # its own file had them all
    other = new_server("b")
    actor = await other.open()
    assert (actor.replay_count, state_of(actor)) == (0, replayed(other))


async def test_a_hand_over_sends_what_changed(
    new_server: Callable[[str], Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(residency, "_SHARE", 0)  # no state is written twice here
    first, second = new_server("a"), new_server("b")
    actor = await created(first)
    for n in range(200):
        await send(actor, n, n + 1, sites=1)
        await actor._snapshots.end()
    await first.hand_over()
    whole = max(sizes_of(first))
    for server, n in ((first, 200), (second, 201), (first, 202)):
        await send(await server.open(), n, n + 1, sites=1)
        await server.hand_over()
        assert 4 * sizes_of(server)[-1] < whole


def test_a_snapshot_whose_sites_changed_before_it_was_shared_is_not(
    brokers: Compacting, topics: MockTopics
) -> None:
    for topic in (LOG, STATES):
        topics.make(topic, PARTITIONS)

    def states_of(log: LogState) -> SharedStates:
        return SharedStates(None, SharedCheckpoints(brokers, STATES, 0, log), Counts())

    def opened(owner: str) -> tuple[KafkaLog, SharedStates]:
        log = KafkaLog(brokers, LOG, 0, owner=owner, states_of=states_of)
        assert isinstance(log.states, SharedStates)
        return log, log.states

    log, states = opened("a")
    log.append([b"1", b"2"])
    states.put(0, "a.example", b"", b"of event 1")
    states.commit(1, b"core")
    states.add(0, "a.example", b"", [b"event 2"])
    assert log.share()
    assert opened("b")[1].seq == 0
    states.commit(2, b"core")
    log, states = opened("a")
    states.put(0, "a.example", b"", b"of event 1")
    states.add(0, "a.example", b"", [b"event 2"])
    states.commit(2, b"core")
    while not log.share():
        pass
    taken = opened("c")[1]
    assert (taken.seq, taken.get(0), taken.changes(0)) == (2, b"of event 1", [b"event 2"])


async def test_a_snapshot_cut_short_is_none(
    new_server: Callable[[str], Server], brokers: Compacting, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = new_server("a"), new_server("b")
    actor = await created(first)
    await send(actor, 0, 25)
    await actor._snapshots.end()
    allowed = iter(range(3))
    brokers.changes = lambda _, value: value if next(allowed, None) is not None else None
    await send(actor, 25, 50)
    await actor._snapshots.end()
    assert "a snapshot is not there for others: the brokers are away" in caplog.text
    assert (first.store.counts.checkpoints, first.store.counts.checkpoint_failures, actor.replay_count) == (
        1,
        1,
        11,
    )
    await first.die()
    brokers.changes = None
    actor = await second.open()
    assert actor.replay_count == 51 - 20
    assert state_of(actor) == replayed(second)
    await second.hand_over()  # which deletes what the other one left
    assert kept(second) == {-1: 2, **dict.fromkeys(range(7), 2)}


async def test_what_could_not_be_shared_is_in_the_next_snapshot(
    new_server: Callable[[str], Server], brokers: Compacting
) -> None:
    first, second = new_server("a"), new_server("b")
    actor = await created(first)
    await send(actor, 0, 25)
    brokers.changes = lambda *_: None
    await send(actor, 25, 45, sites=2)
    brokers.changes = None
    await send(actor, 45, 65, sites=1)
    await first.die()
    actor = await second.open()
    assert actor.replay_count == 66 - 60
    assert state_of(actor) == replayed(second)


def damaged_from(event: int, place: int) -> Callable[[bytes, bytes], bytes]:
    """Damage the state of a place in snapshots of an event and later."""

    def change(key: bytes, value: bytes) -> bytes:
        seq, at = int.from_bytes(key[-16:-8]), int.from_bytes(key[-8:-4], signed=True)
        return value[:-1] + bytes([value[-1] ^ 1]) if seq >= event and at == place else value

    return change


@pytest.mark.parametrize("place", [-1, 3])
@pytest.mark.parametrize(("event", "replay"), [(40, 31), (0, 51)])
async def test_a_damaged_snapshot_is_named_and_the_one_before_taken_or_all_replayed(
    new_server: Callable[[str], Server],
    brokers: Compacting,
    caplog: pytest.LogCaptureFixture,
    *,
    place: int,
    event: int,
    replay: int,
) -> None:
    first, second = new_server("a"), new_server("b")
    brokers.changes = damaged_from(event, place)
    await send(await created(first), 0, 50)
    await first.die()
    actor = await second.open()
    assert actor.replay_count == replay
    what = "is not whole" if place < 0 else f"site {place} is missing or damaged"
    assert f"states.crawl [1]: snapshot of event 40, epoch 0: {what}: it is passed over" in caplog.text
    assert state_of(actor) == replayed(second)


async def test_brokers_that_are_away_are_sent_no_snapshot_of_a_log_that_is_lost(
    new_server: Callable[[str], Server], brokers: Compacting, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = new_server("a")
    await send(await created(server), 0, 10)

    def no_answer(*_: object) -> int:
        raise LogAway("the brokers are away")

    with monkeypatch.context() as patch:
        patch.setattr(brokers, "append", no_answer)
        with pytest.raises(LogAway):
            await send(await server.open(), 10, 11)
    brokers.changes = no_answer
    actor = await server.open()
    assert (actor.model.seq, actor.replay_count) == (11, 0)  # from the snapshot here
    assert server.store.counts.checkpoint_failures == 0


async def test_an_owner_that_lost_the_log_shares_nothing(
    new_server: Callable[[str], Server], caplog: pytest.LogCaptureFixture
) -> None:
    first, second = new_server("a"), new_server("b")
    old = await created(first)
    await send(old, 0, 30)
    await send(await second.open(), 30, 35)
    before = kept(second)
    await first.hand_over()  # it has not heard
    assert "another process has these sites by now" in caplog.text
    assert kept(second)[-1] == before[-1]
    await second.hand_over()
    third = new_server("c")
    actor = await third.open()
    assert (actor.replay_count, state_of(actor)) == (0, replayed(third))


def test_a_snapshot_of_events_that_an_owner_never_had_is_passed_over(
    brokers: Compacting, topics: MockTopics, caplog: pytest.LogCaptureFixture
) -> None:
    for topic in (LOG, STATES):
        topics.make(topic, PARTITIONS)
    found: list[SharedCheckpoints] = []

    def states_of(log: LogState) -> SiteStates:
        found.append(SharedCheckpoints(brokers, STATES, 0, log))
        return SiteStates()

    def opened() -> tuple[KafkaLog, SharedCheckpoints]:
        return KafkaLog(brokers, LOG, 0, owner="a", states_of=states_of), found[-1]

    old, stale = opened()
    old.append([b"1", b"2"])
    _, fresh = opened()  # which ends the first epoch at event 2
    for seq in (2, 3):
        write(stale, seq, b"core", [b"state"])
    assert [checkpoint.version.seq for checkpoint in fresh.whole()] == [2]
    assert "snapshot of event 3, epoch 0: its owner had lost the log before: it is passed over" in caplog.text


def write(checkpoints: SharedCheckpoints, seq: int, core: bytes, sites: Sequence[bytes]) -> None:
    parts = list(itertools.starmap(Part, enumerate(sites)))
    for _ in checkpoints.write(Cut(seq, core, parts, parts.__getitem__), lambda: True):
        pass


def test_changes_of_no_state_are_refused(
    brokers: Compacting, topics: MockTopics, caplog: pytest.LogCaptureFixture
) -> None:
    topics.make(STATES, PARTITIONS)
    log = LogState("log")
    log.see(Record(0, None, Marker.of("a").pack()))
    log.seq = 2
    site: list[object] = ["a.example", b"", zstandard.compress(b"state")]
    for seq, state in ((1, site), (2, [*site[:2], None, b"change"])):
        write(SharedCheckpoints(brokers, STATES, 0, log), seq, b"core", [msgpack.packb(state)])
    taken = SharedStates(None, SharedCheckpoints(brokers, STATES, 0, log), Counts())
    assert (taken.seq, taken.get(0), taken.changes(0)) == (1, b"state", [])
    assert "snapshot of event 2: site 0: changes of no state: it is passed over" in caplog.text


def test_a_large_state_is_split(brokers: Compacting, topics: MockTopics) -> None:
    topics.make(STATES, PARTITIONS)
    log = LogState("log")
    log.see(Record(0, None, Marker.of("a").pack()))
    sites = [
        random.Random(n).randbytes(size) for n, size in enumerate((0, 1, PIECE_BYTES, 3 * PIECE_BYTES + 1))
    ]
    core = random.Random(9).randbytes(2 * PIECE_BYTES)
    write(SharedCheckpoints(brokers, STATES, 0, log), 0, core, sites)
    reader = SharedCheckpoints(brokers, STATES, 0, log)
    [checkpoint] = reader.whole()
    assert checkpoint.core == core
    assert dict(reader.states(checkpoint)) == dict(enumerate(sites))
    largest = max(len(r.value) for r in brokers.read(STATES, 0, 0, brokers.end(STATES, 0)))
    assert PIECE_BYTES < largest <= PIECE_BYTES + 4


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 3))])
async def test_whatever_happens_states_are_those_of_a_replay(
    new_server: Callable[[str], Server], brokers: Compacting, seed: int
) -> None:
    draws = random.Random(seed)
    servers = [new_server(name) for name in "abc"]
    actor, owner, n = await created(servers[0]), servers[0], 0
    for _ in range(9):
        sent = draws.randrange(1, 45)
        await send(actor, n, n + sent, draws.choice((1, 7, 40)))
        n += sent
        if draws.random() < 0.3:
            await owner.registry.changes.change(SHARD.key, observe_only=n % 2 == 0)
        brokers.changes = draws.choice((None, None, damaged_from(n, draws.randrange(-1, 7)), lambda *_: None))
        await draws.choice((owner.die, owner.hand_over))()
        brokers.changes = None
        owner = draws.choice(servers)
        actor = await owner.open()
        assert state_of(actor) == replayed(owner)
    assert sum(server.store.counts.checkpoints_taken for server in servers) > 0
