"""What comes between two steps of a crawl: it is erased while it is opened, lost at once, asked by many."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import PageFetched
from linkscore_scoring.testing.crawl import page_of
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.learning import LearningPool
from linkscore_server.crawls.opening import opened
from linkscore_server.crawls.registry import CrawlNotFound, CrawlRegistry
from linkscore_server.observability import Metrics
from linkscore_server.settings import Settings
from linkscore_server.store import StoreAway, open_store


@pytest.fixture
async def registry(tmp_path: Path) -> AsyncIterator[CrawlRegistry]:
    made = CrawlRegistry(open_store(str(tmp_path)), Settings(), Metrics())
    await made.recover()
    await made.create(CrawlConfig("a"))
    yield made
    await made.close()
    made.store.close()


async def test_a_crawl_that_is_erased_while_it_is_opened_is_none(
    registry: CrawlRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = registry.store.open

    def erased(key: str) -> Any:
        shard = really(key)
        registry.store.delete(key)
        registry.store.write([])  # comes after the first events that are erased
        return shard

    monkeypatch.setattr(registry.store, "open", erased)
    with pytest.raises(CrawlNotFound):
        await registry.open("a")
    monkeypatch.undo()
    assert (registry.keys(), registry.damaged) == ([], {})
    await registry.create(CrawlConfig("a"))
    assert (await registry.open("a")).model.seq == 1


async def test_a_crawl_that_is_lost_as_soon_as_it_is_open_is_opened_again(
    registry: CrawlRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, looks, asking = list[CrawlActor](), list[CrawlActor](), list[asyncio.Task[CrawlActor]]()

    def is_lost(actor: CrawlActor) -> bool:
        looks.append(actor)
        assert len(looks) < 100, "is looked at for ever, and nobody else is served"
        return actor in lost

    def on_open(actor: CrawlActor) -> None:
        if not lost:
            lost.append(actor)
            asking.append(asyncio.create_task(registry.open("a")))

    monkeypatch.setattr(CrawlActor, "is_lost", property(is_lost))
    registry.on_open = on_open
    first = await registry.open("a")
    assert (await asking[0], first in lost) == (first, False)


async def test_a_site_of_a_crawl_that_was_erased_is_asked_for_again(registry: CrawlRegistry) -> None:
    await (await asyncio.create_task(registry.open("a"))).submit(fetched(1, 1))
    assert await registry.evict("a")
    actor = await registry.open("a")
    registry.store.delete("a")
    registry.store.write([])
    with pytest.raises(StoreAway, match="was deleted"):
        await actor.site("1.example")


class Held(Executor):
    """Does what it is given when it is told to."""

    def __init__(self) -> None:
        self.given: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, call: Callable[..., Any], /, *args: Any, **fields: Any) -> Future[Any]:
        self.given.append((Future(), lambda: call(*args, **fields)))
        return self.given[-1][0]

    def go_on(self) -> None:
        given, self.given = self.given, []
        for future, call in given:
            future.set_result(call())


def fetched(site: int, n: int) -> PageFetched:
    url = f"http://{site}.example/{n}"
    return PageFetched("", f"{site}.example", url, url, 200, "", b"", 1e9, page_of(url, ["html/body/p"]))


async def test_few_calls_read_sites_back_at_a_time(registry: CrawlRegistry) -> None:
    actor = await asyncio.create_task(registry.open("a"))
    for site in range(30):
        await actor.submit(fetched(site, 1))
    assert await registry.evict("a")
    shard, held = registry.store.open("a"), Held()
    actor = CrawlActor(
        opened(shard, ticket_key=registry.store.secret()),
        shard,
        learner=LearningPool(0),
        background=held,
        reader=held,
        metrics=Metrics(),
    )
    actor.start()
    coming = asyncio.gather(*(actor.submit(fetched(site, 2)) for site in range(30)))
    most = 0
    while not coming.done():
        await asyncio.sleep(0)
        most = max(most, len(held.given))
        held.go_on()
    assert most == 8
    closing = asyncio.create_task(actor.close())
    while not closing.done():
        held.go_on()
        await asyncio.sleep(0)
