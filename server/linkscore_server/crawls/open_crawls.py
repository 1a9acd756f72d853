"""The crawls of a process that are open, and how the others come to be."""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self

from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import CorruptState, LimitExceeded, LinkscoreError, NotFound
from linkscore_server import tasks
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.lease import ShardLease, StaticLease
from linkscore_server.crawls.opening import CrawlOpener, Threads
from linkscore_server.crawls.reads import must_be_current
from linkscore_server.crawls.turns import CrawlOpening, Locks, wait_s
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.base import LogAway, Store
from linkscore_server.storage.formats import OtherVersion

_log = logging.getLogger(__name__)
_DESCRIPTORS_A_CRAWL = 3
"""Of an open crawl: its log, its snapshot and what lies beside that while it is written."""
_DESCRIPTORS = 64
"""Descriptors left to connections, metrics and files that are open for a moment. Chosen; a start takes 20."""
_LOOK_S = 60.0
"""Longest time between looks for idle crawls; chosen, not measured."""


class CrawlNotFound(NotFound):
    """No crawl of this name."""

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the error about a name that no crawl has, as a caller meets it."""
        return cls(f"crawl {name!r}: no such crawl; create it first (CreateCrawl)")


class OpenCrawls:
    """Crawls in use are open, each with its actor.

    One is opened when a call asks for it, and after the start in the background; it is evicted when nobody
    asked for it for `idle_crawl_s`, or when descriptors run short. Whatever opens or closes one has its lock.

    Parameters
    ----------
    opener, threads
        Make actors, and where that blocks.
    store, settings, metrics
        Of the server.
    actors
        Where those that are open are kept, by name.
    most_open
        How many may be open; 0: as many as descriptors allow.

    Attributes
    ----------
    names
        All that are here, open or not, damaged or not; of crawls of several groups keys of shards.
    damaged
        Those whose log could not be read, with the reason; nothing of theirs is touched.
    lease
        Says which shards are not of this process any more, and not of it yet.
    locks
        A lock a crawl.
    on_open
        Called with each that was opened or made.
    """

    def __init__(
        self,
        opener: CrawlOpener,
        threads: Threads,
        store: Store,
        settings: Settings,
        metrics: Metrics,
        *,
        actors: dict[str, CrawlActor],
        most_open: int = 0,
    ) -> None:
        self._opener, self._threads, self._store = opener, threads, store
        self._settings, self._metrics = settings, metrics
        self._most_open = most_open or _most_open()
        self.actors = actors
        self.names: set[str] = set()
        self.damaged: dict[str, str] = {}
        self.lease: ShardLease = StaticLease()
        self.locks = Locks()
        self.on_open: Callable[[CrawlActor], None] = lambda actor: None
        self._openings: dict[str, asyncio.Task[CrawlActor]] = {}
        self._coming, self._arrived = 0, asyncio.Event()
        self._asked: Counter[str] = Counter()
        self._unchecked: asyncio.Queue[tuple[str, CrawlActor]] = asyncio.Queue()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._beside: set[asyncio.Task[Any]] = set()

    async def open(self, name: str) -> CrawlActor:
        """Return a crawl, opened if it is not, before those that nobody asked for.

        It stays open until the task that asks ends.

        Raises
        ------
        InvalidInput, LogAway
            If the call must be answered by the current state, and that is not known to be here: `reads`.
        CrawlNotFound
            If there is none of this name.
        CorruptState
            If its log is damaged.
        LimitExceeded, OSError
            If it cannot be opened now.
        CrawlOpening
            If that takes longer than the caller waits; it goes on.
        """
        actor = self.actors.get(name)
        if actor is None or actor.is_lost:
            actor = await self._opened(name)
        actor.use()
        if must_be_current():
            await actor.confirm()
        return actor

    async def _opened(self, name: str) -> CrawlActor:
        self._asked[name] += 1
        try:
            while (actor := self.actors.get(name)) is None or actor.is_lost:
                opening = self.being_opened(name)
                self._threads.order.ask(name)
                done, _ = await asyncio.wait([opening], timeout=wait_s())
                if not done:
                    raise self._threads.order.progress(name)
                opening.result()
            return actor
        finally:
            self._asked -= Counter([name])

    def being_opened(self, name: str) -> asyncio.Task[CrawlActor]:
        """Return the one task that opens a crawl, which goes on when who asked gives up."""
        task = self._openings.get(name)
        if task is None:
            task = self._openings[name] = tasks.awaited(self._open_now(name), self._tasks)
            task.add_done_callback(lambda _: self._openings.pop(name))
            task.add_done_callback(lambda _: self._threads.order.done(name))
        return task

    async def _open_now(self, name: str) -> CrawlActor:
        if name not in self.names:
            await self.require(Shard.of(name))
            raise CrawlNotFound.named(name)
        async with self.locks[name]:
            if name not in self.names:  # let go of meanwhile, or deleted
                await self.require(Shard.of(name))
                raise CrawlNotFound.named(name)
            if name in self.damaged:
                raise CorruptState(f"crawl {name!r}: {self.damaged[name]}")
            actor = self.actors.get(name)
            if actor is not None and actor.is_lost:
                del self.actors[name]
                # One whose log is away writes a snapshot, so that little of the log is replayed.
                await (actor.close() if actor.is_sound else actor.discard())
                actor = None
            return actor or await self._load(name)

    async def _load(self, name: str) -> CrawlActor:
        async with self.place():
            return await self._load_there(name)

    async def _load_there(self, name: str) -> CrawlActor:
        await self.lease.confirm(Shard.of(name))
        started = time.perf_counter()
        try:
            actor = await asyncio.get_running_loop().run_in_executor(
                self._threads.opening, self._opener.recovered, name
            )
        except Exception as exc:
            if isinstance(exc, MemoryError | OSError | CrawlOpening):  # which say nothing of the log
                raise
            self.damaged[name] = str(exc) if isinstance(exc, LinkscoreError) else repr(exc)
            unexpected = None if isinstance(exc, LinkscoreError) else exc
            is_damaged = "" if isinstance(exc, OtherVersion) else " is damaged and"
            _log.error("crawl %s%s stays closed: %s", name, is_damaged, exc, exc_info=unexpected)
            raise CorruptState(f"crawl {name!r}: {self.damaged[name]}") from exc
        if actor is None:
            self.names.discard(name)
            raise CrawlNotFound(f"crawl {name!r}: no such crawl; its creation was never acknowledged")
        self._metrics.crawl_open_seconds.observe(time.perf_counter() - started)
        try:
            actor.start()
        except BaseException:
            actor.release()
            raise
        self.serve(name, actor)
        self._unchecked.put_nowait((name, actor))
        return actor

    def serve(self, name: str, actor: CrawlActor) -> None:
        """Have a crawl that was just made or opened."""
        self.names.add(name)
        self.actors[name] = actor
        self.on_open(actor)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Keep a place for a crawl that is not open yet."""
        await self._make_room()
        self._coming += 1
        try:
            yield
        finally:
            self._coming -= 1
            self._arrived.set()
            self._arrived = asyncio.Event()

    async def _make_room(self) -> None:
        """Evict the crawl that was used longest ago while as many are open as descriptors allow."""
        while len(self.actors) + self._coming >= self._most_open:
            idle = [name for name, actor in self.actors.items() if not (actor.is_in_use or self._asked[name])]
            if not idle and self._coming:
                await self._arrived.wait()
                continue
            if not idle or not self._store.is_durable:
                raise LimitExceeded(
                    f"{len(self.actors)} crawls are open and in use, no more than descriptors allow (ulimit)"
                )
            await self.evict(min(idle, key=lambda name: self.actors[name].last_used_s))

    async def _open_all(self, names: Sequence[str]) -> None:
        waiting = iter(names[: max(1, self._most_open // 2)])

        async def open_next() -> None:
            for name in waiting:
                try:
                    await asyncio.shield(self.being_opened(name))
                except Exception as exc:  # of this crawl: who asks for it hears it again
                    _log.info("crawl %s is not opened in advance: %s", name, exc)

        await asyncio.gather(*(open_next() for _ in range(self._store.opens_at_once)))

    async def evict_idle(self) -> None:
        """Close crawls that nobody asked for since `idle_crawl_s`, after a while; see `tasks.for_ever`."""
        idle_s = self._settings.idle_crawl_s
        await asyncio.sleep(min(idle_s / 4, _LOOK_S))
        before = time.monotonic() - idle_s
        for name, actor in list(self.actors.items()):
            if actor.last_used_s < before and not actor.is_in_use:
                await tasks.kept(self.evict(name), "evicting a crawl", self._tasks)

    async def check_logs(self) -> None:
        """Check what openings left unread, of one crawl after the other; see `tasks.for_ever`.

        As long at rest as at work: it shares the interpreter with calls.
        """
        name, actor = await self._unchecked.get()
        pieces = actor.check_trusted()
        while True:
            started = time.perf_counter()
            problem = await asyncio.get_running_loop().run_in_executor(
                self._threads.opening, next, pieces, None
            )
            if problem is None:
                return
            if problem:
                self._metrics.log_damage.inc()
                _log.error("crawl %s serves from its snapshot, its log is damaged: %s", name, problem)
            await asyncio.sleep(time.perf_counter() - started)

    async def evict(self, name: str) -> bool:
        """Close a crawl that nobody uses, with a snapshot; says whether it was one."""
        async with self.locks[name]:
            actor = self.actors.get(name)
            if actor is None or actor.is_in_use:
                return False
            del self.actors[name]
            await actor.close()
        self._metrics.crawls_evicted.inc()
        return True

    def take(self, name: str) -> None:
        """Have a shard whose log is there; it is opened when somebody asks for it."""
        self.names.add(name)
        self.damaged.pop(name, None)

    def open_soon(self, names: Sequence[str]) -> None:
        """Open crawls beside the calls, so that few have to wait; half of the places are left to calls."""
        tasks.beside(self._open_all(names), "opening crawls in advance", self._beside)

    async def save(self, name: str) -> None:
        """Write a snapshot of a shard that another process gets soon, while it is served, if it is open."""
        async with self.locks[name]:
            actor = self.actors.get(name)
            if actor is not None and not actor.is_lost:
                await actor.save()

    async def let_go(self, name: str) -> None:
        """Have a shard no more that another process has: finish what was taken in, and close it as saved."""
        async with self.locks[name]:
            self.names.discard(name)
            if (actor := self.actors.pop(name, None)) is not None:
                await actor.discard()

    async def require(self, shard: Shard) -> None:
        """Raise `LogAway` unless a shard is this process's, if it is there at all.

        One that nobody told is not its own any more may not know of crawls that were made since.
        """
        if not self.lease.serves(shard):
            raise LogAway(f"crawl {shard.crawl!r}: another process has these sites, try again")
        await self.lease.confirm(shard)

    async def close(self) -> None:
        """Close all; those that are being opened stay closed."""
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, *self._tasks, return_exceptions=True)
        for name in sorted(self.names):
            async with self.locks[name]:
                if (actor := self.actors.pop(name, None)) is not None:
                    await actor.close()


def _most_open() -> int:
    """Return how many crawls may be open: each holds descriptors, and the server needs some itself."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return 1 << 31
    return max(1, (limit - _DESCRIPTORS) // _DESCRIPTORS_A_CRAWL)
