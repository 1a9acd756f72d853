"""Crawls that are asked for open first, others wait meanwhile; no crawl waits for another one's lock."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import FeedbackGiven
from linkscore_scoring.errors import LimitExceeded
from linkscore_server.crawls import open_crawls
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.crawls.turns import CrawlOpening, Locks, OpeningOrder, set_wait, wait_s
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.base import CrawlLog
from linkscore_server.storage.files import FileLog, FileStore

EVENTS = 300
PATIENCE_S = 60.0


class ReadLog(FileLog):
    """Counts the events that are replayed, in the store's list; waits at the gate of its crawl."""

    def __init__(self, folder: Path, store: Watched) -> None:
        super().__init__(folder)
        self._store = store

    def read(self, after: int = 0) -> Iterator[tuple[int, bytes]]:
        for seq, event in super().read(after):
            self._store.read.append(self._folder.name)
            assert self._store.gates.get(self._folder.name, OPEN).wait(PATIENCE_S)
            yield seq, event


OPEN = threading.Event()
OPEN.set()


class Watched(FileStore):
    """A folder of crawls; `read` names the crawl of each event that was replayed, in order."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.read: list[str] = []
        self.gates: dict[str, threading.Event] = {}

    def open(self, shard: str) -> CrawlLog:
        super().open(shard).close()
        return ReadLog(self.crawl_folder(shard), self)


async def made(store: FileStore, *names: str) -> None:
    registry = CrawlRegistry(store, Settings(snapshot_events=10**9, snapshot_s=0), Metrics())
    await registry.recover()
    for name in names:
        actor = await registry.changes.create(CrawlConfig(name))
        await actor.submit_all([feedback(n) for n in range(EVENTS)])
        await actor.discard()
        registry.open_crawls.actors.pop(name)
    await registry.close()


def feedback(n: int) -> FeedbackGiven:
    return FeedbackGiven(f"f{n}", "a.org", f"http://a.org/{n}", b"", 1.0, 1e9)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Watched]:
    made_store = Watched(tmp_path)
    await made(made_store, "a", "b", "c")
    made_store.read.clear()
    yield made_store
    made_store.close()


async def until(found: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not found():
            await asyncio.sleep(0)


async def test_the_crawl_that_is_asked_for_opens_before_the_rest_of_those_opened_in_advance(
    store: Watched,
) -> None:
    """Two others are at event 1 of 300 when it is asked for; each replays one event more at most."""
    store.gates = {name: threading.Event() for name in "ab"}
    registry = CrawlRegistry(store, Settings(), Metrics())
    await registry.recover()
    await until(lambda: {"a", "b"} <= set(store.read))
    asking = asyncio.create_task(registry.open("c"))
    await until(lambda: "c" in store.read)
    for gate in store.gates.values():
        gate.set()
    actor = await asyncio.wait_for(asking, PATIENCE_S)
    replayed_before = store.read[: len(store.read) - store.read[::-1].index("c")]
    assert actor.model.feedbacks == EVENTS
    assert replayed_before.count("c") == EVENTS + 1
    assert max(replayed_before.count("a"), replayed_before.count("b")) <= 3
    await until(lambda: len(registry.actors()) == 3)
    await registry.close()


async def test_a_crawl_that_is_being_opened_in_advance_goes_first_once_it_is_asked_for(
    store: Watched,
) -> None:
    store.gates = {name: threading.Event() for name in "ab"}
    registry = CrawlRegistry(store, Settings(), Metrics())
    await registry.recover()
    await until(lambda: {"a", "b"} <= set(store.read))
    asking = asyncio.create_task(registry.open("b"))
    await asyncio.sleep(0)
    for gate in store.gates.values():
        gate.set()
    await asyncio.wait_for(asking, PATIENCE_S)
    last = len(store.read) - store.read[::-1].index("b")
    assert store.read[:last].count("a") <= 3
    await registry.close()


async def test_who_does_not_wait_hears_how_far_it_is_and_the_opening_goes_on(store: Watched) -> None:
    store.gates = {"c": threading.Event()}
    registry = CrawlRegistry(store, Settings(), Metrics())
    await registry.recover()

    async def call() -> None:
        set_wait(0.01)
        await registry.open("c")

    with pytest.raises(CrawlOpening, match="crawl 'c' is being opened"):
        await asyncio.create_task(call())
    await until(lambda: "c" in store.read)
    with pytest.raises(CrawlOpening, match=r"event 1 of 301 of its log is replayed|being opened; try"):
        await asyncio.create_task(call())
    store.gates["c"].set()
    assert (await asyncio.wait_for(registry.open("c"), PATIENCE_S)).model.feedbacks == EVENTS
    assert store.read.count("c") == EVENTS + 1, "one opening, however many asked"
    await registry.close()


async def test_a_server_that_stops_does_not_wait_for_openings(store: Watched) -> None:
    store.gates = {name: threading.Event() for name in "ab"}
    registry = CrawlRegistry(store, Settings(), Metrics())
    await registry.recover()
    await until(lambda: {"a", "b"} <= set(store.read))
    closing = asyncio.create_task(registry.close())
    await asyncio.sleep(0)
    for gate in store.gates.values():
        gate.set()
    await asyncio.wait_for(closing, PATIENCE_S)
    assert len(store.read) < EVENTS
    assert registry.damaged == {}


@pytest.mark.parametrize("change", ["create", "change", "delete"])
async def test_no_change_of_a_crawl_waits_for_the_replay_of_another(store: Watched, change: str) -> None:
    store.gates = {"a": threading.Event()}
    registry = CrawlRegistry(store, Settings(), Metrics())
    await registry.recover()
    replaying = asyncio.create_task(registry.changes.change("a", observe_only=True))
    await until(lambda: "a" in store.read)
    await asyncio.wait_for(registry.open("b"), PATIENCE_S)
    if change == "create":
        await asyncio.wait_for(registry.changes.create(CrawlConfig("new")), PATIENCE_S)
    elif change == "change":
        await asyncio.wait_for(registry.changes.change("b", observe_only=True), PATIENCE_S)
    else:
        await asyncio.wait_for(registry.changes.delete("b"), PATIENCE_S)
    assert not replaying.done()
    store.gates["a"].set()
    assert (await asyncio.wait_for(replaying, PATIENCE_S)).model.config.observe_only
    await registry.close()


async def test_no_more_crawls_are_made_at_the_same_time_than_there_may_be(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "other")
    registry = CrawlRegistry(store, Settings(max_crawls=3), Metrics())
    await registry.recover()
    made = await asyncio.gather(
        *(registry.changes.create(CrawlConfig(f"c{n}")) for n in range(8)), return_exceptions=True
    )
    assert sum(isinstance(one, LimitExceeded) for one in made) == 5
    assert len(registry.names()) == 3
    await registry.close()
    store.close()


async def test_as_many_crawls_are_open_at_the_same_time_as_descriptors_allow(
    store: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Openings under way count: one that finds no place waits for them instead of failing."""
    monkeypatch.setattr(open_crawls, "_LOOK_S", 3_600.0)
    registry = CrawlRegistry(store, Settings(), Metrics(), most_open=1)
    most = 0

    async def call(name: str) -> int:
        nonlocal most
        feedbacks = (await registry.open(name)).model.feedbacks
        most = max(most, len(registry.actors()))
        return feedbacks

    await registry.recover()
    async with asyncio.timeout(PATIENCE_S):
        for _ in range(10):
            found = await asyncio.gather(
                *(asyncio.create_task(call(n)) for n in "abc"), return_exceptions=True
            )
            assert {type(one) for one in found} <= {int, LimitExceeded}
            assert EVENTS in found
    assert most == 1
    await registry.close()


def test_a_lock_is_one_as_long_as_somebody_holds_it_and_is_forgotten_then() -> None:
    locks = Locks()
    held = locks["a"]
    assert locks["a"] is held
    assert locks["b"] is not held
    del held
    assert len(locks._known) == 0


def test_those_asked_for_go_first_in_the_order_of_asking_and_some_at_a_time() -> None:
    order = OpeningOrder(1)
    opened = [order.opening(name) for name in "ab"]
    opened[0].__enter__()
    order.ask("b")
    order.go_on("a", 1, 9)  # nobody that is asked for is being opened yet
    opened[1].__enter__()
    order.go_on("b", 5, 9)
    assert "event 5 of 9" in str(order.progress("b"))
    order.close()
    with pytest.raises(CrawlOpening, match="stops"):
        order.go_on("a", 2, 9)
    for opening in opened:
        opening.__exit__(None, None, None)


@pytest.mark.parametrize(("remaining_s", "waited_s"), [(None, 20.0), (1.0, 0.75), (1e6, 20.0), (-1.0, -0.75)])
async def test_a_caller_waits_for_a_share_of_its_deadline(remaining_s: float | None, waited_s: float) -> None:
    set_wait(remaining_s)
    assert wait_s() == waited_s
