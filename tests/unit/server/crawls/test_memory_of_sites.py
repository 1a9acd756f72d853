"""Sites of all crawls share one bound; the oldest are evicted, lost ones rebuilt, callers told in time.

Callers are refused before the disk is full.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.state import packed
from linkscore_scoring.testing.crawl import page_of
from linkscore_server.crawls import opening
from linkscore_server.crawls.actor import CrawlActor, SiteHolds
from linkscore_server.crawls.memory import DiskFull, MemoryKeeper, MemoryShort, Space
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability import Metrics
from linkscore_server.settings import Settings
from linkscore_server.store import Store, open_store

SETTINGS = Settings(site_memory_mb=1)


def fetched(n: int) -> PageFetched:
    host = f"{n % 37}.example"
    url = f"http://{host}/{n}"
    links = [(f"http://{host}/{n}/{i}", "html/body/a") for i in range(20)]
    features = page_of(url, ["html/body/p/text()"], links=links, texts=[(f"text {n}", 300)])
    return PageFetched(f"e{n}", host, url, url, 200, "", b"", 1e9 + n, features)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path))


@pytest.fixture
async def registry(store: Store) -> AsyncIterator[CrawlRegistry]:
    made = CrawlRegistry(store, SETTINGS, Metrics())
    await made.recover()
    yield made
    await made.close()
    store.close()


async def made(registry: CrawlRegistry, name: str) -> CrawlActor:
    await registry.create(CrawlConfig(name))
    return await asyncio.create_task(registry.open(name))  # whose end lets it go


async def settled(registry: CrawlRegistry) -> None:
    await registry.memory.enforce_budget()
    assert not registry.memory.budget.is_over


def replayed(store: Store, name: str) -> bytes:
    """Return the state that the log of a crawl gives, every site in memory."""
    model = opening.replayed(store.open(name), ticket_key=store.secret())
    return bytes(packed(model.to_state()))


async def test_sites_of_all_crawls_keep_within_one_bound_and_nothing_is_lost(
    registry: CrawlRegistry, store: Store
) -> None:
    actors = [await made(registry, name) for name in "ab"]
    for n in range(150):
        await actors[n % 3 > 0].submit(fetched(n))
    await settled(registry)
    assert [len(actor.model.sites) for actor in actors] == [37, 37]
    in_memory = sum(len(actor.model.sites.in_memory) for actor in actors)
    assert 2 <= in_memory < 74
    assert registry.memory.budget.used <= 1 << 20
    assert packed(actors[1].model.to_state()) == replayed(store, "b")


async def test_the_coldest_site_of_any_crawl_goes_first(registry: CrawlRegistry) -> None:
    cold, hot = [await made(registry, name) for name in ("cold", "hot")]
    for actor in (cold, hot):
        for n in range(30):
            await actor.submit(fetched(n))
    await settled(registry)
    assert len(hot.model.sites.in_memory) == 30
    kept = list(cold.model.sites.in_memory)
    assert 1 <= len(kept) < 30
    assert cold.model.sites["29.example"] in kept


async def test_a_restart_serves_before_its_sites_are_read(registry: CrawlRegistry, store: Store) -> None:
    actor = await made(registry, "a")
    for n in range(111):
        await actor.submit(fetched(n))
    before = packed(actor.model.to_state())
    await asyncio.sleep(0)
    again = CrawlRegistry(store, SETTINGS, Metrics())
    await registry.close()
    await again.recover()
    opened = await again.open("a")
    assert len(opened.model.sites.in_memory) < 37
    assert (opened.model.shard("3.example").model.pages, len(opened.model.sites)) == (3, 37)
    assert packed(opened.model.to_state()) == before
    await again.close()


async def test_a_site_that_is_not_in_memory_goes_on_when_its_budget_does(registry: CrawlRegistry) -> None:
    await made(registry, "a")
    actor = await registry.change("a", limits={"budget": {"max_site_fetches": 2}})
    await asyncio.gather(*(actor.submit(fetched(n)) for n in range(150)))
    assert len(actor.model.sites.in_memory) < len(actor.model.budget.stopped) == 37
    assert not (await registry.change("a", limits={"budget": {"max_site_fetches": 9}})).model.budget.stopped


async def test_a_question_about_many_sites_lets_events_go_before_the_rest_of_it(
    registry: CrawlRegistry,
) -> None:
    actor = await made(registry, "a")
    asked = asyncio.create_task(actor.ask_each(range(20_000), lambda site: time.sleep(0.001)))
    await actor.submit(fetched(1))
    assert not asked.done()
    asked.cancel()


async def test_events_go_on_when_who_waited_for_their_site_gives_up() -> None:
    told = list[str]()
    holds = SiteHolds(lambda: told.append("look again"))
    holds.by_threads = {"b"}

    async def wait() -> None:
        async with holds.holding(["a", "b"], lambda: None):
            pass

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    assert (holds.may_be_written({"a"}), told) == (False, [])
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert (holds.may_be_written({"a"}), told) == (True, ["look again"])


def test_near_its_bound_the_process_keeps_fewer_sites_and_at_it_takes_nothing_in() -> None:
    used = [0]
    settings = Settings(site_memory_mb=100, memory_mb=200)
    keeper = MemoryKeeper(settings, Metrics(), list, used=lambda: used[0])
    keeper.budget.used = 100 << 20
    keeper.check()
    assert keeper.budget.limit == 100 << 20
    used[0] = 185 << 20
    for _ in range(5):
        keeper.check()
    lowered = keeper.budget.limit
    assert 32 << 20 < lowered < 80 << 20
    used[0] = 201 << 20
    with pytest.raises(MemoryShort, match="memory_mb: the process takes 201 MiB of 200"):
        keeper.check()
    for _ in range(200):
        with pytest.raises(MemoryShort):
            keeper.check()
    assert keeper.budget.limit == 32 << 20
    used[0] = 100 << 20
    for _ in range(100):
        keeper.check()
    assert keeper.budget.limit == 100 << 20


MIB = 1 << 20


@pytest.mark.parametrize(
    ("free_mib", "whole", "refused"),
    [(256, 100 << 30, False), (255, 100 << 30, True), (4, 64 * MIB, False), (3, 64 * MIB, True)],
)
def test_below_the_bound_callers_are_refused_on_a_small_disk_below_a_twentieth_of_it(
    free_mib: int, whole: int, refused: bool
) -> None:
    try:
        Space(256 * MIB, lambda: (free_mib * MIB, whole)).check()
    except DiskFull:
        assert refused
    else:
        assert not refused
