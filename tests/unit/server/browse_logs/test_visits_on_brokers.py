"""Browse logs of a crawl whose log is on brokers: what is mined is what a server with files mines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("confluent_kafka", reason="needs the extra kafka")

from prometheus_client import CollectorRegistry

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore_scoring.browse_logs.mining import MiningSettings
from linkscore_scoring.engine.config import CrawlConfig, PolicyChoice
from linkscore_server.browse_logs.manager import BrowseLogManager
from linkscore_server.browse_logs.metrics import BrowseMetrics
from linkscore_server.browse_logs.mining_pool import MiningPool
from linkscore_server.browse_logs.settings import BrowseLogSettings
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage import failpoints
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.kafka.brokers import Brokers
from support.browse_logs.visit_logs import MIDNIGHT, SITE
from support.kafka.mock_brokers import PARTITIONS, MockBrokers, MockTopics
from support.kafka.shards import SHARD, Server, server_of

CONFIG = CrawlConfig("crawl", groups=PARTITIONS, policy=PolicyChoice("news_prefix", {"min_pages": 1}))


class Killed(Exception):
    """The process was ended where a failpoint is."""


def batch(n: int) -> pb.ImportBrowseRecordsRequest:
    """Return a batch of three visits of a day of its own."""
    columns = pb.BrowseColumns(
        texts=["one", "two", "three", f"http://{SITE}/news/{n}"],
        epoch_ms=[1_000 * (MIDNIGHT + 86_400 * n)] * 3,
        clients=[0, 1, 2],
        urls=[3] * 3,
        referrers=[0] * 3,
    )
    return pb.ImportBrowseRecordsRequest(batch_id=str(n), columns=columns)


class Machine:
    """The registry of a server, and its browse logs."""

    def __init__(self, registry: CrawlRegistry) -> None:
        self.registry = registry
        self.logs = BrowseLogManager(
            registry,
            BrowseLogSettings(browse_mine_min_visits=1_000_000),
            BrowseMetrics(CollectorRegistry()),
            lambda: 0.0,
        )
        registry.before_serving.append(
            lambda shard, model: self.logs.visits(shard).recover(model.ledger.batches)
        )

    async def take(self, n: int) -> bool:
        """Take a batch in; says whether it was new."""
        return await self.logs.take(await self.registry.open(SHARD.key), batch(n), []) is not None

    async def mined(self) -> tuple[Any, ...]:
        """Return what is mined of the site, and what is there of visits."""
        actor = await self.registry.open(SHARD.key)
        result = await self.logs.mine(actor, SITE, MiningSettings())
        assert result is not None
        return result.event.mined, await self.logs.spans(actor), list(await self.logs.days(actor))


class Clustered(Machine):
    """A server over brokers."""

    def __init__(self, server: Server) -> None:
        super().__init__(server.registry)
        self.server = server

    async def open(self) -> None:
        await self.server.open()

    async def die(self) -> None:
        with suppress(KeyError):
            await self.server.die()


@pytest.fixture
def brokers() -> Iterator[Brokers]:
    mock = MockBrokers()
    made = Brokers(mock.hosts)
    made.topics = MockTopics(mock)  # type: ignore[attr-defined]
    yield made
    made.close()


@pytest.fixture
async def machines(
    brokers: Brokers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Clustered, Clustered, Machine]]:
    """Two servers over brokers, of which the first has the crawl, and one with files."""

    async def run(self: MiningPool, call: Callable[[Any], Any], job: object) -> Any:
        return await asyncio.to_thread(call, job)

    monkeypatch.setattr(MiningPool, "run", run)
    a, b = (Clustered(server_of(brokers, brokers.topics, tmp_path / name)) for name in "ab")  # type: ignore[attr-defined]
    store = FileStore(tmp_path / "alone")
    alone = Machine(CrawlRegistry(store, Settings(), Metrics()))
    for machine in (a, alone):
        await machine.registry.changes.create(CONFIG, SHARD.group)
    yield a, b, alone
    for machine in (a, b, alone):
        await machine.logs.close()
    await a.server.close()
    await b.server.close()
    await alone.registry.close()
    store.close()


async def test_what_is_mined_follows_the_crawl_there_and_back(
    machines: tuple[Clustered, Clustered, Machine], brokers: Brokers
) -> None:
    a, b, alone = machines
    for n, (machine, other) in enumerate([(a, b), (b, a), (a, b)]):
        assert await machine.take(n)
        assert await alone.take(n)
        await machine.server.hand_over()
        await other.open()
        assert not await other.take(n)
        assert await other.mined() == await alone.mined()
    assert a.logs.visits(SHARD.key).salt() == b.logs.visits(SHARD.key).salt()
    assert brokers.topics.kept_s == {"visits.crawl": 90 * 86_400}  # type: ignore[attr-defined]
    a.registry.store.delete("crawl")
    assert "visits.crawl" not in brokers.topics.made  # type: ignore[attr-defined]


@pytest.mark.parametrize("place", ["visits.drafted", "visits.sent", "log.applied", "visits.noted"])
async def test_whoever_takes_over_has_what_was_acknowledged(
    machines: tuple[Clustered, Clustered, Machine], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    a, b, alone = machines
    assert await a.take(1)

    def reached(passed: str) -> None:
        if passed == place:
            raise Killed

    with monkeypatch.context() as killing:
        killing.setattr(failpoints, "reached", reached)
        with suppress(Exception):
            await a.take(2)
            await a.mined()
    await a.die()
    await b.open()
    await b.take(2)
    for n in (1, 2):
        await alone.take(n)
    assert await b.mined() == await alone.mined()
    await b.server.hand_over()
    await a.open()
    assert await a.mined() == await alone.mined()


async def test_a_batch_that_the_brokers_did_not_take_can_be_sent_again(
    machines: tuple[Clustered, Clustered, Machine], brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, _, alone = machines

    def away(*args: object) -> None:
        raise LogAway("the brokers are away")

    with monkeypatch.context() as without:
        without.setattr(brokers, "send", away)
        with pytest.raises(LogAway):
            await a.take(1)
    assert await a.take(1)
    assert await alone.take(1)
    with monkeypatch.context() as without:
        without.setattr(brokers, "end", away)
        with pytest.raises(LogAway):
            await a.mined()
    assert await a.mined() == await alone.mined()
