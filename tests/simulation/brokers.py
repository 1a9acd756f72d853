"""What brokers are to servers, played: records in order, a group that divides slots, a network that fails."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from linkscore_scoring.engine.groups import Shard, shards_of
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.kafka.brokers import DELIVERY_S
from linkscore_server.storage.kafka.records import Record
from simulation.world import Future, Process, World

Place = tuple[str, int]
"""A topic, and one of its partitions."""

_ROUND_S = 0.005  # of a request and its answer, on average
_SLOW_S = 3.0  # of the slowest ones
_HEARTBEAT_S = 1.0
_LATE_S = 40.0  # after which a request that was given up may still be done


class Network:
    """Records of all topics, and who reaches them; requests may be slow, lost, late, or done twice.

    Parameters
    ----------
    world
        Time and chance.
    trouble
        Share of appends that do not go well, while `is_bad`.
    """

    def __init__(self, world: World, trouble: float = 0.1) -> None:
        self.world = world
        self.records: dict[Place, list[Record]] = defaultdict(list)
        self.topics: dict[str, int] = {}
        self.cut: set[Process] = set()
        self.is_bad = False
        self.are_brokers_away = False
        self._trouble = trouble

    def reaches(self, process: Process) -> bool:
        """Say whether a process and the brokers hear of each other."""
        return process not in self.cut and not self.are_brokers_away

    def delay(self) -> float:
        """Draw what a message takes."""
        if self.is_bad and self.world.rng.random() < self._trouble:
            return self.world.rng.uniform(0, _SLOW_S)
        return self.world.rng.expovariate(2 / _ROUND_S)

    def add(self, place: Place, key: bytes | None, value: bytes) -> int:
        """Write a record; returns its offset."""
        found = self.records[place]
        found.append(Record(len(found), key, value))
        return len(found) - 1

    def request(self, what: str) -> None:
        """Let the request of a thread come to the brokers, or fail in the end."""
        world, process = self.world, self.world.running()
        world.sleep(self.delay())
        if not world.wait_until(lambda: self.reaches(process), DELIVERY_S):
            raise LogAway(f"{what}: no answer")

    def answer(self, what: str) -> None:
        """Let the answer to a thread come back, or never."""
        world, process = self.world, self.world.running()
        world.sleep(self.delay())
        if not self.reaches(process):
            world.sleep(DELIVERY_S)
            raise LogAway(f"{what}: no answer")

    def fails(self) -> bool:
        """Draw whether something does not go well."""
        return self.is_bad and self.world.rng.random() < self._trouble


class Client:
    """As `storage.kafka.brokers.Brokers`: of one process."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self.properties: dict[str, Any] = {}

    def append(self, topic: str, partition: int, key: bytes | None, value: bytes) -> int:
        """Write a record: now, and heard or not; late, or never; or now and once more later."""
        network, place = self._network, (topic, partition)
        if topic not in network.topics:
            raise LogAway(f"{topic}: no such topic")
        network.request(topic)
        if not network.fails():
            at = network.add(place, key, value)
            network.answer(topic)
            return at
        fate = network.world.rng.choice(["unheard", "late", "never", "twice"])
        if fate in ("unheard", "twice"):
            at = network.add(place, key, value)
        if fate in ("late", "twice"):
            network.world.at(
                network.world.rng.uniform(0, _LATE_S), lambda: _again(network, place, key, value)
            )
        if fate == "twice":
            network.answer(topic)
            return at
        network.world.sleep(DELIVERY_S)
        raise LogAway(f"{topic}: no answer")

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> Future:
        """Write a record of a snapshot later, or never; its writer hears of it, or does not."""
        network, world = self._network, self._network.world
        process, done = world.running(), world.future()

        def write() -> None:
            if not network.reaches(process) or topic not in network.topics or network.fails():
                world.at(DELIVERY_S, lambda: done.set_exception(LogAway(f"{topic}: no answer")))
                return
            at = network.add((topic, partition), key, value or b"")
            world.at(network.delay(), lambda: done.set_result(at))

        world.at(network.delay(), write)
        return done

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[Record]:
        """Yield records, some at a time."""
        while start < end:
            self._network.request(topic)
            found = self._network.records[topic, partition][start:end]
            some = found[: self._network.world.rng.randint(1, len(found))]
            self._network.answer(topic)
            yield from some
            start += len(some)

    def end(self, topic: str, partition: int) -> int:
        """Return the offset of the next record."""
        self._network.request(topic)
        found = len(self._network.records[topic, partition])
        self._network.answer(topic)
        return found

    def close(self) -> None:
        """Do nothing."""


