"""Sites of all crawls share one bound; the oldest are evicted, lost ones rebuilt, callers told in time."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import msgpack
import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import PageFetched, decode
from linkscore_scoring.testing.pages import page_of
from linkscore_server import residency
from linkscore_server.crawls.memory import MemoryKeeper, MemoryShort, asked_at_most_each
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.crawls.writer import CrawlClosed
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.check import problems_of_store
from linkscore_server.storage.files import FileStore, read_segments
from linkscore_server.storage.replays import unlike_their_replay
from linkscore_server.storage.sites import SiteLost, reading_copy

SETTINGS = Settings(site_memory_mb=1, snapshot_events=40, snapshot_s=0)


def fetched(n: int) -> PageFetched:
    host = f"{n % 37}.example"
    url = f"http://{host}/{n}"
    links = [(f"http://{host}/{n}/{i}", "html/body/a") for i in range(20)]
    features = page_of(url, ["html/body/p/text()"], links=links, texts=[(f"text {n}", 300)])
    return PageFetched(f"e{n}", host, url, url, 200, "", b"", 1e9 + n, features)


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path)


@pytest.fixture
async def registry(store: FileStore) -> AsyncIterator[CrawlRegistry]:
    made = CrawlRegistry(store, SETTINGS, Metrics())
    await made.recover()
    yield made
    await made.close()
    store.close()


async def settled(registry: CrawlRegistry) -> None:
    await registry.memory.enforce_budget()
    assert not registry.memory.budget.is_over


def replayed(store: FileStore, name: str) -> bytes:
    """Return the state that the log of a crawl gives, every site in memory."""
    model = CrawlModel(CrawlConfig(name), ticket_key=store.ticket_key())
    for _, _, seq, raw in read_segments(store.crawl_folder(name)):
        model.apply(seq, decode(raw))
    return bytes(msgpack.packb(model.to_state()))


async def test_sites_of_all_crawls_keep_within_one_bound_and_nothing_is_lost(
    registry: CrawlRegistry, store: FileStore
) -> None:
    actors = [await registry.changes.create(CrawlConfig(name)) for name in "ab"]
    for n in range(150):
        await actors[n % 3 > 0].submit(fetched(n))
    await settled(registry)
    assert [len(actor.model.sites) for actor in actors] == [37, 37]
    in_memory = sum(len(actor.model.sites.in_memory) for actor in actors)
    assert 2 <= in_memory < 74
    assert registry.memory.budget.used <= 1 << 20
    assert msgpack.packb(actors[1].model.to_state()) == replayed(store, "b")


@pytest.mark.parametrize("share", ["measured", "events only"])
async def test_a_folder_copied_at_any_moment_opens_as_its_log_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: str
) -> None:
    """As after a kill: between and within snapshots, before and after evictions."""
    if share == "events only":
        monkeypatch.setattr(residency, "_SHARE", 0)
        monkeypatch.setattr(residency, "_EVICTED_SHARE", 0)
    store = FileStore(tmp_path / "sound")
    registry = CrawlRegistry(store, Settings(site_memory_mb=1, snapshot_events=10), Metrics())
    actor = await registry.changes.create(CrawlConfig("a"))
    for n in range(140):
        await actor.submit(fetched(n % 5 * 37 if n % 2 else n))
        if n % 20 == 13:
            async with actor._turn:  # nobody writes meanwhile: files are copied one after the other
                shutil.copytree(tmp_path / "sound", tmp_path / f"{n}")
    await registry.close()
    store.close()
    added = 0
    for folder in (tmp_path / f"{n}" for n in range(13, 140, 20)):
        copied = FileStore(folder)
        assert list(problems_of_store(copied)) == []
        assert list(unlike_their_replay(copied, lambda host: host)) == []
        with reading_copy(folder / "crawls" / "a" / "sites.db") as states:
            added += sum(len(states.changes(place)) for place, _ in enumerate(states.sites()))
        copied.close()
    assert added or share == "measured"


async def test_memory_grows_no_faster_than_it_is_given_back(registry: CrawlRegistry) -> None:
    actor = await registry.changes.create(CrawlConfig("a"))
    most = 0
    for at in range(0, 400, 10):
        await asyncio.gather(*(actor.submit(fetched(n)) for n in range(at, at + 10)))
        most = max(most, registry.memory.budget.used)
    assert most < 4.5 * (1 << 20), "the bound and one group of ten sites, 330 KB each"
    assert len(actor.model.sites) == 37


async def test_the_coldest_site_of_any_crawl_goes_first(registry: CrawlRegistry) -> None:
    cold, hot = [await registry.changes.create(CrawlConfig(name)) for name in ("cold", "hot")]
    for actor in (cold, hot):
        for n in range(18):
            await actor.submit(fetched(n))
    await settled(registry)
    assert len(hot.model.sites.in_memory) == 18
    kept = list(cold.model.sites.in_memory)
    assert 1 <= len(kept) < 18
    assert cold.model.sites["17.example"] in kept


async def test_a_restart_brings_no_site_back_before_it_is_asked_for(
    registry: CrawlRegistry, store: FileStore
) -> None:
    actor = await registry.changes.create(CrawlConfig("a"))
    for n in range(111):
        await actor.submit(fetched(n))
    before = msgpack.packb(actor.model.to_state())
    await asyncio.sleep(0)
    again = CrawlRegistry(store, SETTINGS, Metrics())
    await registry.close()
    await again.recover()
    opened = await again.open("a")
    assert opened.model.sites.in_memory == []
    assert (opened.model.shard("3.example").model.pages, len(opened.model.sites)) == (3, 37)
    assert msgpack.packb(opened.model.to_state()) == before
    await again.close()


def damage(store: FileStore, name: str, sites: int) -> None:
    """Destroy the states of the first sites of a crawl that is closed."""
    with closing(sqlite3.connect(store.crawl_folder(name) / "sites.db")) as con, con:
        con.execute("UPDATE states SET state = x'00' WHERE place < ?", (sites,))


async def test_a_site_that_cannot_be_read_back_is_rebuilt_from_the_log(
    registry: CrawlRegistry, store: FileStore
) -> None:
    actor = await registry.changes.create(CrawlConfig("a"))
    for n in range(111):
        await actor.submit(fetched(n))
    before = msgpack.packb(actor.model.to_state())
    await registry.evict("a")
    del actor
    damage(store, "a", sites=5)

    async def call(n: int) -> object:
        return await (await registry.open("a")).submit(fetched(n))

    await asyncio.create_task(call(110))  # a sound site
    with pytest.raises(CrawlClosed, match="try again"):
        await asyncio.create_task(call(111))  # of 0.example
    told = await asyncio.create_task(call(111))
    assert not told.duplicate, "its site was read first: it did not get into the log"
    model = (await registry.open("a")).model
    assert [name for name in model.sites if model.shard(name).model.pages not in (3, 4)] == []
    assert msgpack.packb(model.to_state()) == replayed(store, "a")
    assert msgpack.packb(model.to_state()) != before


async def test_a_question_about_a_lost_site_is_answered_the_next_time(
    registry: CrawlRegistry, store: FileStore
) -> None:
    actor = await registry.changes.create(CrawlConfig("a"))
    for n in range(74):
        await actor.submit(fetched(n))
    assert await registry.evict("a")
    damage(store, "a", sites=1)

    async def pages() -> int:
        return (await registry.open("a")).model.shard("0.example").model.pages

    with pytest.raises(SiteLost):
        await asyncio.create_task(pages())
    assert await asyncio.create_task(pages()) == 2


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


def test_the_kernel_is_asked_again_when_its_answer_is_too_old() -> None:
    asked = iter(range(1, 10))
    always, once = (
        asked_at_most_each(0.0, lambda: next(asked)),
        asked_at_most_each(3600.0, lambda: next(asked)),
    )
    assert [once(), once(), always(), always(), once()] == [1, 1, 2, 3, 1]
