"""Servers in the test process that take one shard of a crawl over from each other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import msgpack

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import PageFetched, decode
from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.testing.pages import page_of
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.frames import unpack
from linkscore_server.storage.kafka.brokers import Brokers
from linkscore_server.storage.kafka.records import LogState, Record
from linkscore_server.storage.kafka.snapshots import SnapshotPlace
from linkscore_server.storage.kafka.store import KafkaStore
from support.kafka.mock_brokers import PARTITIONS, MockTopics

SHARD = Shard("crawl", 1, PARTITIONS)
LOG, STATES = "log.crawl", "states.crawl"


class Compacting(Brokers):
    """Brokers whose topics of states are always compacted, and may lose or damage what they are given."""

    changes: Callable[[bytes, bytes], bytes | None] | None = None
    """Given key and value of a record of states, what comes of the value; None: it is refused."""

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[Record]:
        records = list(super().read(topic, partition, start, end))
        newest = {record.key: record.offset for record in records}
        for record in records:
            if topic != STATES or newest[record.key] == record.offset:
                yield record

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> Future[int]:
        if topic == STATES and value is not None and key is not None and self.changes is not None:
            value = self.changes(key, value)
            if value is None:
                raise LogAway("the brokers are away")
        return super().send(topic, partition, key, value)


@dataclass(slots=True)
class Server:
    """A process with a data folder; its registry has the one shard of these tests."""

    store: KafkaStore
    registry: CrawlRegistry

    async def open(self) -> CrawlActor:
        self.registry.open_crawls.take(SHARD.key)
        return await self.registry.open(SHARD.key)

    async def hand_over(self) -> None:
        await self.registry.open_crawls.save(SHARD.key)
        await self.registry.open_crawls.let_go(SHARD.key)

    async def die(self) -> None:
        """End without a snapshot."""
        actor = self.registry.open_crawls.actors.pop(SHARD.key)
        await actor.discard()

    async def shared(self, snapshots: int) -> None:
        """Wait until so many snapshots are there for others, or could not be."""
        counts = self.store.counts
        while counts.checkpoints + counts.checkpoint_failures < snapshots:
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        """Let go of everything but the brokers."""
        await self.registry.close()
        self.store._snapshots.close()
        self.store._files.close()


def server_of(
    brokers: Brokers, topics: MockTopics, folder: Path, snapshots: SnapshotPlace | None = None
) -> Server:
    """Return a process over brokers, which makes a snapshot every 20 events."""
    store = KafkaStore(brokers, topics, FileStore(folder), folder.name, snapshots)  # type: ignore[arg-type]
    settings = Settings(snapshot_events=20, snapshot_s=0, site_memory_mb=1)
    return Server(store, CrawlRegistry(store, settings, Metrics()))


async def created(server: Server) -> CrawlActor:
    config = CrawlConfig("crawl", groups=PARTITIONS)
    return await server.registry.changes.create(config, SHARD.group)


def fetched(n: int, sites: int = 7) -> PageFetched:
    host = f"{n % sites}.example"
    url = f"http://{host}/{n}"
    links = [(f"http://{host}/{n}/{i}", "html/body/a") for i in range(20)]
    features = page_of(url, ["html/body/p/text()"], links=links, texts=[(f"text {n}", 300)])
    return PageFetched(f"e{n}", host, url, url, 200, "", b"", 1e9 + n, features)


async def send(actor: CrawlActor, start: int, end: int, sites: int = 7) -> None:
    for n in range(start, end):
        await actor.submit(fetched(n, sites))


def state_of(actor: CrawlActor) -> bytes:
    packed: bytes = msgpack.packb(actor.model.to_state())
    return packed


def replayed(server: Server) -> bytes:
    """Return the state that the log gives, read by nothing but the rules of `records`."""
    brokers, state = server.store.brokers, LogState(LOG)
    model = CrawlModel(CrawlConfig("crawl"), ticket_key=server.store.ticket_key())
    for record in brokers.read(LOG, SHARD.group, 0, brokers.end(LOG, SHARD.group)):
        if (frame := state.see(record)) is not None:
            for seq, raw in enumerate(unpack(memoryview(record.value), frame), start=frame.first_seq):
                model.apply(seq, decode(raw))
    return bytes(msgpack.packb(model.to_state()))
