"""The crawls of a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import CorruptState
from linkscore_server import tasks
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.changes import CrawlChanges
from linkscore_server.crawls.embeddings import Embeddings
from linkscore_server.crawls.memory import MemoryKeeper
from linkscore_server.crawls.open_crawls import CrawlNotFound, OpenCrawls
from linkscore_server.crawls.opening import CrawlOpener, Threads
from linkscore_server.observability.metrics import Metrics
from linkscore_server.observability.tracing import NO_TRACING, Tracing
from linkscore_server.settings import Settings
from linkscore_server.storage.base import Store
from linkscore_server.storage.space import SpaceAlarm


class CrawlRegistry:
    """All crawls of a server: which there are, and what they have in common.

    A crawl whose sites are in several groups is that many shards, each opened, evicted and damaged by
    itself; names are keys of shards then (`Shard.key`). What is done to all of them is `routing`'s to do.

    Attributes
    ----------
    store
        Keeps them.
    open_crawls
        Those in use.
    changes
        Creates, changes and deletes them.
    memory
        Keeps the sites of all within their bound.
    space
        Says whether the disk has room for what callers bring.
    embeddings
        Those that crawls may name.
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
        self._owns, self.store = owns, store
        self._beside: set[asyncio.Task[Any]] = set()
        self._threads = Threads(store, settings.learning_processes)
        actors: dict[str, CrawlActor] = {}
        self.embeddings = embeddings or Embeddings()
        self.memory = MemoryKeeper(settings, metrics, actors.values)
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
        self.open_crawls = OpenCrawls(
            self._opener, self._threads, store, settings, metrics, actors=actors, most_open=most_open
        )
        self.changes = CrawlChanges(
            self.open_crawls, self._opener, store, settings, space=self.space, embeddings=self.embeddings
        )

    @property
    def before_serving(self) -> list[Callable[[str, CrawlModel], None]]:
        """Who is told of each crawl that was read from its log, before it serves; they may block."""
        return self._opener.before_serving

    @property
    def damaged(self) -> dict[str, str]:
        """Crawls whose log could not be read, with the reason: they answer with that error, others serve."""
        return self.open_crawls.damaged

    async def recover(self) -> None:
        """Find the crawls of the store; they are opened from now on.

        Raises
        ------
        CorruptState
            If the secret of tickets is not one.
        """
        await self._opener.in_thread(self.store.ticket_key)
        found = await self._opener.in_thread(self.store.shards)
        self.open_crawls.names = {key for key in found if self._owns(Shard.of(key))}
        self.open_crawls.open_soon(self.names())
        tasks.for_ever(self.memory.run, "evicting sites", self._beside)
        if self.store.is_durable:
            tasks.for_ever(self.open_crawls.check_logs, "checking logs", self._beside, again_s=0.0)
            tasks.for_ever(self.open_crawls.evict_idle, "evicting idle crawls", self._beside)

    def names(self) -> list[str]:
        """Return the names of all sound crawls, sorted."""
        return sorted(self.open_crawls.names - self.damaged.keys())

    def keys(self) -> list[str]:
        """Return the keys of all shards that are here, the damaged ones too, sorted."""
        return sorted(self.open_crawls.names)

    def opened_now(self, name: str) -> CrawlActor | None:
        """Return a crawl if it is open, without opening it."""
        return self.open_crawls.actors.get(name)

    async def disk_bytes(self, name: str) -> int:
        """Return what a crawl takes on the disk."""
        return await asyncio.get_running_loop().run_in_executor(
            self._threads.questions, self.store.disk_bytes, name
        )

    @property
    def crawl_count(self) -> int:
        """How many sound crawls have their first group here: of all processes together, each counts once."""
        return sum(Shard.of(name).group == 0 for name in self.names())

    def has(self, name: str) -> bool:
        """Say whether a crawl or shard of this name is here, damaged or not."""
        return name in self.open_crawls.names

    def shard_of(self, crawl: str) -> Shard | None:
        """Return the first shard of a crawl that is here, damaged or not; None if none is."""
        if crawl in self.open_crawls.names:
            return Shard(crawl)
        return min(
            (shard for key in self.open_crawls.names if (shard := Shard.of(key)).crawl == crawl), default=None
        )

    def actors(self) -> list[CrawlActor]:
        """Return the actors of the crawls that are open, by name."""
        return [actor for _, actor in sorted(self.open_crawls.actors.items())]

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
        """Return a crawl, opened if it is not; it stays open until the task that asks ends: `OpenCrawls`."""
        return await self.open_crawls.open(name)

    async def models(self, names: Sequence[str]) -> list[CrawlModel]:
        """Return crawls to look at, without those that are damaged or gone; they may be evicted at once."""
        found = list[CrawlModel]()
        for name in names:
            try:
                actor = self.open_crawls.actors.get(name)
                found.append(
                    (actor if actor is not None else await self.open_crawls.being_opened(name)).model
                )
            except (CorruptState, CrawlNotFound):
                continue
        return found

    @asynccontextmanager
    async def at_rest(self, name: str) -> AsyncIterator[None]:
        """Let nobody open, evict or delete a crawl meanwhile."""
        async with self.open_crawls.locks[name]:
            yield

    async def evict(self, name: str) -> bool:
        """Close a crawl that nobody uses, with a snapshot; says whether it was one."""
        return await self.open_crawls.evict(name)

    async def close(self) -> None:
        """Finish and close every crawl; those that are being opened stay closed."""
        self._threads.order.close()
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        await self.changes.close()
        await self.open_crawls.close()
        self._threads.close()
        self.embeddings.close()
