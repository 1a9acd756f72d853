"""One process of a cluster: what it takes, what it lets go of, and whom it believes."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from linkscore_scoring.engine.groups import Shard
from linkscore_server.cluster import cluster as room
from linkscore_server.cluster.cluster import Cluster
from linkscore_server.cluster.group import NoShare
from linkscore_server.cluster.owners import ClusterOwners
from linkscore_server.cluster.routes import Route
from linkscore_server.cluster.slots import slot_of
from linkscore_server.grpc.errors import NotServing
from linkscore_server.storage.base import LogAway

SLOTS = 4
SHARDS = [Shard("books", group, 8) for group in range(8)]
OWN, OTHER = "own:1", "other:1"


class FakeOwner:
    """Another process, or this one."""

    def __init__(self) -> None:
        self.is_closed = False

    async def close(self) -> None:
        self.is_closed = True


class FakeGroup:
    """Assigns what the test says."""

    def __init__(self) -> None:
        self.mine: frozenset[int] = frozenset()
        self.member = "mine"
        self.is_away = False

    def join(self) -> None: ...

    def leave(self) -> None: ...

    def confirm(self, slot: int) -> bool:
        if self.is_away:
            raise LogAway("no answer")
        return slot in self.mine


class FakeTable:
    """Routes in the order in which they were published."""

    def __init__(self) -> None:
        self.published: list[tuple[int, str]] = []
        self.is_away = False
        self.refused = 0

    def start(self) -> None: ...

    def close(self) -> None: ...

    def publish(self, slot: int, address: str) -> Route:
        if self.is_away:
            self.refused += 1
            raise LogAway("no answer")
        self.published.append((slot, address))
        return Route(address, len(self.published) + 100)


class FakeRegistry:
    """Keys of shards."""

    lease: Any = None

    def __init__(self) -> None:
        self.open_crawls = self
        self.taken: set[str] = set()
        self.opened: list[str] = []
        self.saved: set[str] = set()

    def take(self, key: str) -> None:
        self.taken.add(key)

    def keys(self) -> list[str]:
        return sorted(self.taken)

    def open_soon(self, keys: list[str]) -> None:
        self.opened += keys

    async def save(self, key: str) -> None:
        assert key in self.taken  # it is served still
        self.saved.add(key)

    async def let_go(self, key: str) -> None:
        await asyncio.sleep(0)
        self.taken.discard(key)


class Process:
    """A process of a cluster, all but the cluster played."""

    def __init__(self) -> None:
        self.group, self.table, self.registry = FakeGroup(), FakeTable(), FakeRegistry()
        self.peers: dict[str, FakeOwner] = {}
        self.owners = ClusterOwners(FakeOwner(), self._connect)  # type: ignore[arg-type]
        self.owners.address, self.owners.slots = OWN, SLOTS
        self.took: list[Shard] = []
        self.cluster = Cluster(
            self.owners,
            self.registry,  # type: ignore[arg-type]
            lambda: SHARDS,
            self.took.extend,
        )

    def _connect(self, address: str) -> Any:
        self.peers[address] = FakeOwner()
        return self.peers[address]

    async def assign(self, *slots: int) -> None:
        self.group.mine |= set(slots)
        await asyncio.to_thread(self.cluster.taken, frozenset(slots))

    async def until(self, is_so: Any) -> None:
        async with asyncio.timeout(10):
            while not is_so():
                await asyncio.sleep(0.01)

    def keys_of(self, *slots: int) -> set[str]:
        return {shard.key for shard in SHARDS if slot_of(shard, SLOTS) in slots}


@pytest.fixture
async def process() -> AsyncIterator[Process]:
    """A process to which slots 0 and 1 are assigned, among another one that has the rest."""
    made = Process()
    made.cluster.read()
    joining = asyncio.create_task(made.cluster.join(made.group, made.table))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    await made.assign(0, 1)
    for slot in (2, 3):
        made.cluster.heard(slot, Route(OTHER, 5))
    await joining
    await made.until(lambda: made.registry.opened)
    yield made
    await made.cluster.close()


@pytest.mark.parametrize("processes", [2, 3, 5, 8])
@pytest.mark.parametrize("groups", [8, 16, 40])
def test_runs_of_slots_have_about_as_many_groups_of_a_crawl(processes: int, groups: int) -> None:
    slots = {slot_of(Shard("books", group, groups), 64) for group in range(groups)}
    assert len(slots) == groups
    bounds = [round(64 * n / processes) for n in range(processes + 1)]
    shares = [len(slots & set(range(*run))) for run in itertools.pairwise(bounds)]
    assert max(shares) - min(shares) <= 3


async def test_slots_that_are_assigned_bring_their_shards_and_are_told(process: Process) -> None:
    assert process.registry.taken == process.keys_of(0, 1) == set(process.registry.opened)
    assert process.table.published == [(0, OWN), (1, OWN)]
    assert {shard.key for shard in process.took} == process.keys_of(0, 1)
    served = {shard.key for shard in SHARDS if process.cluster.serves(shard)}
    assert served == process.keys_of(0, 1)


async def test_probes_are_not_told_of_a_member_that_leaves(
    process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_TAKEN_S", 0.01)
    assert process.owners.member() == "mine"
    await process.cluster.leave()
    assert process.owners.member() == ""


async def test_slots_that_are_taken_back_are_saved_and_served_until_another_has_them(
    process: Process,
) -> None:
    process.group.mine -= {1}
    await asyncio.to_thread(process.cluster.given_up, frozenset({1}))
    assert process.registry.saved == process.keys_of(1)
    assert process.registry.taken == process.keys_of(0, 1)
    process.cluster.heard(1, Route(OTHER, 200))
    await process.until(lambda: process.registry.taken == process.keys_of(0))
    assert not any(process.cluster.serves(shard) for shard in SHARDS if slot_of(shard, SLOTS) == 1)


async def test_who_leaves_serves_until_others_have_all_slots(process: Process) -> None:
    leaving = asyncio.create_task(process.cluster.leave())
    process.group.mine = frozenset()
    process.cluster.heard(0, Route(OTHER, 200))
    await process.until(lambda: process.registry.taken == process.keys_of(1))
    assert not leaving.done()
    process.cluster.heard(1, Route(OTHER, 201))
    await leaving
    assert process.registry.taken == set()


async def test_who_leaves_keeps_what_nobody_takes(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_TAKEN_S", 0.01)
    process.group.mine = frozenset()
    await process.cluster.leave()
    assert process.registry.taken == process.keys_of(0, 1)


async def test_the_last_process_waits_for_nobody(process: Process) -> None:
    for slot in (2, 3):
        process.cluster.heard(slot, Route(OWN, 200))
    await process.until(lambda: process.owners.all == [process.owners.local])
    process.group.mine = frozenset()
    await process.cluster.leave()
    assert process.registry.taken == process.keys_of(0, 1)


async def test_a_process_that_was_given_up_holds_on_until_another_one_says_it_has_the_slot(
    process: Process,
) -> None:
    process.group.mine -= {0, 1}  # without a word: it was stopped, or the coordinator is gone
    await asyncio.sleep(0.05)
    assert process.registry.taken == process.keys_of(0, 1)
    process.cluster.heard(0, Route(OTHER, 200))
    await process.until(lambda: process.registry.taken == process.keys_of(1))
    assert process.owners.of(next(s for s in SHARDS if slot_of(s, SLOTS) == 0)) is process.peers[OTHER]


async def test_who_has_a_slot_after_all_says_so_again(process: Process) -> None:
    process.cluster.heard(0, Route(OTHER, 200))  # late: it was stopped between its assignment and its word
    process.table.published = [(0, OWN)] * 150  # so that the next word has a higher offset
    await process.until(lambda: len(process.table.published) == 151)
    assert process.table.published[-1] == (0, OWN)
    assert process.registry.taken == process.keys_of(0, 1)
    assert process.owners.route(0) == Route(OWN, 251)


async def test_while_the_coordinator_is_away_nothing_is_taken_or_let_go(process: Process) -> None:
    process.group.is_away = True
    process.cluster.heard(0, Route(OTHER, 200))
    await asyncio.sleep(0.1)
    assert process.registry.taken == process.keys_of(0, 1)
    with pytest.raises(LogAway, match="no answer"):
        await process.cluster.confirm(SHARDS[0])
    process.group.mine -= {0}
    process.group.is_away = False
    await process.until(lambda: process.registry.taken == process.keys_of(1))


async def test_a_shard_is_not_opened_when_the_group_has_gone_on(process: Process) -> None:
    shard = next(shard for shard in SHARDS if slot_of(shard, SLOTS) == 0)
    await process.cluster.confirm(shard)
    process.group.mine -= {0}
    with pytest.raises(LogAway, match="another process has these sites"):
        await process.cluster.confirm(shard)
    await process.until(lambda: process.registry.taken == process.keys_of(1))


async def test_slots_are_taken_when_the_brokers_answer_again(process: Process) -> None:
    process.table.is_away = True
    await process.assign(2)
    await asyncio.sleep(0.05)
    assert (2, OWN) not in process.table.published
    process.table.is_away = False
    await process.until(lambda: (2, OWN) in process.table.published)
    assert process.registry.taken == process.keys_of(0, 1, 2)


async def test_slots_that_are_taken_back_meanwhile_are_not_taken(process: Process) -> None:
    process.group.mine = frozenset()
    await asyncio.to_thread(process.cluster.taken, frozenset({3}))
    await asyncio.sleep(0.05)
    assert process.keys_of(3).isdisjoint(process.registry.taken)


async def test_slots_that_are_lost_before_anybody_heard_of_them_are_let_go_of(process: Process) -> None:
    process.table.is_away = True
    await process.assign(2)
    await process.until(lambda: process.table.refused > 0)
    assert process.cluster.held_count == 3
    process.group.mine -= {2}  # the group went on without a word, as after a pause
    process.table.is_away = False
    await process.until(lambda: process.registry.taken == process.keys_of(0, 1))
    assert process.cluster.held_count == 2
    assert (2, OWN) not in process.table.published


async def test_a_front_joins_when_every_slot_is_somebodys_and_has_none_itself() -> None:
    front = Process()
    front.cluster.read()
    joining = asyncio.create_task(front.cluster.join(NoShare(), front.table))  # type: ignore[arg-type]
    for slot in range(SLOTS):
        await asyncio.sleep(0.01)
        assert not joining.done()
        front.cluster.heard(slot, Route(OTHER, slot))
    await joining
    assert (front.table.published, front.registry.taken) == ([], set())
    assert not any(front.cluster.serves(shard) for shard in SHARDS)
    assert {front.owners.of(shard) for shard in SHARDS} == {front.peers[OTHER]}
    with pytest.raises(LogAway, match="another process has these sites"):
        await front.cluster.confirm(SHARDS[0])
    await front.cluster.close()


def owners_of_four_slots() -> tuple[ClusterOwners, dict[str, FakeOwner]]:
    peers: dict[str, FakeOwner] = {}
    local = FakeOwner()
    owners = ClusterOwners(local, lambda address: peers.setdefault(address, FakeOwner()))  # type: ignore[arg-type]
    owners.address, owners.slots = OWN, SLOTS
    return owners, peers


async def test_the_highest_epoch_counts_whatever_comes_last() -> None:
    owners, peers = owners_of_four_slots()
    with pytest.raises(NotServing, match="no process has these sites yet"):
        owners.of(SHARDS[0])
    slot = slot_of(SHARDS[0], SLOTS)
    assert owners.hear(slot, Route(OTHER, 7))
    assert not owners.hear(slot, Route(OWN, 3))
    assert owners.of(SHARDS[0]) is peers[OTHER]
    assert owners.hear(slot, Route(OWN, 8))
    assert owners.of(SHARDS[0]) is owners.local


async def test_calls_to_a_process_that_lost_its_last_slot_are_ended() -> None:
    owners, peers = owners_of_four_slots()
    for slot in range(SLOTS):
        owners.hear(slot, Route(OTHER, slot))
    await owners.all_there()
    assert [name for name, _ in owners.named()] == [OWN, OTHER]
    for slot in range(SLOTS):
        assert not peers[OTHER].is_closed
        owners.hear(slot, Route(OWN, 10 + slot))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert peers[OTHER].is_closed
    assert owners.all == [owners.local]
