"""Servers of one cluster, callers who never give up, and a judge who reads the brokers by itself."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import grpc
import msgpack

from linkscore.v1 import common_pb2 as common
from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.engine.events import PageFetched, decode
from linkscore_scoring.engine.groups import shards_of
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.frames import unpack
from linkscore_server.storage.kafka.brokers import Brokers
from linkscore_server.storage.kafka.records import LogState
from linkscore_server.storage.kafka.store import KafkaStore
from support.cluster.links import Links
from support.server_process import ServerProcess, stubs, workers_of
from support.small_site import HOST, page

SITES = [f"site{n}.test" for n in range(8)]
_PEERS_PORT = 7511
_START_S = 240.0
"""Longest start of a server: a bound, for several workers on a machine that others use."""
CALL_S = float(os.environ.get("CALL", "4"))
"""Longest wait of a caller before it asks another server. Chosen; with less, a stopped server is silent for
what the others need to take its slots, not for its own callers' patience."""

Answer = TypeVar("Answer")

COME_AGAIN = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,  # who has come back is told of more work than it can do at once
)
"""What a caller repeats."""


class Fleet:
    """Servers over the same brokers, by name; each keeps its data folder when it is started again.

    With several workers a server is that many processes, reached by the others at ports that are the same
    after each start, at an address of its own.
    """

    def __init__(
        self,
        folder: Path,
        hosts: str,
        prefix: str,
        *,
        session_s: float,
        links: Links | None = None,
        flags: Sequence[str] = (),
        workers: int = 1,
    ) -> None:
        self._workers, self._names = workers, list[str]()
        self.links, self._flags = links, flags
        self.folder, self.hosts, self.prefix = folder, hosts, prefix
        self._session_s = session_s
        self.running: dict[str, ServerProcess] = {}

    def start(self, name: str, role: str = "all") -> None:
        """Start a server; returns when it serves. Of role `lone` is one that is no part of the cluster."""
        host, port = self._host(name), 0 if self._workers == 1 else _PEERS_PORT
        self.running[name] = ServerProcess(
            self.folder / name,
            *("--log", f"kafka://{self.hosts}", "--kafka-prefix", self.prefix),
            *("--role", "all" if role == "lone" else role),
            *(
                "--listen",
                f"{host}:0",
                "--peers-listen",
                "" if role in ("front", "lone") else f"{host}:{port}",
            ),
            *("--session-s", str(self._session_s), "--workers", str(self._workers)),
            *self._flags,
            within=self.links.command(name) if self.links is not None else (),
            patience_s=_START_S,
        )

    def _host(self, name: str) -> str:
        """Return the address of a server: without networks of their own those of a loopback differ too."""
        if self.links is not None:
            return self.links.address(name)
        if name not in self._names:
            self._names.append(name)
        return f"127.0.0.{self._names.index(name) + 1}"

    def folders(self) -> list[Path]:
        """Return the data folder of each process that ever was."""
        found = sorted(self.folder.glob("*/data/LOCK"))
        return sorted(self.folder.glob("*/data/worker-*")) or [lock.parent for lock in found]

    def workers_of(self, name: str) -> list[int]:
        """Return the processes of the workers of a server, by the number of the worker."""
        return workers_of(self.running[name])

    def signal(self, name: str, number: int) -> None:
        """Send a signal to a server."""
        os.kill(self.running[name].process.pid, number)

    def end(self, name: str, number: int) -> None:
        """End a server by a signal; its callers find others meanwhile."""
        server = self.running[name]
        self.signal(name, number)
        del self.running[name]
        server.stop()

    def targets(self) -> list[str]:
        """Return where servers listen."""
        return [server.target for server in list(self.running.values())]

    def next_target(self, target: str = "") -> str:
        """Return where the server after another one listens, in a ring: that one if no other is there."""
        there = sorted(self.targets())
        return next((each for each in there if each > target), there[0] if there else target)

    def close(self) -> None:
        """End all."""
        for name in list(self.running):
            self.signal(name, signal.SIGCONT)
            self.end(name, signal.SIGTERM)


