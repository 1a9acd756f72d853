"""Crawls created, changed and deleted: one change of a crawl at a time, whole though its caller leaves."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.events import ConfigChanged
from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import AlreadyExists, InvalidInput, LimitExceeded
from linkscore_scoring.site.learning import SiteBounds
from linkscore_scoring.types import ExamplePage
from linkscore_server import tasks
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.embeddings import Embeddings
from linkscore_server.crawls.open_crawls import CrawlNotFound, OpenCrawls
from linkscore_server.crawls.opening import CrawlOpener
from linkscore_server.crawls.turns import Locks
from linkscore_server.settings import Settings
from linkscore_server.storage.base import LogAway, Store
from linkscore_server.storage.space import SpaceAlarm

_T = TypeVar("_T")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class CrawlExists(AlreadyExists):
    """The crawl exists with another configuration."""


class CrawlChanges:
    """Creates, changes and deletes the crawls of a process, or the shards of crawls of several groups.

    Parameters
    ----------
    open_crawls, opener, store, settings
        Of the registry.
    space
        Says whether the disk has room.
    embeddings
        Those that crawls may name.
    """

    def __init__(
        self,
        open_crawls: OpenCrawls,
        opener: CrawlOpener,
        store: Store,
        settings: Settings,
        *,
        space: SpaceAlarm,
        embeddings: Embeddings,
    ) -> None:
        self._open, self._opener, self._store = open_crawls, opener, store
        self._settings, self._space, self._embeddings = settings, space, embeddings
        self._locks = Locks()
        self._in_creation: set[str] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def create(
        self,
        config: CrawlConfig,
        group: int = 0,
        *,
        check_count: Callable[[set[str]], None] = lambda others: None,
    ) -> CrawlActor:
        """Create a crawl, or one group of it; return it if it exists with the same configuration.

        `check_count` is told the other crawls, with those being created, and may refuse one more.

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
        self._space.check()
        config = dataclasses.replace(config, bounds=self._bounds())
        return await self._keep(
            self._create(config, Shard(config.name, group, config.groups).key, check_count)
        )

    async def check(self, config: CrawlConfig) -> None:
        """Refuse a crawl that cannot be created.

        Raises
        ------
        InvalidInput
            If the name or the configuration breaks a rule.
        """
        if not _NAME.fullmatch(config.name):
            raise InvalidInput(f"must match {_NAME.pattern}, got {config.name!r}", field="crawl.name")
        await self._opener.in_thread(self._check, config)  # which may have to load what knows languages

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
        self._space.check()
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
        await self._opener.in_thread(self._store.delete, name)

    async def _create(
        self, config: CrawlConfig, name: str, check_count: Callable[[set[str]], None]
    ) -> CrawlActor:
        async with self._locks[name]:
            if name in self._open.names:
                with suppress(CrawlNotFound):  # what is there is an unfinished creation
                    return await self._existing(config, name)
            await self._open.require(Shard.of(name))
            with self._counted(config.name, check_count):
                async with self._open.place():
                    actor = await self._created(config, name)
            if actor is not None:
                return actor
            self._open.take(name)
            return await self._existing(config, name)

    @contextmanager
    def _counted(self, crawl: str, check_count: Callable[[set[str]], None]) -> Iterator[None]:
        """Count a crawl while it is made; raise LimitExceeded if there are as many as there may be."""
        crawls = (
            {Shard.of(key).crawl for key in self._open.names - self._open.damaged.keys()} | self._in_creation
        ) - {crawl}
        if (n := len(crawls)) >= self._settings.max_crawls:
            raise LimitExceeded(f"max_crawls: there are {n} crawls, delete one or raise the setting")
        check_count(crawls)
        self._in_creation.add(crawl)
        try:
            yield
        finally:
            self._in_creation.discard(crawl)

    async def _created(self, config: CrawlConfig, name: str) -> CrawlActor | None:
        """Return a new crawl; None if another process made it, after this one was told what is there."""
        await self._opener.in_thread(self._opener.load_libraries, config)
        actor = await self._opener.in_thread(self._opener.new, name, config)
        if actor.has_events:
            actor.release()
            return None
        try:
            await self._open.lease.confirm(Shard.of(name))  # who has it next sees that the log is there
        except LogAway:
            actor.release()
            raise
        actor.start()
        try:
            await actor.submit(ConfigChanged(config.to_state()))
        except Exception:
            await actor.discard()
            raise
        self._open.serve(name, actor)
        return actor

    async def _change(
        self, name: str, changes: dict[str, Any], more_examples: Sequence[ExamplePage]
    ) -> CrawlActor:
        async with self._locks[name]:
            actor = await self._open.open(name)
            if "limits" in changes:  # None lifts one
                limits = {**actor.model.config.limits, **changes["limits"]}
                changes["limits"] = {field: value for field, value in limits.items() if value is not None}
            config = dataclasses.replace(actor.model.config, **changes).with_examples(more_examples)
            if config.groups > 1:
                config = dataclasses.replace(config, revision=config.revision + 1)
            await self._opener.in_thread(self._check, config)
            await self._opener.in_thread(self._opener.load_libraries, config)
            await actor.submit(ConfigChanged(config.to_state()))
            return actor

    async def _configure(self, name: str, config: CrawlConfig) -> CrawlActor:
        async with self._locks[name]:
            actor = await self._open.open(name)
            if actor.model.config.revision < config.revision:
                await self._opener.in_thread(self._opener.load_libraries, config)
                await actor.submit(ConfigChanged(config.to_state()))
            return actor

    async def _begin_anew(self, name: str, config: CrawlConfig) -> None:
        async with self._locks[name]:
            actor = await self._open.open(name)
            if actor.model.config != config:
                await self._opener.in_thread(self._opener.load_libraries, config)
                await actor.submit(ConfigChanged(config.to_state()))

    async def _drop(self, name: str) -> None:
        async with self._locks[name], self._open.locks[name]:
            if (actor := self._open.actors.pop(name, None)) is not None:
                await actor.discard()
            self._open.names.discard(name)
            self._open.damaged.pop(name, None)

    async def _delete(self, name: str) -> None:
        if name not in self._open.names:
            raise CrawlNotFound(f"crawl {name!r}: no such crawl")
        async with self._locks[name], self._open.locks[name]:
            if (actor := self._open.actors.pop(name, None)) is not None:
                await actor.discard()
            await self._opener.in_thread(self._store.delete, name)
            self._open.names.discard(name)
            self._open.damaged.pop(name, None)

    async def _existing(self, config: CrawlConfig, name: str) -> CrawlActor:
        actor = await self._open.open(name)
        same = dataclasses.replace(
            actor.model.config,
            create_time_s=config.create_time_s,
            bounds=config.bounds,
            revision=config.revision,
            was_one_group=config.was_one_group,
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
        return await tasks.kept(change, "a change of a crawl", self._tasks)

    def _check(self, config: CrawlConfig) -> None:
        try:
            config.check()
            self._embeddings.check(config.wanted)
        except InvalidInput as exc:
            raise exc.under("crawl") from exc

    async def close(self) -> None:
        """Wait for the changes under way."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