def _again(network: Network, place: Place, key: bytes | None, value: bytes) -> None:
    if place[0] in network.topics:
        network.add(place, key, value)


class Topics:
    """As `storage.kafka.topics.Topics`: of one process."""

    secret, owners = "ticket-key", "owners"

    def __init__(self, network: Network) -> None:
        self._network = network

    def log_of(self, crawl: str) -> str:
        """Return the topic of a crawl."""
        return f"log.{crawl}"

    def states_of(self, crawl: str) -> str:
        """Return the topic of the snapshots of a crawl."""
        return f"states.{crawl}"

    def draft_of(self, crawl: str) -> str:
        """Return the topic of logs that take the place of a crawl's."""
        return f"draft.{crawl}"

    def shards(self) -> list[Shard]:
        """Return the shards of all crawls."""
        self._network.request("topics")
        found = [
            shard
            for name, n in self._network.topics.items()
            if name.startswith("log.")
            for shard in shards_of(name.removeprefix("log."), n)
        ]
        self._network.answer("topics")
        return found

    def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has."""
        self._network.request("topics")
        return self._network.topics.get(topic, 0)

    def make(self, topic: str, partitions: int, **_: str) -> None:
        """Make a topic, if there is none."""
        self._network.request("topics")
        self._network.topics.setdefault(topic, partitions)
        self._network.answer("topics")

    def check(self, topic: str) -> None:
        """Find nothing wrong."""


@dataclass(eq=False)
class Member:
    """A process in the group, as the coordinator knows it."""

    process: Process
    seen_s: float
    is_silent: bool = False
    generation: int = 0
    has: set[int] = field(default_factory=set)
    to_revoke: set[int] = field(default_factory=set)
    to_assign: set[int] = field(default_factory=set)


class Coordinator:
    """Divides slots among members, cooperative: what moves is revoked first, what stays is not touched."""

    def __init__(self, network: Network, slots: int, session_s: float) -> None:
        self.network = network
        self.session_s = session_s
        self.members: list[Member] = []
        self._slots = slots
        self._generation = 0
        self._look()

    def join(self, member: Member) -> None:
        """Take a member in."""
        self.members.append(member)
        self.divide()

    def leave(self, member: Member) -> None:
        """Let a member go, with all that it has."""
        if member in self.members:
            self.members.remove(member)
            self.divide()

    def forget(self) -> None:
        """Lose all members, as a coordinator that begins anew without them."""
        self.members.clear()
        self._generation += 1

    def divide(self) -> None:
        """Give free slots to those who have few, and ask those who have many for some."""
        self._generation += 1
        if not self.members:
            return
        most = -(-self._slots // len(self.members))
        for member in self.members:
            keeps = member.has - member.to_revoke
            for slot in self._drawn(keeps)[most:]:
                member.to_revoke.add(slot)
        free = set(range(self._slots)) - {slot for member in self.members for slot in member.has}
        for slot in self._drawn(free):
            least = min(self.members, key=lambda member: len(member.has - member.to_revoke))
            least.has.add(slot)
            least.to_assign.add(slot)

    def commit(self, member: Member, slot: int) -> None:
        """Refuse who is no member, or has not heard of the newest generation."""
        if member not in self.members:
            raise KafkaException(KafkaError(KafkaError.UNKNOWN_MEMBER_ID))
        if member.generation != self._generation:
            raise KafkaException(KafkaError(KafkaError.ILLEGAL_GENERATION))
        assert slot in member.has

    def hear(self, member: Member) -> None:
        """Let a member know of the newest generation."""
        member.generation = self._generation

    def _look(self) -> None:
        """Give up those that are silent for a session."""
        world = self.network.world
        for member in list(self.members):
            process = member.process
            is_heard = not (member.is_silent or process.is_paused or process.is_dead)
            if self.network.are_brokers_away or (is_heard and self.network.reaches(process)):
                member.seen_s = world.now
            elif world.now - member.seen_s > self.session_s:
                self.leave(member)
        world.at(_HEARTBEAT_S, self._look)

    def _drawn(self, slots: Iterable[int]) -> list[int]:
        found = sorted(slots)
        self.network.world.rng.shuffle(found)
        return found


class GroupConsumer:
    """As `confluent_kafka.Consumer` in a group: asked by one thread."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator
        self._network = coordinator.network
        self._process = self._network.world.running()
        self._member: Member | None = None
        self._heard_s = 0.0

    def subscribe(
        self, topics: Sequence[str], **callbacks: Callable[[Any, list[TopicPartition]], None]
    ) -> None:
        """Ask for a share."""
        [self._topic] = topics
        self._callbacks = callbacks

    def poll(self, seconds: float) -> None:
        """Hear what the group says, by callbacks."""
        self._network.world.sleep(seconds)
        member, now = self._member, self._network.world.now
        if self._network.reaches(self._process):
            if member is None:
                self._member = Member(self._process, now)
                self._coordinator.join(self._member)
            elif member not in self._coordinator.members:
                self._lose(member)
            else:
                self._hear(member)
            self._heard_s = now
        elif member is not None and now - self._heard_s > self._coordinator.session_s:
            self._lose(member)

    def commit(self, *, offsets: Sequence[TopicPartition], asynchronous: bool) -> None:
        """Ask whether a slot is still this process's."""
        assert self._member is not None
        try:
            self._network.request("commit")
            self._coordinator.commit(self._member, offsets[0].partition)
            self._network.answer("commit")
        except LogAway as exc:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from exc

    def memberid(self) -> str:
        """Return the name of this member: nobody asks for it here."""
        return ""

    def incremental_assign(self, partitions: list[TopicPartition]) -> None:
        """Do nothing: nothing is consumed."""

    pause = incremental_assign

    def close(self) -> None:
        """Leave the group, when what it had is let go of."""
        if self._member is not None:
            held = self._member.has - self._member.to_assign
            self._call("on_revoke", held)
            self._coordinator.leave(self._member)

    def _hear(self, member: Member) -> None:
        self._coordinator.hear(member)
        if member.to_revoke:
            slots = set(member.to_revoke)
            unheard = slots & member.to_assign
            self._call("on_revoke", slots - unheard)
            member.to_revoke -= slots
            member.to_assign -= unheard
            member.has -= slots
            if member in self._coordinator.members:
                self._coordinator.divide()
        elif member.to_assign:
            slots, member.to_assign = member.to_assign, set()
            self._call("on_assign", slots)

    def _lose(self, member: Member) -> None:
        self._member, member.is_silent = None, True
        self._call("on_lost", member.has - member.to_assign)

    def _call(self, name: str, slots: set[int]) -> None:
        if slots:
            self._callbacks[name](self, [TopicPartition(self._topic, slot) for slot in sorted(slots)])


