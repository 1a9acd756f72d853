"""While a site is read back, written or evicted, only its own events wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged, Event, FeedbackGiven, decode
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.crawls.writer import CrawlClosed, CrawlWriter
from linkscore_server.observability.metrics import Metrics
from linkscore_server.residency import ResidentCrawl, ResidentSites
from linkscore_server.settings import Settings
from linkscore_server.storage.files import FileStore

SETTINGS = Settings(snapshot_events=1_000, snapshot_s=0)
_HANGS_S = 60


def told(n: int, site: str) -> FeedbackGiven:
    return FeedbackGiven(f"{n}", site, f"http://{site}/{n}", b"", 1.0, 0.0)


def replayed(actor: CrawlActor) -> dict[str, Any]:
    """Return the state that the log of a crawl gives."""
    again = ResidentCrawl(actor.model.config, ticket_key=actor.model._ticket_key)
    for seq, raw in actor._log.read():
        again.apply(seq, decode(raw), raw=raw)
    return again.to_state()


@dataclass
class Work:
    """What a thread does to a site of a crawl: `begin` starts it, it stops at a method of the store."""

    actor: CrawlActor
    site: str
    method: str
    begin: Callable[[], Coroutine[Any, Any, object]]


class Gate:
    """Stops a method of the store about the first site, in its thread, until it is `open`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: object, method: str) -> None:
        self._loop, self._call = asyncio.get_running_loop(), getattr(owner, method)
        self.reached, self.open = asyncio.Event(), threading.Event()
        monkeypatch.setattr(owner, method, self._stopped)

    def _stopped(self, place: int, *args: object) -> object:
        if place:
            return self._call(place, *args)
        self._loop.call_soon_threadsafe(self.reached.set)
        assert self.open.wait(_HANGS_S)
        return self._call(place, *args)


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


@pytest.fixture
def work(request: pytest.FixtureRequest, registry: CrawlRegistry, crawls: list[CrawlActor]) -> Work:
    """Return the crawl whose large site is worked on, that site, by which method, and its begin."""
    evicted, whole = crawls
    match request.param:
        case "event":
            return Work(evicted, "0.example", "get", lambda: evicted.submit(told(5, "0.example")))
        case "question":
            return Work(evicted, "0.example", "get", lambda: evicted.site("0.example"))
        case "big question":
            return Work(evicted, "0.example", "get", lambda: evicted.ask(evicted.model.to_state))
        case "snapshot":
            return Work(whole, "0.example", "put", whole.save)
    registry.memory.budget.limit = 0
    return Work(whole, "0.example", "put", lambda: whole.evict_sites(1))


ALL = pytest.mark.parametrize("work", ["event", "question", "snapshot", "eviction"], indirect=True)


@ALL
async def test_events_of_other_sites_go_on(
    monkeypatch: pytest.MonkeyPatch, crawls: list[CrawlActor], work: Work
) -> None:
    monkeypatch.setattr("linkscore_server.crawls.snapshots._SLICE_BYTES", 1)
    gate = Gate(monkeypatch, work.actor._log.states, work.method)
    call = asyncio.create_task(work.begin())
    await asyncio.wait_for(gate.reached.wait(), _HANGS_S)
    for n, actor in enumerate(crawls, 10):
        assert await asyncio.wait_for(actor.submit(told(n, "3.example")), _HANGS_S)
        assert len(list(actor.model.sites.facts())) == 4
    assert not call.done()
    gate.open.set()
    await call


@ALL
async def test_events_of_the_site_itself_wait_in_their_order_and_are_logged_as_they_are_applied(
    monkeypatch: pytest.MonkeyPatch, work: Work
) -> None:
    gate, actor, done = Gate(monkeypatch, work.actor._log.states, work.method), work.actor, list[int]()
    call = asyncio.create_task(work.begin())
    await asyncio.wait_for(gate.reached.wait(), _HANGS_S)

    async def tell(n: int, *sites: str) -> None:
        await actor.submit_all([told(n * 10 + at, site) for at, site in enumerate(sites)])
        done.append(n)

    calls = [
        asyncio.create_task(tell(n, *sites))
        for n, sites in enumerate(
            [[work.site], ["new.example", work.site], ["new.example"], ["other.example"]]
        )
    ]
    await asyncio.wait_for(calls[3], _HANGS_S)
    assert done == [3], "the first three are about the site, or about one of a call before that waits for it"
    gate.open.set()
    await asyncio.gather(call, *calls)
    assert done == [3, 0, 1, 2]
    assert actor.model.to_state() == replayed(actor)


@ALL
@pytest.mark.parametrize("kind", ["changes all sites", "sites share what they know"])
async def test_what_is_about_all_sites_waits_for_each(
    monkeypatch: pytest.MonkeyPatch, work: Work, kind: str
) -> None:
    gate, actor = Gate(monkeypatch, work.actor._log.states, work.method), work.actor
    event: Event = told(9, "3.example")
    if kind == "changes all sites":
        event = ConfigChanged(actor.model.config.to_state())
    else:
        monkeypatch.setattr(ResidentCrawl, "writes_states", True)
    call = asyncio.create_task(work.begin())
    await asyncio.wait_for(gate.reached.wait(), _HANGS_S)
    change = asyncio.create_task(actor.submit(event))
    await asyncio.sleep(0.05)
    assert not change.done()
    gate.open.set()
    await asyncio.gather(call, change)