def insistently(call: Callable[[], Answer], patience_s: float = 60.0) -> Answer:
    """Return the answer to a call as a client gets it: asked again while slots are on their way."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return call()
        except grpc.RpcError as exc:
            if exc.code() not in COME_AGAIN or time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def create(target: str, crawl: crawl_pb.Crawl) -> None:
    """Create a crawl."""
    with stubs(target) as server:
        insistently(lambda: server.crawls.CreateCrawl(crawl_pb.CreateCrawlRequest(crawl=crawl)))


def page_of(site: str, n: int) -> common.Page:
    """Return page n of a site, with an event id of its own."""
    made = page(n, event_id=f"{site} {n}")
    made.url = made.url.replace(HOST, site)
    made.body = made.body.replace(HOST.encode(), site.encode())
    return made


@dataclass(slots=True)
class Load:
    """Sends pages of every site, one after the other, each until it is acknowledged; a thread a site."""

    fleet: Fleet
    crawl: str
    acknowledged: list[tuple[float, str]] = field(default_factory=list)
    failures: list[BaseException] = field(default_factory=list)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Begin."""
        self._threads = [threading.Thread(target=self._send, args=(n,)) for n in range(len(SITES))]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End when what was sent is acknowledged."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def longest_silence(self, since: float, until: float) -> float:
        """Return the longest time in which no page of some site was acknowledged."""
        longest = 0.0
        for site in SITES:
            times = [at for at, event in list(self.acknowledged) if event.startswith(site) and at <= until]
            before = max((at for at in times if at < since), default=since)
            moments = [before, *(at for at in times if at >= since), until]
            longest = max(longest, *(b - a for a, b in itertools.pairwise(moments)))
        return longest

    def wait_for_all_sites(self, since: float, patience_s: float = 180.0) -> None:
        """Wait until pages of every site were acknowledged since some time."""
        deadline = time.monotonic() + patience_s
        while True:
            assert not self.failures, self.failures
            heard = Counter(event.split()[0] for at, event in list(self.acknowledged) if at > since)
            if all(heard[site] > 2 for site in SITES):
                return
            assert time.monotonic() < deadline, f"no page acknowledged of {set(SITES) - set(heard)}"
            time.sleep(0.1)

    def _send(self, number: int) -> None:
        try:
            n, target = 0, ""
            for _ in range(number):  # some begin at each
                target = self.fleet.next_target(target)
            while not self._stopping.is_set():
                target = self.fleet.next_target(target)
                with stubs(target, use_local_subchannel_pool=1) as server:  # to any worker of it
                    while not self._stopping.is_set() and self._is_acknowledged(server, SITES[number], n):
                        n += 1
        except BaseException as exc:
            self.failures.append(exc)
            raise

    def _is_acknowledged(self, server: object, site: str, n: int) -> bool:
        request = pb.IngestPagesRequest(crawl=self.crawl, pages=[page_of(site, n)])
        try:
            [result] = server.links.IngestPages(request, timeout=CALL_S).results  # type: ignore[attr-defined]
        except grpc.RpcError as exc:
            if exc.code() not in COME_AGAIN:
                raise
            time.sleep(0.1)
            return False
        assert result.status.code in (common.ITEM_CODE_OK, common.ITEM_CODE_DUPLICATE), result
        self.acknowledged.append((time.monotonic(), f"{site} {n}"))
        return True


def silence_of(load: Load, do: Callable[[], object], undo: Callable[[], object]) -> float:
    """Return the longest silence from a fault until it is undone and all sites are heard again."""
    began = time.monotonic()
    do()
    load.wait_for_all_sites(time.monotonic())
    undo()
    load.wait_for_all_sites(time.monotonic())
    return load.longest_silence(began, time.monotonic())


async def problems(fleet: Fleet, load: Load, groups: int) -> list[str]:
    """Hold what was acknowledged, and what each server knows, against the logs; return what differs."""
    hosts, prefix = fleet.hosts, fleet.prefix
    crawl = load.crawl.partition("/")[2]
    found = events_in_log(hosts, prefix, crawl, groups)
    wrong = [f"lost: {event}" for _, event in load.acknowledged if not found[event]]
    for site in SITES:
        numbers = [int(event.split()[1]) for event in found if event.startswith(site)]
        if numbers != sorted(numbers):
            wrong.append(f"pages of {site} are in another order than they were sent")
    expected, pages = await states_of(hosts, prefix, fleet.folder / "judge", crawl, groups)
    if pages != len(found):  # a page that was sent again may be in the log twice, and counts once
        wrong.append(f"{pages} pages are known, the log has {len(found)}")
    for folder in fleet.folders():
        states, _ = await states_of(hosts, prefix, folder, crawl, groups)
        if states != expected:
            wrong.append(f"{folder} knows another state than the logs give")
    return wrong


def events_in_log(hosts: str, prefix: str, crawl: str, groups: int) -> Counter[str]:
    """Return how often each page is in the log of a crawl, read by nothing but the rules of `records`."""
    brokers, found = Brokers(hosts), Counter[str]()
    for group in range(groups):
        topic = f"{prefix}.log.{crawl}"
        state = LogState(topic)
        for record in brokers.read(topic, group, 0, brokers.end(topic, group)):
            frame = state.see(record)
            if frame is not None:
                for raw in unpack(memoryview(record.value), frame):
                    event = decode(raw)
                    if isinstance(event, PageFetched):
                        found[event.event_id] += 1
    brokers.close()
    return found


async def states_of(
    hosts: str, prefix: str, folder: Path, crawl: str, groups: int
) -> tuple[dict[str, bytes], int]:
    """Return the state of each shard as a server with a data folder has it after its start, and all pages."""
    store = KafkaStore.at(hosts, folder, properties={}, prefix=prefix, replicas=3, owner="judge")
    registry = CrawlRegistry(store, Settings(), Metrics())
    await registry.recover()
    states, pages = {}, 0
    for shard in shards_of(crawl, groups):
        actor = await registry.open(shard.key)
        pages += actor.model.pages
        states[shard.key] = msgpack.packb(actor.model.to_state())
    await registry.close()
    store.close()
    return states, pages