@dataclass(frozen=True)
class _Message:
    """As what a consumer gives."""

    place: Place
    at: int
    said: bytes | None

    def partition(self) -> int:
        return self.place[1]

    def offset(self) -> int:
        return self.at

    def value(self) -> bytes | None:
        return self.said

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self.said is None else None


class TopicConsumer:
    """As `confluent_kafka.Consumer` of partitions by hand, from their beginning: asked by one thread."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._process = network.world.running()
        self._read: dict[Place, int] = {}
        self._unended: set[Place] = set()

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        """Read some partitions."""
        self._read = {(found.topic, found.partition): 0 for found in partitions}
        self._unended = set(self._read)

    def poll(self, seconds: float) -> _Message | None:
        """Return the next record, or that one partition has ended, the first time."""
        world = self._network.world
        if self._network.reaches(self._process):
            ready = [place for place, at in self._read.items() if at < len(self._network.records[place])]
            if ready or self._unended:
                world.sleep(self._network.delay())
                return self._next(world.rng.choice(sorted(ready or self._unended)))
        world.sleep(seconds)
        return None

    def close(self) -> None:
        """Do nothing."""

    def _next(self, place: Place) -> _Message:
        at, records = self._read[place], self._network.records[place]
        if at < len(records):
            self._read[place] += 1
            return _Message(place, at, records[at].value)
        self._unended.discard(place)
        return _Message(place, at, None)