@pytest.mark.parametrize("work", ["question", "big question", "eviction"], indirect=True)
async def test_who_gives_up_leaves_no_thread_at_a_site_that_an_event_changes(
    monkeypatch: pytest.MonkeyPatch, registry: CrawlRegistry, work: Work
) -> None:
    gate, actor = Gate(monkeypatch, work.actor._log.states, work.method), work.actor
    call = asyncio.create_task(work.begin())
    await asyncio.wait_for(gate.reached.wait(), _HANGS_S)
    registry.memory.budget.limit = 1 << 30
    event = asyncio.create_task(actor.submit(told(9, work.site)))
    for _ in range(2):  # a server that stops may cancel what its caller gave up
        call.cancel()
        await asyncio.sleep(0.05)
    assert not call.done()
    assert not event.done()
    gate.open.set()
    await event
    with pytest.raises(asyncio.CancelledError):
        await call
    assert actor.model.to_state() == replayed(actor)


async def test_calls_that_wait_for_a_site_cost_events_of_others_nothing(
    monkeypatch: pytest.MonkeyPatch, crawls: list[CrawlActor]
) -> None:
    actor, looked_at, is_parked = crawls[0], list[object](), CrawlWriter._is_parked
    gate = Gate(monkeypatch, actor._log.states, "get")
    monkeypatch.setattr(CrawlWriter, "_is_parked", lambda *call: looked_at.append(call) or is_parked(*call))
    calls = [asyncio.create_task(actor.submit(told(n, "0.example"))) for n in range(10, 60)]
    await asyncio.wait_for(gate.reached.wait(), _HANGS_S)
    for n in range(60, 70):
        await actor.submit(told(n, "3.example"))
    assert len(looked_at) == 60
    gate.open.set()
    await asyncio.gather(*calls)
    assert len(looked_at) == 110


async def test_sites_of_calls_that_wait_find_no_more_room_than_others(
    monkeypatch: pytest.MonkeyPatch, registry: CrawlRegistry
) -> None:
    actor = await registry.changes.create(CrawlConfig("a"))
    await actor.submit_all([told(n, f"{n}.example") for n in range(20)])
    registry.memory.budget.limit = 0
    assert await actor.evict_sites(20) == 19
    actor.writer._places, seen, keep = 2, list[int](), ResidentSites._keep
    monkeypatch.setattr(ResidentSites, "_keep", lambda *call: seen.append(len(call[0]._live)) or keep(*call))
    await asyncio.gather(*(actor.submit(told(100 + n, f"{n}.example")) for n in range(20)))
    assert max(seen) <= 4, "one that stays, two read back for calls, one of the call before"


async def test_a_call_that_waits_for_a_place_gets_that_of_one_that_gave_up(
    monkeypatch: pytest.MonkeyPatch, crawls: list[CrawlActor]
) -> None:
    actor, gate = crawls[0], Gate(monkeypatch, crawls[0]._log.states, "get")
    actor.writer._places = 1
    given_up, *others = (asyncio.create_task(actor.submit(told(10 + n, f"{n}.example"))) for n in range(3))
    await asyncio.wait_for(gate.reached.wait(), _HANGS_S)
    given_up.cancel()
    await actor.site("2.example")  # after that all calls are looked at again
    await asyncio.wait_for(others[1], _HANGS_S)
    gate.open.set()
    await asyncio.wait_for(others[0], _HANGS_S)
    assert actor.model.to_state() == replayed(actor)


@pytest.mark.parametrize("end", [CrawlActor.close, CrawlActor.discard])
@pytest.mark.parametrize("is_big", [False, True])
async def test_a_question_that_waits_when_its_crawl_is_closed_leaves_its_files_closed(
    monkeypatch: pytest.MonkeyPatch,
    crawls: list[CrawlActor],
    end: Callable[[CrawlActor], Coroutine[Any, Any, None]],
    is_big: bool,
) -> None:
    actor = crawls[0]
    gate = Gate(monkeypatch, actor._log.states, "get")
    ask = partial(actor.ask, actor.model.to_state) if is_big else partial(actor.site, "0.example")
    first = asyncio.create_task(ask())
    await asyncio.wait_for(gate.reached.wait(), _HANGS_S)
    closing = asyncio.create_task(end(actor))
    await asyncio.sleep(0.05)
    second = asyncio.create_task(ask())
    gate.open.set()
    await asyncio.gather(first, closing, second, return_exceptions=True)
    assert actor._log.states._con is None
    with pytest.raises(CrawlClosed):
        await actor.site("1.example")


async def test_a_call_that_gave_up_while_its_site_was_read_is_not_in_the_log(
    monkeypatch: pytest.MonkeyPatch, crawls: list[CrawlActor]
) -> None:
    actor = crawls[0]
    gate = Gate(monkeypatch, actor._log.states, "get")
    call = asyncio.create_task(actor.submit(told(5, "0.example")))
    await asyncio.wait_for(gate.reached.wait(), _HANGS_S)
    call.cancel()
    gate.open.set()
    assert await actor.submit(told(6, "0.example"))
    assert actor.model.seq == actor._log.last_seq == 6, (
        "four sites, how the crawl is set up, and the second call"
    )


async def test_a_question_gives_up_what_found_no_room(
    registry: CrawlRegistry, crawls: list[CrawlActor]
) -> None:
    actor = crawls[0]
    registry.memory.budget.limit = registry.memory.budget.used
    assert (await actor.site("0.example")).model.name == "0.example"
    assert [shard.model.name for shard in actor.model.sites.in_memory] == ["3.example"]
    registry.memory.budget.limit = 1 << 30
    await actor.site("0.example")
    assert len(actor.model.sites.in_memory) == 2


async def test_a_site_that_is_at_hand_is_answered_at_once(crawls: list[CrawlActor]) -> None:
    actor = crawls[0]
    async with actor._turn:  # no thread would get it
        assert (await actor.site("3.example")).model.name == "3.example"
