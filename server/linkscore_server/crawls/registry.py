"""The crawls of a server: created, found, changed, deleted, put away."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import re
import resource
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged
from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import (
    AlreadyExists,
    CorruptState,
    InvalidInput,
    LimitExceeded,
    LinkscoreError,
    NotFound,
)
from linkscore_scoring.site.config import SiteBounds
from linkscore_scoring.types import ExamplePage
from linkscore_server import tasks
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.embeddings import Embeddings
from linkscore_server.crawls.lease import ShardLease, StaticLease
from linkscore_server.crawls.memory import MemoryKeeper
from linkscore_server.crawls.opening import CrawlOpener, Threads
from linkscore_server.crawls.turns import CrawlOpening, Locks, wait_s
from linkscore_server.observability.metrics import Metrics
from linkscore_server.observability.tracing import NO_TRACING, Tracing
from linkscore_server.settings import Settings
from linkscore_server.storage.base import LogAway, Store, T
from linkscore_server.storage.formats import OtherVersion
from linkscore_server.storage.space import SpaceAlarm

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_DESCRIPTORS_A_CRAWL = 3
"""Of an open crawl: its log, its snapshot and what lies beside that while it is written."""
_DESCRIPTORS = 64
"""Descriptors left to connections, metrics and files that are open for a moment. Chosen; a start takes 20."""
_LOOK_S = 60.0
"""Longest time between looks for idle crawls; chosen, not measured."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class CrawlNotFound(NotFound):
    """No crawl of this name."""

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the error about a name that no crawl has, as a caller meets it."""
        return cls(f"crawl {name!r}: no such crawl; create it first (CreateCrawl)")


class CrawlExists(AlreadyExists):
    """The crawl exists with another configuration."""


class CrawlRegistry:
    """All crawls of a server; those in use are open, each with its actor.

    A crawl is opened when a call asks for it, and after the start in the background; it is put away when
    nobody asked for it for `idle_crawl_s`, or when descriptors run short.

    A crawl whose sites are in several groups is that many shards, each opened, put away and damaged by
    itself; names are keys of shards then (`Shard.key`). What is done to all of them is `routing`'s to do.

    `damaged` names the crawls whose log could not be read, with the reason: they answer with that error and
    nothing of theirs is touched; the others serve. `memory` keeps the sites of all within their bound.
    `space` says whether the disk has room for what callers bring.
    `lease` says which shards are not of this process any more, and not of it yet.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        metrics: Metrics,
        *,
        domain_of: Callable[[str], str] | None = None,
        most_open: int = 0,
        tracing: Tracing = NO_TRACING,
        owns: Callable[[Shard], bool] = lambda _: True,
        embeddings: Embeddings | None = None,
    ) -> None:
        self._owns = owns
        self.embeddings = embeddings or Embeddings()
        self._store = store
        self._settings = settings
        self._metrics = metrics
        self._most_open = most_open or _most_open()
        self._names: set[str] = set()
        self._actors: dict[str, CrawlActor] = {}
        self._locks = Locks()
        self._change_locks = Locks()
        self._openings: dict[str, asyncio.Task[CrawlActor]] = {}
        self._coming, self._arrived = 0, asyncio.Event()
        self._wanted: Counter[str] = Counter()
        self._in_creation: set[str] = set()
        self._beside: set[asyncio.Task[Any]] = set()
        self._changes: set[asyncio.Task[Any]] = set()
        self._threads = Threads(store, settings.learning_processes)
        self.memory = MemoryKeeper(settings, metrics, self._actors.values)
        self.space = SpaceAlarm(settings.min_free_mb << 20, store.space)
        self._opener = CrawlOpener(
            store,
            settings,
            metrics,
            tracing,
            threads=self._threads,
            memory=self.memory,
            space=self.space,
            embeddings=self.embeddings,
            domain_of=domain_of,
        )
        self.damaged: dict[str, str] = {}
        self.lease: ShardLease = StaticLease()
        self.opened: Callable[[CrawlActor], None] = lambda actor: None

    @property
    def before_serving(self) -> list[Callable[[str, CrawlModel], None]]:
        """Who is told of each crawl that was read from its log, before it serves; they may block."""
        return self._opener.before_serving

    async def recover(self) -> None:
        """Find the crawls of the store; they are opened from now on.

        Raises
        ------
        CorruptState
            If the secret of tickets is not one.
        """
        await self._in_thread(self._store.ticket_key)
        found = await self._in_thread(self._store.shards)
        self._names = {key for key in found if self._owns(Shard.of(key))}
        self.open_soon(self.names())
        tasks.for_ever(self.memory.run, "putting sites away", self._beside)
        if self._store.is_durable:
            tasks.for_ever(self._put_away_idle, "putting idle crawls away", self._beside)

    def names(self) -> list[str]:
        """Return the names of all sound crawls, sorted."""
        return sorted(self._names - self.damaged.keys())

    def keys(self) -> list[str]:
        """Return the keys of all shards that are here, the damaged ones too, sorted."""
        return sorted(self._names)

    def opened_now(self, name: str) -> CrawlActor | None:
        """Return a crawl if it is open, without opening it."""
        return self._actors.get(name)

    async def disk_bytes(self, name: str) -> int:
        """Return what a crawl takes on the disk."""
        return await _run_in(self._threads.questions, self._store.disk_bytes, name)

    @property
    def crawl_count(self) -> int:
        """How many sound crawls have their first group here: of all processes together, each counts once."""
        return sum(Shard.of(name).group == 0 for name in self.names())

    def has(self, name: str) -> bool:
        """Say whether a crawl or shard of this name is here, damaged or not."""
        return name in self._names

    def shard_of(self, crawl: str) -> Shard | None:
        """Return the first shard of a crawl that is here, damaged or not; None if none is."""
        if crawl in self._names:
            return Shard(crawl)
        return min((shard for key in self._names if (shard := Shard.of(key)).crawl == crawl), default=None)

    def actors(self) -> list[CrawlActor]:
        """Return the actors of the crawls that are open, by name."""
        return [actor for _, actor in sorted(self._actors.items())]

    def check_room(self) -> None:
        """Let in what needs memory and disk, or not.

        Raises
        ------
        MemoryShort, DiskFull
            If there is not enough of one.
        """
        self.memory.check()
        self.space.check()

    async def open(self, name: str) -> CrawlActor:
        """Return a crawl, opened if it is not; it stays open until the task that asks ends.

        Raises
        ------
        CrawlNotFound
            If there is none of this name.
        CorruptState
            If its log is damaged.
        LimitExceeded, OSError
            If it cannot be opened now.
        CrawlOpening
            If that takes longer than the caller waits; it goes on.
        """
        actor = self._actors.get(name)
        if actor is None or actor.is_lost:
            return await self._opened(name)
        actor.use()
        return actor

    async def models(self, names: Sequence[str]) -> list[CrawlModel]:
        """Return crawls to look at, without those that are damaged or gone; they may be put away at once."""
        found = list[CrawlModel]()
        for name in names:
            try:
                actor = self._actors.get(name)
                found.append((actor if actor is not None else await self._being_opened(name)).model)
            except (CorruptState, CrawlNotFound):
                continue
        return found

    async def put_away(self, name: str) -> bool:
        """Close a crawl that nobody uses, with a snapshot; says whether it was one."""
        async with self._locks[name]:
            actor = self._actors.get(name)
            if actor is None or actor.is_in_use:
                return False
            del self._actors[name]
            await actor.close()
        self._metrics.crawls_put_away.inc()
        return True

    def beside(self, name: str, room: str, kept: Callable[[Path | None], T]) -> T:
        """Return what an annex keeps of a crawl that exists, see `Store.beside`."""
        return self._store.beside(name, room, kept)

    @asynccontextmanager
    async def at_rest(self, name: str) -> AsyncIterator[None]:
        """Let nobody open, put away or delete a crawl meanwhile."""
        async with self._locks[name]:
            yield

    async def create(self, config: CrawlConfig, group: int = 0) -> CrawlActor:
        """Create a crawl, or one group of it; return it if it exists with the same configuration.

        Raises
        ------
        InvalidInput
            If the name or the configuration breaks a rule.
        CrawlExists
            If the name is taken by a crawl of another configuration.
        LimitExceeded
            If there are `max_crawls` crawls.
        """
        await self.check(config)
        self.space.check()
        config = dataclasses.replace(config, bounds=self._bounds())
        return await self._keep(self._create(config, Shard(config.name, group, config.groups).key))

    async def check(self, config: CrawlConfig) -> None:
        """Refuse a crawl that cannot be created.

        Raises
        ------
        InvalidInput
            If the name or the configuration breaks a rule.
        """
        if not _NAME.fullmatch(config.name):
            raise InvalidInput(f"must match {_NAME.pattern}, got {config.name!r}", field="crawl.name")
        await self._in_thread(self._check, config)  # which may have to load what knows languages

    async def change(
        self, name: str, *, more_examples: Sequence[ExamplePage] = (), **changes: Any
    ) -> CrawlActor:
        """Change fields of a crawl's configuration and add examples; changes made at the same time all count.

        Raises
        ------
        InvalidInput
            If the configuration then breaks a rule.
        CrawlNotFound
            If there is no crawl of this name.
        """
        self.space.check()
        return await self._keep(self._change(name, changes, more_examples))

    async def begin_anew(self, name: str, config: CrawlConfig) -> None:
        """Give a shard that an unfinished creation left the configuration of its crawl.

        Raises
        ------
        CrawlNotFound
            If there is no shard of this name.
        """
        await self._keep(self._begin_anew(name, dataclasses.replace(config, bounds=self._bounds())))

    async def configure(self, name: str, config: CrawlConfig) -> CrawlActor:
        """Give a shard the configuration that its crawl has by now; one it has already changes nothing.

        Raises
        ------
        CrawlNotFound
            If there is no shard of this name.
        """
        return await self._keep(self._configure(name, config))

    async def delete(self, name: str) -> None:
        """Delete a crawl and its log; a damaged one too."""
        await self._keep(self._delete(name))

    async def drop(self, name: str) -> None:
        """Let go of a shard, whose files another one takes or deletes; it must not be there."""
        await self._keep(self._drop(name))

    async def delete_files(self, name: str) -> None:
        """Delete a crawl that every process has let go of, at once with all its groups."""
        await self._in_thread(self._store.delete, name)

    def take(self, name: str) -> None:
        """Have a shard whose log is there; it is opened when somebody asks for it."""
        self._names.add(name)
        self.damaged.pop(name, None)

    def open_soon(self, names: Sequence[str]) -> None:
        """Open crawls beside the calls, so that few have to wait; half of the places are left to calls."""
        tasks.beside(self._open_all(names), "opening crawls in advance", self._beside)

    async def save(self, name: str) -> None:
        """Write a snapshot of a shard that is let go of soon, while it is served, if it is open."""
        async with self._locks[name]:
            actor = self._actors.get(name)
            if actor is not None and not actor.is_lost:
                await actor.save()

    async def let_go(self, name: str) -> None:
        """Have a shard no more: finish what was taken in, and close it with a snapshot."""
        async with self._locks[name]:
            self._names.discard(name)
            if (actor := self._actors.pop(name, None)) is not None:
                await (actor.close() if actor.is_sound else actor.discard())

    async def require(self, shard: Shard) -> None:
        """Raise `LogAway` unless a shard is this process's, if it is there at all.

        One that nobody told is not its own any more may not know of crawls that were made since.
        """
        if not self.lease.serves(shard):
            raise LogAway(f"crawl {shard.crawl!r}: another process has these sites, try again")
        await self.lease.confirm(shard)

    async def close(self) -> None:
        """Finish and close every crawl; those that are being opened stay closed."""
        self._threads.order.close()
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, *self._changes, return_exceptions=True)
        for name in sorted(self._names):
            async with self._locks[name]:
                if (actor := self._actors.pop(name, None)) is not None:
                    await actor.close()
        self._threads.close()
        self.embeddings.close()

    async def _opened(self, name: str) -> CrawlActor:
        """Return a crawl for the running task; one not open is opened before those that nobody asked for."""
        self._wanted[name] += 1
        try:
            while (actor := self._actors.get(name)) is None or actor.is_lost:
                opening = self._being_opened(name)
                self._threads.order.ask(name)
                done, _ = await asyncio.wait([opening], timeout=wait_s())
                if not done:
                    raise self._threads.order.progress(name)
                opening.result()
            actor.use()
            return actor
        finally:
            self._wanted -= Counter([name])

    def _being_opened(self, name: str) -> asyncio.Task[CrawlActor]:
        """Return the one task that opens a crawl, which goes on when who asked gives up."""
        task = self._openings.get(name)
        if task is None:
            task = self._openings[name] = tasks.awaited(self._open(name), self._changes)
            task.add_done_callback(lambda _: self._openings.pop(name))
            task.add_done_callback(lambda _: self._threads.order.done(name))
        return task

    async def _open(self, name: str) -> CrawlActor:
        if name not in self._names:
            await self.require(Shard.of(name))
            raise CrawlNotFound.named(name)
        async with self._locks[name]:
            if name not in self._names:  # let go of meanwhile, or deleted
                await self.require(Shard.of(name))
                raise CrawlNotFound.named(name)
            if name in self.damaged:
                raise CorruptState(f"crawl {name!r}: {self.damaged[name]}")
            actor = self._actors.get(name)
            if actor is not None and actor.is_lost:
                del self._actors[name]
                # One whose log is away writes a snapshot, so that little of the log is replayed.
                await (actor.close() if actor.is_sound else actor.discard())
                actor = None
            return actor or await self._load(name)

    async def _load(self, name: str) -> CrawlActor:
        async with self._place():
            return await self._load_there(name)

    async def _load_there(self, name: str) -> CrawlActor:
        await self.lease.confirm(Shard.of(name))
        started = time.perf_counter()
        try:
            actor = await _run_in(self._threads.opening, self._opener.recovered, name)
        except Exception as exc:
            if isinstance(exc, MemoryError | OSError | CrawlOpening):  # which say nothing of the log
                raise
            self.damaged[name] = str(exc) if isinstance(exc, LinkscoreError) else repr(exc)
            unexpected = None if isinstance(exc, LinkscoreError) else exc
            is_damaged = "" if isinstance(exc, OtherVersion) else " is damaged and"
            _log.error("crawl %s%s stays closed: %s", name, is_damaged, exc, exc_info=unexpected)
            raise CorruptState(f"crawl {name!r}: {self.damaged[name]}") from exc
        if actor is None:
            self._names.discard(name)
            raise CrawlNotFound(f"crawl {name!r}: no such crawl; its creation was never acknowledged")
        self._metrics.crawl_open_seconds.observe(time.perf_counter() - started)
        try:
            actor.start()
        except BaseException:
            actor.release()
            raise
        self._serve(name, actor)
        return actor

    def _serve(self, name: str, actor: CrawlActor) -> None:
        self._names.add(name)
        self._actors[name] = actor
        self.opened(actor)

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
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
        """Put away the crawl that was used longest ago while as many are open as descriptors allow."""
        while len(self._actors) + self._coming >= self._most_open:
            idle = [
                name for name, actor in self._actors.items() if not (actor.is_in_use or self._wanted[name])
            ]
            if not idle and self._coming:
                await self._arrived.wait()
                continue
            if not idle or not self._store.is_durable:
                raise LimitExceeded(
                    f"{len(self._actors)} crawls are open and in use, no more than descriptors allow (ulimit)"
                )
            await self.put_away(min(idle, key=lambda name: self._actors[name].last_used_s))

    async def _open_all(self, names: Sequence[str]) -> None:
        waiting = iter(names[: max(1, self._most_open // 2)])

        async def open_next() -> None:
            for name in waiting:
                try:
                    await asyncio.shield(self._being_opened(name))
                except Exception as exc:  # of this crawl: who asks for it hears it again
                    _log.info("crawl %s is not opened in advance: %s", name, exc)

        await asyncio.gather(*(open_next() for _ in range(self._store.opens_at_once)))

    async def _put_away_idle(self) -> None:
        idle_s = self._settings.idle_crawl_s
        await asyncio.sleep(min(idle_s / 4, _LOOK_S))
        before = time.monotonic() - idle_s
        for name, actor in list(self._actors.items()):
            if actor.last_used_s < before and not actor.is_in_use:
                await self._keep(self.put_away(name))

    async def _create(self, config: CrawlConfig, name: str) -> CrawlActor:
        async with self._change_locks[name]:
            if name in self._names:
                with suppress(CrawlNotFound):  # what is there is an unfinished creation
                    return await self._existing(config, name)
            await self.require(Shard.of(name))
            with self._counted(config.name):
                async with self._place():
                    actor = await self._created(config, name)
            if actor is not None:
                return actor
            self.take(name)
            return await self._existing(config, name)

    @contextmanager
    def _counted(self, crawl: str) -> Iterator[None]:
        """Count a crawl while it is made; raise LimitExceeded if there are as many as there may be."""
        crawls = ({Shard.of(key).crawl for key in self.names()} | self._in_creation) - {crawl}
        if (n := len(crawls)) >= self._settings.max_crawls:
            raise LimitExceeded(f"max_crawls: there are {n} crawls, delete one or raise the setting")
        self._in_creation.add(crawl)
        try:
            yield
        finally:
            self._in_creation.discard(crawl)

    async def _created(self, config: CrawlConfig, name: str) -> CrawlActor | None:
        """Return a new crawl; None if another process made it, after this one was told what is there."""
        await self._in_thread(self._opener.load_libraries, config)
        actor = await self._in_thread(self._opener.new, name, config)
        if actor.has_events:
            actor.release()
            return None
        try:
            await self.lease.confirm(Shard.of(name))  # who has it next sees that the log is there
        except LogAway:
            actor.release()
            raise
        actor.start()
        try:
            await actor.submit(ConfigChanged(config.to_state()))
        except Exception:
            await actor.discard()
            raise
        self._serve(name, actor)
        return actor

    async def _change(
        self, name: str, changes: dict[str, Any], more_examples: Sequence[ExamplePage]
    ) -> CrawlActor:
        async with self._change_locks[name]:
            actor = await self._opened(name)
            config = dataclasses.replace(actor.model.config, **changes).with_examples(more_examples)
            if config.groups > 1:
                config = dataclasses.replace(config, revision=config.revision + 1)
            await self._in_thread(self._check, config)
            await self._in_thread(self._opener.load_libraries, config)
            await actor.submit(ConfigChanged(config.to_state()))
            return actor

    async def _configure(self, name: str, config: CrawlConfig) -> CrawlActor:
        async with self._change_locks[name]:
            actor = await self._opened(name)
            if actor.model.config.revision < config.revision:
                await self._in_thread(self._opener.load_libraries, config)
                await actor.submit(ConfigChanged(config.to_state()))
            return actor

    async def _begin_anew(self, name: str, config: CrawlConfig) -> None:
        async with self._change_locks[name]:
            actor = await self._opened(name)
            if actor.model.config != config:
                await self._in_thread(self._opener.load_libraries, config)
                await actor.submit(ConfigChanged(config.to_state()))

    async def _drop(self, name: str) -> None:
        async with self._change_locks[name], self._locks[name]:
            if (actor := self._actors.pop(name, None)) is not None:
                await actor.discard()
            self._names.discard(name)
            self.damaged.pop(name, None)

    async def _delete(self, name: str) -> None:
        if name not in self._names:
            raise CrawlNotFound(f"crawl {name!r}: no such crawl")
        async with self._change_locks[name], self._locks[name]:
            if (actor := self._actors.pop(name, None)) is not None:
                await actor.discard()
            await self._in_thread(self._store.delete, name)
            self._names.discard(name)
            self.damaged.pop(name, None)

    async def _existing(self, config: CrawlConfig, name: str) -> CrawlActor:
        actor = await self._opened(name)
        same = dataclasses.replace(
            actor.model.config,
            create_time_s=config.create_time_s,
            bounds=config.bounds,
            revision=config.revision,
        )
        if same != config:
            raise CrawlExists(
                f"crawl {config.name!r} exists with another configuration: use UpdateCrawl or another name"
            )
        return actor

    def _bounds(self) -> SiteBounds:
        s = self._settings
        return SiteBounds(links=s.site_links, blocks=s.site_blocks, apaths=s.site_apaths, arms=s.site_arms)

    async def _keep(self, change: Coroutine[Any, Any, _T]) -> _T:
        """Await a change that must not stop half-way when the caller gives up."""
        return await tasks.kept(change, "a change of a crawl", self._changes)

    def _check(self, config: CrawlConfig) -> None:
        try:
            config.check()
            self.embeddings.check(config.wanted)
        except InvalidInput as exc:
            raise exc.under("crawl") from exc

    async def _in_thread(self, call: Callable[..., _T], *args: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads.log, call, *args)


def _run_in(executor: Executor, call: Callable[..., _T], *args: object) -> Awaitable[_T]:
    return asyncio.get_running_loop().run_in_executor(executor, call, *args)


def _most_open() -> int:
    """Return how many crawls may be open: each holds descriptors, and the server needs some itself."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit == resource.RLIM_INFINITY:
        return 1 << 31
    return max(1, (limit - _DESCRIPTORS) // _DESCRIPTORS_A_CRAWL)
