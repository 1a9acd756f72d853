"""Servers of a cluster, run by their own code on played brokers; callers, and what must hold in the end."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from unittest import mock

import msgpack

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import PageFetched, decode
from linkscore_scoring.engine.groups import Shard, group_of, shards_of
from linkscore_server import tasks
from linkscore_server.cluster import cluster as cluster_room
from linkscore_server.cluster import group as group_room
from linkscore_server.cluster import routes as routes_room
from linkscore_server.cluster.cluster import Cluster
from linkscore_server.cluster.group import SlotGroup
from linkscore_server.cluster.owners import ClusterOwners
from linkscore_server.cluster.routes import RouteTable
from linkscore_server.crawls import turns as turns_room
from linkscore_server.crawls.changes import CrawlExists
from linkscore_server.crawls.open_crawls import CrawlNotFound
from linkscore_server.crawls.reads import CURRENT, set_reads
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.crawls.turns import CrawlOpening
from linkscore_server.crawls.writer import CrawlClosed
from linkscore_server.grpc.errors import NotServing
from linkscore_server.observability.metrics import Metrics
from linkscore_server.routing.coordinator import CrawlCoordinator
from linkscore_server.routing.peer_queries import PeerQueries
from linkscore_server.settings import Settings
from linkscore_server.storage.base import CrawlLog, LogAway
from linkscore_server.storage.frames import unpack
from linkscore_server.storage.kafka import checkpoints as checkpoints_room
from linkscore_server.storage.kafka.checkpoints import SharedCheckpoints
from linkscore_server.storage.kafka.records import LogState
from linkscore_server.storage.kafka.sharing import SharedStates
from linkscore_server.storage.kafka.store import KafkaStore
from linkscore_server.storage.sites import SiteStates
from simulation.brokers import Client, Coordinator, GroupConsumer, Network, TopicConsumer, Topics
from simulation.world import Killed, Process, World

CRAWL = "books"
SESSION_S = 8.0
NAMES, SLOTS = "abc", 4
_SITES = 2  # of each server
PAGES = 8  # of each site
_POLL_S = 1.0  # of the threads of group and table: longer than in earnest, for the sake of time
_CALL_S = 4.0  # after which a caller asks another server
_ASK_S = 30.0  # after which a server does without the answer of another
_SETTINGS = Settings(snapshot_events=5, snapshot_s=0)
_COME_AGAIN = (LogAway, NotServing, CrawlClosed, CrawlOpening)
"""What a caller repeats, as `tests/kafka/fleet.py` says it in codes."""

_WHILE_CREATING = (*_COME_AGAIN, CrawlExists, CrawlNotFound)
"""What a caller may hear of its creation too: two processes may be at it at once."""


class Disk:
    """What a server keeps over its restarts: the states of sites, as of the last cut."""

    folder = "disk"

    def __init__(self) -> None:
        self.cuts: dict[tuple[str, str], _Cut] = {}

    def shards(self) -> list[str]:
        """Return no logs: they are on the brokers."""
        return []

    def delete(self, _: str) -> None:
        """Leave what is of no log any more."""

    def close(self) -> None:
        """Do nothing."""


@dataclass
class _Cut:
    seq: int = 0
    core: bytes = b""
    sites: dict[int, tuple[str, bytes, bytes]] = field(default_factory=dict)
    changes: dict[int, list[bytes]] = field(default_factory=dict)


class _States(SiteStates):
    """States of sites on a played disk: a cut is there as a whole, or not."""

    def __init__(self, process: Process, disk: Disk, key: tuple[str, str]) -> None:
        super().__init__()
        self._process, self._disk, self._key = process, disk, key
        found = disk.cuts.get(key, _Cut())
        self.seq, self._core, self._sites = found.seq, found.core, dict(found.sites)
        self._changes = dict(found.changes)

    def core(self) -> bytes:
        return self._core

    def sites(self) -> Iterator[tuple[str, bytes]]:
        return iter([self._sites[place][:2] for place in sorted(self._sites)])

    def get(self, place: int) -> bytes:
        return self._sites[place][2]

    def put(self, place: int, name: str, facts: bytes, state: bytes) -> None:
        self._sites[place] = (name, facts, state)
        self._changes.pop(place, None)

    def add(self, place: int, name: str, facts: bytes, events: Sequence[bytes]) -> None:
        self._sites[place] = (name, facts, self._sites[place][2])
        self._changes[place] = self.changes(place) + list(events)

    def changes(self, place: int) -> list[bytes]:
        return self._changes.get(place, [])

    def commit(self, seq: int, core: bytes) -> None:
        if self._process.is_dead:
            raise Killed
        self.seq, self._core = seq, core
        self._disk.cuts[self._key] = _Cut(seq, core, dict(self._sites), dict(self._changes))

    def clear(self) -> None:
        self.seq, self._core, self._sites, self._changes = 0, b"", {}, {}
        self._disk.cuts.pop(self._key, None)

    def roll_back(self) -> None: ...

    def close(self) -> None: ...


class _Store(KafkaStore):
    """The store as it is, but for the disk; what its logs acknowledge is noted."""

    places_apart = 4  # of logs of some dozen events

    def __init__(self, server: Server) -> None:
        fleet = server.fleet
        super().__init__(Client(fleet.network), Topics(fleet.network), server.disk, server.address)  # type: ignore[arg-type]
        self._server = server

    def open(self, shard: str) -> CrawlLog:
        log = super().open(shard)
        append = log.append

        def noted(events: Sequence[bytes]) -> None:
            append(events)
            self._server.fleet.appended(shard, log.last_seq, events)

        log.append = noted  # type: ignore[method-assign]
        return log

    def _states(self, shard: Shard, log: LogState) -> SiteStates:
        if not self._server.fleet.shares_snapshots:
            return _States(self._server.process, self._server.disk, (shard.key, log.identity))
        checkpoints = SharedCheckpoints(self.brokers, self.topics.states_of(shard.crawl), shard.group, log)
        return SharedStates(None, checkpoints, self.counts)  # type: ignore[arg-type]


class Server:
    """One process of the cluster, as `app.Application` puts it together."""

    def __init__(self, fleet: Fleet, address: str, disk: Disk) -> None:
        self.fleet, self.address, self.disk = fleet, address, disk
        self.process = Process(fleet.world, address)
        self.is_serving = False
        self.starting = self.process.start(self._start())

    async def _start(self) -> None:
        self.store = store = _Store(self)
        self.registry = CrawlRegistry(store, _SETTINGS, _metrics(), owns=lambda _: False)
        self.queries = PeerQueries(self.registry, None, None)  # type: ignore[arg-type]
        self.owners = owners = ClusterOwners(self, partial(_Peer, self))  # type: ignore[arg-type]
        owners.address, owners.slots = self.address, self.fleet.slots
        self.coordinator = CrawlCoordinator(self.registry, owners, lambda: self.fleet.world.now, 100, _read)
        await _insistently(self.registry.recover)
        self.cluster = cluster = Cluster(owners, self.registry, store.topics.shards, self.coordinator.took)
        self.group = SlotGroup(
            {}, "owners", "owners", SESSION_S, taken=cluster.taken, given_up=cluster.given_up
        )
        table = RouteTable({}, store.brokers, "owners", owners.slots, heard=cluster.heard, read=cluster.read)
        await cluster.join(self.group, table)
        self.coordinator.start()
        self.is_serving = True

    async def stop(self) -> None:
        """End as on SIGTERM."""
        self.is_serving = False
        await self.cluster.leave()
        await self.cluster.close()
        await self.coordinator.close()
        await self.registry.close()

    async def create(self) -> None:
        """Create the crawl, or have the server do so that has its first group."""
        home: Any = self.owners.home(CRAWL)
        await home.create_here()

    async def page(self, event: PageFetched) -> None:
        """Take in a page, or have the server do so that has its group."""
        shard = self.fleet.shard_of(event.site)

        def sent(owner: Any) -> Awaitable[None]:
            return owner.page_here(shard.key, event)

        await self.owners.reach(shard, sent)

    async def knows(self, event: PageFetched, *, current: bool) -> bool:
        """Say whether a page is known, or have the server say so that has its group."""
        shard = self.fleet.shard_of(event.site)
        owner: Any = self.owners.of(shard)
        return bool(await owner.knows_here(shard.key, event, current=current))

    async def create_here(self) -> None:
        """Create the crawl, whose home this is."""
        request = pb.CreateCrawlRequest(crawl=pb.Crawl(name=f"crawls/{CRAWL}", groups=self.fleet.slots))
        await self.coordinator.create(request, None)

    async def page_here(self, key: str, event: PageFetched) -> None:
        """Take in a page of a group that is here."""
        actor = await self.registry.open(key)
        await actor.submit(event)

    async def knows_here(self, key: str, event: PageFetched, *, current: bool) -> bool:
        """Say whether a page of a group that is here is known."""
        set_reads(CURRENT if current else "")
        actor = await self.registry.open(key)
        return actor.model.is_repeat(event)

    async def ask(self, question: str, **values: Any) -> Any:
        """See `routing.owners.Owner`."""
        return await self.queries.answer(question, values)

    async def close(self) -> None:
        """See `routing.owners.Owner`."""


class _Peer:
    """Another server, over a network that loses, repeats and holds up messages."""

    def __init__(self, own: Server, address: str) -> None:
        self._own, self._address = own, address
        self._waiting: set[asyncio.Future[Any]] = set()

    async def create_here(self) -> None:
        await self._over(lambda server: server.create_here())

    async def page_here(self, key: str, event: PageFetched) -> None:
        await self._over(lambda server: server.page_here(key, event))

    async def knows_here(self, key: str, event: PageFetched, *, current: bool) -> bool:
        return bool(await self._over(lambda server: server.knows_here(key, event, current=current)))

    async def ask(self, question: str, **values: Any) -> Any:
        return await self._over(lambda server: server.ask(question, **values))

    async def close(self) -> None:
        for answer in list(self._waiting):
            _settle(answer, None, NotServing("it has nothing any more"))

    async def _over(self, do: Callable[[Server], Awaitable[Any]]) -> Any:
        network = self._own.fleet.network
        answer = asyncio.get_running_loop().create_future()
        self._waiting.add(answer)
        for _ in range(1 if not network.fails() else network.world.rng.choice([0, 2])):
            network.world.at(network.delay(), lambda: self._deliver(do, answer))
        try:
            async with asyncio.timeout(_ASK_S):
                return await answer
        except TimeoutError:
            raise NotServing("no answer") from None
        finally:
            self._waiting.discard(answer)

    def _deliver(self, do: Callable[[Server], Awaitable[Any]], answer: asyncio.Future[Any]) -> None:
        network, server = self._own.fleet.network, self._own.fleet.server_at(self._address)
        if server is None:
            self._answer(answer, None, NotServing("nobody is there"))
            return
        if server.process in network.cut or self._own.process in network.cut:
            return

        async def run() -> None:
            try:
                result, error = await do(server), None
            except Exception as exc:
                result, error = None, exc
            if not network.fails():
                network.world.at(network.delay(), lambda: self._answer(answer, result, error))

        server.process.loop.call_soon(lambda: server.process.start(run()))

    def _answer(self, answer: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
        if not self._own.process.is_dead and self._own.process not in self._own.fleet.network.cut:
            self._own.process.loop.call_soon(_settle, answer, result, error)


class Caller:
    """Sends the pages of a site, one after the other, each until it is acknowledged, to any server."""

    def __init__(self, fleet: Fleet, site: str) -> None:
        self._fleet, self._site = fleet, site
        self._n = 0

    @property
    def is_done(self) -> bool:
        """Whether all pages are acknowledged."""
        return self._n == PAGES

    def send(self) -> None:
        """Send the next page; again when there is no answer."""
        n, fleet = self._n, self._fleet
        if self.is_done:
            return
        fleet.call(lambda server: server.page(_page(self._site, n)), partial(self._acknowledged, n))
        fleet.world.at(_CALL_S, lambda: self.send() if self._n == n else None)

    def _acknowledged(self, n: int) -> None:
        if self._n == n:
            self._fleet.acknowledged.append((self._fleet.world.now, f"{self._site} {n}"))
            self._n += 1
            if self._fleet.are_read:
                self._fleet.look(_page(self._site, n))
            self._fleet.world.at(self._fleet.world.rng.uniform(0, 6), self.send)


class Fleet:
    """Everything: servers by name, callers, what was acknowledged.

    Parameters
    ----------
    seed
        Of every draw.
    are_read
        Whether all servers are asked for each page that is acknowledged.
    names
        Of the servers, a letter each.
    slots
        How many there are, and groups of the crawl.

    Attributes
    ----------
    acknowledged
        When and which page.
    trouble
        What may not happen and did.
    stale
        How many answers had not what was acknowledged before they were asked for.
    shares_snapshots
        Whether snapshots are on the brokers, and nowhere else; else each server has those that it made.
    """

    def __init__(self, seed: int, *, are_read: bool = False, names: str = NAMES, slots: int = SLOTS) -> None:
        self.are_read, self.names, self.slots = are_read, names, slots
        self.sites = [f"site{n}.test" for n in range(_SITES * len(names))]
        self.world = World(seed)
        self.network = Network(self.world)
        self.coordinator = Coordinator(self.network, slots, SESSION_S)
        self.servers: dict[str, Server] = {}
        self.acknowledged: list[tuple[float, str]] = []
        self.trouble: list[str] = []
        self.notes: list[str] = []
        self._disks = {name: Disk() for name in names}
        self._starts = Counter[str]()
        self._appended: list[tuple[str, int, list[bytes]]] = []
        self._is_created = False
        self.stale = 0
        self.shares_snapshots = self.world.rng.random() < 0.5
        self.network.topics["owners"] = slots

    def shard_of(self, site: str) -> Shard:
        """Return the shard of the crawl in which a site is."""
        return Shard(CRAWL, group_of(site, self.slots), self.slots)

    def start(self, name: str) -> None:
        """Start a server that does not run, which keeps its disk."""
        if name in self.servers:
            return
        self._starts[name] += 1
        self.servers[name] = Server(self, f"{name}:{self._starts[name]}", self._disks[name])
        self.note(f"start {name}")

    def kill(self, name: str) -> None:
        """End a server at once."""
        self.note(f"kill {name}")
        server = self.servers.pop(name)
        self.network.cut.discard(server.process)
        server.process.kill()

    def server_at(self, address: str) -> Server | None:
        """Return the server of an address, None if it has ended."""
        return next((server for server in self.servers.values() if server.address == address), None)

    def call(
        self,
        do: Callable[[Server], Awaitable[Any]],
        done: Callable[[], None],
        expected: tuple[type[Exception], ...] = _COME_AGAIN,
    ) -> None:
        """Have a server that serves do something, as a caller does: nothing is heard if it fails."""
        serving = [server for _, server in sorted(self.servers.items()) if server.is_serving]
        if not serving:
            return
        self._have(self.world.rng.choice(serving), do, done, expected)

    def _have(
        self,
        server: Server,
        do: Callable[[Server], Awaitable[Any]],
        done: Callable[[], None] = lambda: None,
        expected: tuple[type[Exception], ...] = _COME_AGAIN,
    ) -> None:
        async def run() -> None:
            try:
                await do(server)
            except Exception as exc:
                if isinstance(exc, expected):
                    return
                self.trouble.append(f"{self.world.now:.1f} {server.address}: {exc!r}")
                return
            self.world.at(self.network.delay(), done)

        server.process.loop.call_soon(lambda: server.process.start(run()))

    def look(self, event: PageFetched) -> None:
        """Ask each server for a page that is acknowledged, and for the current state of it."""
        serving = [server for _, server in sorted(self.servers.items()) if server.is_serving]
        for server, current in itertools.product(serving, (False, True)):
            self._have(server, partial(self._look, event, current))

    def look_again(self) -> None:
        """Ask for the last page of every site that is acknowledged."""
        for site in self.sites:
            self.look(_page(site, PAGES - 1))

    async def _look(self, event: PageFetched, current: bool, server: Server) -> None:
        if await server.knows(event, current=current):
            return
        self.note(f"stale {event.event_id} at {server.address}")
        if current:
            self.trouble.append(f"{self.world.now:.1f} {server.address} does not know {event.event_id}")
        self.stale += 1

    def appended(self, shard: str, last_seq: int, events: Sequence[bytes]) -> None:
        """Note what a log acknowledged; before its creation is, a crawl may be begun anew."""
        if self._is_created:
            self._appended.append((shard, last_seq - len(events) + 1, list(events)))
        self.note(f"append {shard} {last_seq}")

    def note(self, what: str) -> None:
        """Note what happened when, for people and for comparison."""
        self.notes.append(f"{self.world.now:9.3f} {what}")

    def digest(self) -> str:
        """Return a number of the whole run."""
        said = "\n".join([*self.notes, *map(repr, self.acknowledged)])
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def create(self) -> None:
        """Create the crawl, again until it is there."""
        if self._is_created:
            return
        self.call(lambda server: server.create(), self._created, _WHILE_CREATING)
        self.world.at(_CALL_S, self.create)

    def _created(self) -> None:
        if not self._is_created:
            self._is_created = True
            self.note("created")
            self.callers = [Caller(self, site) for site in self.sites]
            for caller in self.callers:
                self.world.at(self.world.rng.uniform(0, 3), caller.send)

    @property
    def is_done(self) -> bool:
        """Whether every page is acknowledged, or something went wrong."""
        return bool(self.trouble) or (self._is_created and all(caller.is_done for caller in self.callers))

    def judge(self) -> None:
        """Hold what was acknowledged, and what servers know, against the logs."""
        assert self.trouble == []
        logs = {shard.key: self._log_of(shard) for shard in shards_of(CRAWL, self.slots)}
        found = {
            event.event_id
            for events in logs.values()
            for event in events.values()
            if isinstance(event, PageFetched)
        }
        assert [event for _, event in self.acknowledged if event not in found] == []
        for key, first, events in self._appended:
            there = [logs[key].get(first + n) for n in range(len(events))]
            assert there == [decode(raw) for raw in events], f"{key} from {first}"
        owners = self._owners()
        for key, events in logs.items():
            actor = owners[key].registry.opened_now(key)
            assert actor is not None
            assert not actor.is_lost
            expected = self._replayed(events)
            assert actor.model.pages == len(
                {e.event_id for e in events.values() if isinstance(e, PageFetched)}
            )
            assert _packed(actor.model) == _packed(expected), key

    def _owners(self) -> dict[str, Server]:
        """Return who has each shard; all say the same, and it serves."""
        owners = {}
        for shard in shards_of(CRAWL, self.slots):
            slot = cluster_room.slot_of(shard, self.slots)
            said = {server.owners.route(slot).address for server in self.servers.values()}  # type: ignore[union-attr]
            assert len(said) == 1, f"slot {slot}: {said}"
            owner = self.server_at(said.pop())
            assert owner is not None
            assert owner.cluster.serves(shard)
            assert slot in owner.group.mine
            for other in self.servers.values():
                assert other is owner or not other.cluster.serves(shard)
            owners[shard.key] = owner
        return owners

    def _log_of(self, shard: Shard) -> dict[int, Any]:
        """Return the events of a log by number, by nothing but the rules of `records`."""
        state, events = LogState(shard.key), {}
        for record in self.network.records[f"log.{CRAWL}", shard.group]:
            frame = state.see(record)
            if state.seq == 0:
                events.clear()
            if frame is not None:
                raw = unpack(memoryview(record.value), frame)
                events.update({frame.first_seq + n: decode(one) for n, one in enumerate(raw)})
        return events

    def _replayed(self, events: dict[int, Any]) -> CrawlModel:
        key = self.network.records["ticket-key", 0][0].value
        model = CrawlModel(CrawlConfig(CRAWL), ticket_key=key)
        for seq, event in events.items():
            model.apply(seq, event)
        return model

    @contextmanager
    def played(self) -> Iterator[None]:
        """Have servers meet what is played here."""
        logging.disable(logging.CRITICAL)
        try:
            with (
                self.world.instead_of_threads(group_room, routes_room, tasks, turns_room),
                mock.patch.multiple(
                    group_room,
                    Consumer=lambda properties, logger: GroupConsumer(self.coordinator),
                    Future=self.world.future,
                    _POLL_S=_POLL_S,
                ),
                mock.patch.object(checkpoints_room, "_WAIT_S", _POLL_S),
                mock.patch.multiple(
                    routes_room,
                    Consumer=lambda properties, logger: TopicConsumer(self.network),
                    _POLL_S=_POLL_S,
                ),
            ):
                try:
                    yield
                finally:
                    self.world.close()
        finally:
            logging.disable(logging.NOTSET)


def _packed(model: CrawlModel) -> bytes:
    packed: bytes = msgpack.packb(model.to_state())
    return packed


def _page(site: str, n: int) -> PageFetched:
    """Return an event that is taken in fast: a fetch that failed."""
    url = f"http://{site}/{n}"
    return PageFetched(
        event_id=f"{site} {n}",
        site=site,
        url=url,
        requested_key=url,
        status_code=404,
        fetch_error="",
        ticket="",
        now_s=float(n),
        features=None,
    )


async def _read(name: str, _: Any) -> pb.Crawl:
    return pb.Crawl(name=name)


async def _insistently(do: Callable[[], Awaitable[None]]) -> None:
    """Do something at the start, again while brokers do not answer: as whoever restarts a server."""
    while True:
        try:
            return await do()
        except LogAway:
            await asyncio.sleep(1)


def _settle(answer: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)


@cache
def _metrics() -> Metrics:
    return Metrics()
