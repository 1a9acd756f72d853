"""Snapshots as objects: the next owner goes on from the newest that is whole, whatever the store does."""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from datetime import timedelta
from pathlib import Path

import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")
pytest.importorskip("obstore", reason="needs the extra objects")

from linkscore_scoring.errors import CorruptState
from linkscore_server.objects import checkpoints, store
from linkscore_server.objects.annex import InObjects
from linkscore_server.objects.checkpoints import Pointer
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.kafka.records import LogState, Marker, Record
from linkscore_server.storage.kafka.snapshots import Cut, Part, SnapshotPlace
from support.kafka.mock_brokers import MockBrokers, MockTopics
from support.kafka.shards import (
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
from support.objects.s3 import CANNOT, LIES, S3, SLOW_S, Answer, Fault, running

SITES = 7
NewServer = Callable[..., Server]


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    hasty = {"client_options": {"timeout": timedelta(seconds=SLOW_S / 2), "allow_http": True}}
    monkeypatch.setattr(store, "_OPTIONS", {**hasty, "retry_config": {"max_retries": 0}})
    with running() as made:
        for name, value in made.environment.items():
            monkeypatch.setenv(name, value)
        yield made


@pytest.fixture
async def new_server(s3: S3, tmp_path: Path) -> AsyncIterator[NewServer]:
    mock = MockBrokers()
    topics, brokers = MockTopics(mock), Compacting(mock.hosts)
    made: list[Server] = []

    def server(name: str, *, has_objects: bool = True) -> Server:
        place: SnapshotPlace | None = InObjects("s3://bucket/below") if has_objects else None
        made.append(server_of(brokers, topics, tmp_path / name, place))
        return made[-1]

    yield server
    for each in made:
        await each.close()
    brokers.close()


async def grow(server: Server, start: int, end: int, snapshots: int) -> None:
    """Send pages, and wait until a server has tried so many snapshots in all."""
    await send(server.registry.open_crawls.actors[SHARD.key], start, end, SITES)
    await server.shared(snapshots)


async def snapshots_of(server: Server) -> None:
    """Create a crawl and make snapshots of events 20 and 40, of 46."""
    await created(server)
    await grow(server, 0, 25, 1)
    await grow(server, 25, 45, 2)


def pointers(server: Server) -> dict[bytes, Pointer | None]:
    """Return the records that are there, None for what is no pointer."""
    brokers = server.store.brokers
    values: dict[bytes, bytes] = {}
    for record in brokers.read(STATES, SHARD.group, 0, brokers.end(STATES, SHARD.group)):
        assert record.key is not None
        values[record.key] = record.value
    there = {key: value for key, value in values.items() if value}
    assert all(len(value) < 1_000 for key, value in there.items() if key[:2] == b"LO")
    return {key: Pointer.unpacked(key, value) if key[:2] == b"LO" else None for key, value in there.items()}


def named(server: Server) -> set[str]:
    """Return the paths of all objects that a pointer names."""
    found = [pointer.names() for pointer in pointers(server).values() if pointer is not None]
    return {f"bucket/below/{name}" for names in found for name in names}


async def test_who_takes_a_crawl_over_reads_the_objects(new_server: NewServer, s3: S3) -> None:
    first, second = new_server("a"), new_server("b")
    await snapshots_of(first)
    await first.die()
    actor = await second.open()
    assert (actor.model.seq, actor.replay_count) == (46, 46 - 40)
    assert state_of(actor) == replayed(second)
    assert named(second) == set(s3.objects)
    await second.hand_over()
    actor = await first.open()
    assert (actor.replay_count, state_of(actor)) == (0, replayed(first))
    assert (named(first), len(pointers(first))) == (set(s3.objects), 2)


@pytest.mark.parametrize("method", ["PUT", "POST", "LIST"])
@pytest.mark.parametrize("fault", CANNOT)
async def test_a_store_that_takes_nothing_costs_the_crawl_nothing(
    new_server: NewServer, s3: S3, caplog: pytest.LogCaptureFixture, *, method: str, fault: str
) -> None:
    first, second = new_server("a"), new_server("b")
    await created(first)
    if method == "LIST":  # which is asked once
        s3.faults[method] = CANNOT[fault]
    await grow(first, 0, 25, 1)
    s3.faults[method] = CANNOT[fault]
    await grow(first, 25, 45, 2)
    await grow(first, 45, 65, 3)
    is_lost = method == "PUT"
    assert first.store.counts.checkpoint_failures == 2 * is_lost
    assert ("a snapshot is not there for others: s3://bucket/below: " in caplog.text) == is_lost
    assert ("what no snapshot needs is not deleted: s3://bucket/below: " in caplog.text) != is_lost
    await first.die()
    s3.faults.clear()
    actor = await second.open()
    assert actor.replay_count == 66 - (20 if is_lost else 60)
    assert state_of(actor) == replayed(second)
    await second.hand_over()
    assert named(second) == set(s3.objects)  # what the other one left is gone


@pytest.mark.parametrize("fault", [*CANNOT, "gone"])
def test_what_cannot_be_written_is_counted_and_said_in_a_line(s3: S3, fault: str) -> None:
    objects = store.Objects("s3://bucket/below")
    s3.faults["PUT"] = {**CANNOT, **LIES}[fault]  # gone: there is no such bucket
    with pytest.raises(LogAway) as failure:
        objects.put("name", b"body")
    assert str(failure.value).startswith("s3://bucket/below: ")
    assert "\n" not in str(failure.value)
    assert objects.counts.failures == 1
    objects.close()


@pytest.mark.parametrize("size", [1, 999, 1_000, 1_001, 2_000, 3_500])
def test_a_large_object_goes_in_requests_of_some_bytes(
    s3: S3, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(store, "_REQUEST_BYTES", 1_000)
    sizes: list[int] = []

    def seen(answer: Answer) -> Answer:
        sizes.append(len(answer[1]))
        return answer

    s3.faults["GET"] = seen
    objects = store.Objects("s3://bucket/below")
    body = random.Random(size).randbytes(size)
    written = objects.put("name", body)
    assert (objects.get(written), s3.uploads) == (body, {})
    pieces = sizes[1:] if size > 1_000 else sizes  # the first asks for the size alone
    assert (sum(pieces), max(pieces) <= 1_000) == (size, True)
    for wrong in (body[:-1], body[:-1] + b"?", body + b"more", b""):
        s3.objects["bucket/below/name"] = wrong
        if wrong != body:
            with pytest.raises(CorruptState, match="object name: does not fit its size and checksum"):
                objects.get(written)
    objects.close()


@pytest.mark.parametrize("fault", [*CANNOT, *LIES])
async def test_a_store_that_gives_nothing_costs_a_replay(
    new_server: NewServer, s3: S3, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    first, second = new_server("a"), new_server("b")
    await snapshots_of(first)
    await first.die()
    s3.faults["GET"] = {**CANNOT, **LIES}[fault]
    actor = await second.open()
    assert actor.replay_count == 46
    assert ("more of the log is replayed" if fault in CANNOT else "it is passed over") in caplog.text
    assert state_of(actor) == replayed(second)
    s3.faults.clear()
    await second.hand_over()
    actor = await new_server("c").open()
    assert (actor.replay_count, state_of(actor)) == (0, replayed(second))


@pytest.mark.parametrize("gets", [1, 2])
async def test_a_takeover_waits_no_longer_than_a_replay_takes(
    new_server: NewServer,
    s3: S3,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    gets: int,
) -> None:
    first, second = new_server("a"), new_server("b")
    await snapshots_of(first)
    await first.die()
    asked = 0

    def slower(answer: Answer) -> Answer:
        nonlocal asked
        asked += 1
        if asked == gets:  # of a list, then of packs
            monkeypatch.setattr(checkpoints, "_TAKE_S", -1e9)
        return answer

    s3.faults["GET"] = slower
    actor = await second.open()
    assert (asked, actor.replay_count) == (gets, 46)
    assert "more of the log is replayed" in caplog.text
    assert state_of(actor) == replayed(second)


def test_a_store_that_hangs_is_not_asked_by_everybody(s3: S3, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_HANGS_S", 0)
    objects = store.Objects("s3://bucket/below")
    written = objects.put("name", b"body")
    s3.faults["GET"] = CANNOT["failing"]
    with pytest.raises(LogAway, match="500"):
        objects.get(written)
    s3.faults.clear()
    with pytest.raises(LogAway, match="is asked again within 60 s"):
        objects.get(written)
    assert objects.counts.failures == 1
    monkeypatch.setattr(objects, "_away_until_s", time.monotonic())
    assert objects.get(written) == b"body"
    objects.close()


@pytest.mark.parametrize("fault", LIES)
@pytest.mark.parametrize("what", ["list", "pack"])
async def test_of_a_damaged_snapshot_the_one_before_is_taken(
    new_server: NewServer, s3: S3, caplog: pytest.LogCaptureFixture, *, fault: str, what: str
) -> None:
    first, second = new_server("a"), new_server("b")
    await snapshots_of(first)
    await first.die()
    before, newest = (pointer for pointer in pointers(first).values() if pointer is not None)
    for name in newest.names() - before.names():
        if (name == newest.listed.name) == (what == "list"):
            status, body = LIES[fault]((200, s3.objects.pop(f"bucket/below/{name}")))
            if status == 200:
                s3.objects[f"bucket/below/{name}"] = body
    actor = await second.open()
    assert actor.replay_count == 46 - 20
    assert "it is passed over" in caplog.text
    assert state_of(actor) == replayed(second)


async def test_snapshots_on_the_brokers_are_read_and_go_once_two_are_objects(new_server: NewServer) -> None:
    old, new = new_server("a", has_objects=False), new_server("b")
    await snapshots_of(old)
    await old.die()
    actor = await new.open()
    assert (actor.replay_count, state_of(actor)) == (46 - 40, replayed(new))
    assert None in pointers(new).values()
    await new.hand_over()
    assert None in pointers(new).values()
    await new.open()
    await grow(new, 45, 70, 2)
    await new.hand_over()
    assert None not in pointers(new).values()
    actor = await old.open()  # which knows no pointers
    assert state_of(actor) == replayed(old)


async def test_an_owner_that_lost_the_log_deletes_nothing(new_server: NewServer, s3: S3) -> None:
    first, second = new_server("a"), new_server("b")
    await snapshots_of(first)
    await second.open()
    await grow(second, 45, 70, 1)
    left = dict(s3.objects)
    await first.hand_over()  # it has not heard
    assert left.items() <= s3.objects.items()
    await second.hand_over()
    assert named(second) <= set(s3.objects)
    actor = await new_server("c").open()
    assert (actor.replay_count, state_of(actor)) == (0, replayed(second))


@pytest.mark.parametrize("fault", [None, *CANNOT.values()])
async def test_a_deleted_crawl_leaves_nothing_for_long(
    new_server: NewServer, s3: S3, caplog: pytest.LogCaptureFixture, fault: Fault | None
) -> None:
    server = new_server("a")
    await snapshots_of(server)
    await server.hand_over()
    old = set(s3.objects)
    if fault is not None:
        s3.faults = {"LIST": fault}
    server.store.delete(SHARD.key)
    s3.faults = {}
    assert bool(s3.objects) == ("has to be by hand" in caplog.text) == (fault is not None)
    again = new_server("b")
    await created(again)
    await grow(again, 0, 25, 1)
    assert s3.objects
    assert not old & set(s3.objects)


@pytest.mark.parametrize("seed", range(5))
def test_packs_are_few_and_half_of_their_bytes_are_needed(
    s3: S3, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(store, "_OPTIONS", {})  # patient
    monkeypatch.setattr(checkpoints, "MOST_PACKS", 6)
    monkeypatch.setattr(checkpoints, "PIECE_BYTES", 5_000)
    draws = random.Random(seed)
    brokers = Kept()
    log = LogState("log")
    log.see(Record(0, None, Marker.of("a").pack()))
    place = InObjects("s3://bucket/below")
    writer = place.of(brokers, STATES, 0, log)
    bodies: dict[int, list[bytes]] = {}

    def whole(at: int) -> Part:
        bodies[at] = [b"".join(bodies[at])]
        return Part(at, bodies[at][0])

    for seq in range(1, 30):
        log.seq = seq
        changed: list[Part] = []
        for at in sorted({*draws.sample(sorted(bodies), min(len(bodies), 9)), *_new(draws, len(bodies))}):
            is_added = at in bodies and draws.random() < 0.7
            changed.append(Part(at, draws.randbytes(draws.choice((1, 100, 1_000))), is_added))
            bodies[at] = [*bodies[at], changed[-1].body] if is_added else [changed[-1].body]
        for _ in writer.write(Cut(seq, b"core", changed, whole), lambda: True):
            pass
        reader = place.of(brokers, STATES, 0, log)
        found: dict[int, list[bytes]] = {}
        for at, body in reader.states(next(reader.whole())):
            found.setdefault(at, []).append(body)
        assert found == bodies
        assert [writer.parts(at) for at in range(len(bodies) + 1)] == [*map(len, bodies.values()), 0]
        assert (
            len(writer._packs) <= 6 + 2 * len(b"".join(b"".join(parts) for parts in bodies.values())) / 5_000
        )
    assert len(writer._found) == 2
    kept = {name for version in writer._found for name in writer._pointer(version).names()}
    assert {f"bucket/below/{name}" for name in kept} == set(s3.objects)
    place.close()


class Kept(list[Record]):
    """A partition in memory."""

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> Future[int]:
        self.append(Record(len(self), key, value or b""))
        future: Future[int] = Future()
        future.set_result(len(self) - 1)
        return future

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[Record]:
        return iter(self[start:end])

    def end(self, topic: str, partition: int) -> int:
        return len(self)


def _new(draws: random.Random, n: int) -> range:
    return range(n, n + draws.choice((0, 1, 30)) + (n == 0))


def test_parts_are_divided_into_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "PIECE_BYTES", 1_000)
    parts = [Part(n, bytes(size)) for n, size in enumerate((0, 1, 999, 1_000, 5_000, *[90] * 300))]
    packfuls = list(checkpoints._packfuls(parts))
    assert [part for some in packfuls for part in some] == parts
    assert all(sum(len(part.body) for part in some[:-1]) < 1_000 for some in packfuls)


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 3))])
async def test_whatever_happens_states_are_those_of_a_replay(
    new_server: NewServer, s3: S3, seed: int
) -> None:
    draws = random.Random(seed)
    servers = [new_server(name, has_objects=name != "c") for name in "abc"]
    actor, owner, n = await created(servers[0]), servers[0], 0
    for _ in range(9):
        sent = draws.randrange(1, 45)
        for method in draws.choice(((), (), ("PUT",), ("GET",), ("POST", "LIST"))):
            s3.faults[method] = draws.choice([*CANNOT.values(), *(LIES.values() if method == "GET" else ())])
        await send(actor, n, n + sent, draws.choice((1, SITES, 40)))
        n += sent
        await draws.choice((owner.die, owner.hand_over))()
        owner = draws.choice(servers)
        actor = await owner.open()
        s3.faults.clear()
        assert state_of(actor) == replayed(owner)
    assert sum(server.store.counts.checkpoints_taken for server in servers) > 0
