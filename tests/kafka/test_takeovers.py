"""How long a shard takes to open at another server, by a replay and from a snapshot, to the same state."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import msgpack
import pytest
from benchmarks.pages import Corpus

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.features.html import Extractor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.crawls.turns import CrawlOpening
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.kafka.store import KafkaStore
from support.cluster.brokers import Brokers

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Exception ignored in. <_io.FileIO")]
"""Stored sites are left open by what reads them."""

EVENTS = [int(n) for n in os.environ.get("EVENTS", "600").split(",")]
"""Pages of a shard: `make test-kafka EVENTS=5000,20000`, half a minute each thousand."""

CORPORA = Path(os.environ.get("CORPORA", "corpora"))
"""Stored sites; without them the demonstration site is taken."""

PAGES_A_SITE = 150
GROUP = 16


def pages() -> Iterator[PageFetched]:
    """Yield pages of stored sites, each site under one name after the other."""
    corpus, extractor, n = Corpus(CORPORA), Extractor(), 0
    for copy in range(1_000_000):
        for name in corpus.names:
            for page in corpus.pages(name, PAGES_A_SITE):
                host = urlsplit(page.url).netloc
                site = f"{name.replace('_', '-')}-{copy}.test"
                url, body = page.url.replace(host, site), page.body.replace(host.encode(), site.encode())
                features = extractor.extract(body, url=url, content_type=page.content_type)
                yield PageFetched(f"e{n}", site, url, url, 200, "", b"", 1e9 + n, features)
                n += 1


class Server:
    """A process with a data folder, over the brokers."""

    def __init__(self, brokers: Brokers, folder: Path, prefix: str, snapshot_events: int = 10**9) -> None:
        self.store = KafkaStore.at(
            brokers.hosts, folder, properties={}, prefix=prefix, replicas=3, owner=folder.name
        )
        settings = Settings(snapshot_events=snapshot_events, snapshot_s=0)
        self.registry = CrawlRegistry(self.store, settings, Metrics())

    async def opened(self) -> tuple[float, int, bytes]:
        """Open the crawl; return how long that took, how many events were replayed, and its state."""
        began = time.perf_counter()
        self.registry.open_crawls.take("books")
        while True:
            with suppress(CrawlOpening):  # it goes on, on a busy machine beyond what a caller waits
                actor = await self.registry.open("books")
                break
        took_s = time.perf_counter() - began
        return took_s, actor.replay_count, msgpack.packb(actor.model.to_state())

    async def die(self) -> None:
        """End without a snapshot."""
        await self.registry.open_crawls.actors.pop("books").discard()
        await self.registry.close()
        self.store.close()

    async def close(self) -> None:
        """End with one."""
        await self.registry.close()
        self.store.close()


@pytest.mark.parametrize("events", EVENTS)
async def test_a_takeover_from_a_snapshot_gives_the_state_of_a_replay(
    brokers: Brokers, tmp_path: Path, capsys: pytest.CaptureFixture[str], events: int
) -> None:
    prefix = f"takeover-{events}"

    def server(name: str, **settings: int) -> Server:
        return Server(brokers, tmp_path / name, prefix, **settings)

    last = min(2_500, events // 2)  # half of what may come after a snapshot
    first = server("first", snapshot_events=events - last)
    actor = await first.registry.changes.create(CrawlConfig("books"))
    source = pages()
    while actor.model.seq <= events:
        await actor.submit_all(list(islice(source, GROUP)))
    await first.die()
    killed = server("after-a-kill")
    from_snapshot = await killed.opened()
    await killed.close()
    handed = server("handed-over")
    from_hand = await handed.opened()
    await handed.die()
    judge = server("judge")
    judge.store.topics.delete(judge.store.topics.states_of("books"))
    by_replay = await judge.opened()
    await judge.die()
    assert from_snapshot[2] == from_hand[2] == by_replay[2]
    assert by_replay[1] > events >= from_snapshot[1] > 0 == from_hand[1]
    with capsys.disabled():
        for name, (took_s, replayed, _) in (
            ("by a replay", by_replay),
            ("after a kill", from_snapshot),
            ("handed over", from_hand),
        ):
            print(f"\n{events} events, {name:12} {took_s:6.2f} s, {replayed} replayed", end="")
