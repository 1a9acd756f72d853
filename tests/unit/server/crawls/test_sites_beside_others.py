"""While a site is read back, written or evicted, others are answered."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.files import FileStore

SETTINGS = Settings(snapshot_events=1_000, snapshot_s=0)
_HANGS_S = 60


def told(n: int, site: str) -> FeedbackGiven:
    return FeedbackGiven(f"{n}", site, f"http://{site}/{n}", b"", 1.0, 0.0)


class Gate:
    """Stops a method in its thread until it is `open`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: object, method: str) -> None:
        self._loop, self._call = asyncio.get_running_loop(), getattr(owner, method)
        self.reached, self.open = asyncio.Event(), threading.Event()
        monkeypatch.setattr(owner, method, self._stopped)

    def _stopped(self, *args: object) -> object:
        self._loop.call_soon_threadsafe(self.reached.set)
        assert self.open.wait(_HANGS_S)
        return self._call(*args)


@pytest.fixture
async def registry(tmp_path: Path) -> AsyncIterator[CrawlRegistry]:
    store = FileStore(tmp_path)
    made = CrawlRegistry(store, SETTINGS, Metrics())
    await made.recover()
    yield made
    await made.close()
    store.close()


@pytest.fixture
async def crawls(registry: CrawlRegistry) -> list[CrawlActor]:
    """Return a crawl of which all sites but the last are evicted, and another one."""
    actors = [await registry.changes.create(CrawlConfig(name)) for name in ("a", "b")]
    for actor in actors:
        for n in range(4):
            await actor.submit(told(n, f"{n}.example"))
    registry.memory.budget.limit = 0
    await actors[0].evict_sites(3)
    registry.memory.budget.limit = 1 << 30
    assert len(actors[0].model.sites.in_memory) == 1
    return actors


@pytest.mark.parametrize("asks", ["event", "question"])
async def test_a_site_is_read_back_beside_the_calls_of_others(
    monkeypatch: pytest.MonkeyPatch, crawls: list[CrawlActor], asks: str
) -> None:
    actor, other = crawls
    gate = Gate(monkeypatch, actor._log.states, "get")
    waits = actor.submit(told(5, "0.example")) if asks == "event" else actor.site("0.example")
    call = asyncio.create_task(waits)
    await asyncio.wait_for(gate.reached.wait(), _HANGS_S)
    assert await other.submit(told(6, "0.example"))
    assert sum(facts.pages for _, facts in actor.model.sites.facts()) == 0
    assert not call.done()
    gate.open.set()
    await call
    assert actor.model.seq == (6 if asks == "event" else 5)
    assert len(actor.model.sites.in_memory) == 2


@pytest.mark.parametrize("work", ["snapshot", "eviction"])
async def test_a_site_is_written_beside_the_calls_of_others(
    monkeypatch: pytest.MonkeyPatch, registry: CrawlRegistry, crawls: list[CrawlActor], work: str
) -> None:
    other, actor = crawls
    gate = Gate(monkeypatch, actor._log.states, "put")
    registry.memory.budget.limit = 0 if work == "eviction" else 1 << 30
    call = asyncio.create_task(actor.save() if work == "snapshot" else actor.evict_sites(1))
    await asyncio.wait_for(gate.reached.wait(), _HANGS_S)
    assert await other.submit(told(6, "3.example"))
    assert actor.model.sites.lru < 1e9
    assert len(list(actor.model.sites.facts())) == 4
    assert not call.done()
    gate.open.set()
    await call


async def test_a_site_that_is_at_hand_is_answered_at_once(crawls: list[CrawlActor]) -> None:
    actor = crawls[0]
    async with actor._turn:  # no thread would get it
        assert (await actor.site("3.example")).model.name == "3.example"
