"""Crawls made, changed, deleted and listed, all groups of each: at one place for each, the crawl's home."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_scoring.engine.groups import Shard, shards_of
from linkscore_scoring.errors import LimitExceeded, LinkscoreError
from linkscore_server import tasks
from linkscore_server.crawls.registry import CrawlExists, CrawlNotFound, CrawlRegistry, Locks
from linkscore_server.front.owners import Owners
from linkscore_server.services.crawls import config_of
from linkscore_server.services.errors import NotServing
from linkscore_server.services.messages import crawl_name, parse_crawl
from linkscore_server.store import Store

_log = logging.getLogger(__name__)
_AGAIN_S = 1.0
"""Seconds after which a change that did not reach every group is sent again. Chosen, not measured."""


class CrawlCoordinator:
    """Does to all groups of the crawls whose first group is of this process what is done to a crawl.

    A crawl is there when its first group is: that one is made last. It is deleted at once, with its folder,
    when every owner has let go. A change is a fact when the first group has it, with a number; the other
    groups are given that configuration then, and after a failure or a restart again until they have it.

    Parameters
    ----------
    registry
        The shards of this process.
    owners, store
        Who has the other groups, and where all are.
    clock
        Seconds since the epoch.
    max_crawls
        Of all processes together.
    read
        Gives a crawl by name as GetCrawl does.
    """

    def __init__(
        self,
        registry: CrawlRegistry,
        owners: Owners,
        store: Store,
        clock: Callable[[], float],
        max_crawls: int,
        read: Callable[[str, Any], Awaitable[pb.Crawl]],
    ) -> None:
        self._registry = registry
        self._owners, self._store = owners, store
        self._clock = clock
        self._max_crawls = max_crawls
        self._read = read
        self._locks = Locks()
        self._behind: set[Shard] = set()
        self._aligning: asyncio.Task[None] | None = None

    def start(self) -> None:
        """See to it that all groups of a crawl have the configuration of the first, also after failures."""
        self.took(map(Shard.of, self._registry.names()))
        self._aligning = tasks.for_ever(self._align_all, "alignment of groups", again_s=_AGAIN_S)

    def took(self, shards: Iterable[Shard]) -> None:
        """See to it for crawls whose first group came to this process since."""
        self._behind |= {shard for shard in shards if shard.groups > 1 and shard.group == 0}

    async def close(self) -> None:
        """Stop."""
        if self._aligning is not None:
            self._aligning.cancel()
            await asyncio.gather(self._aligning, return_exceptions=True)

    async def change(self, method: str, request: Any, context: Any) -> Any:
        """Answer a call that makes, changes or deletes a crawl whose home this is."""
        match method:
            case "CrawlService/CreateCrawl":
                return await self.create(request, context)
            case "CrawlService/UpdateCrawl":
                return await self.update(request, context)
            case _:
                return await self.delete(request, context)

    async def create(self, request: pb.CreateCrawlRequest, context: Any) -> pb.CreateCrawlResponse:
        """Create a crawl: the first group last, so that one which is there is whole."""
        name = request.crawl.name.removeprefix(crawl_name(""))  # if it is none, that is said with all else
        async with self._locks[name]:
            first = await self.first(name)
            groups = request.crawl.groups or (first.groups if first is not None else 1)
            if first is not None and first.groups != groups:
                raise CrawlExists(
                    f"crawl {name!r} exists with {first.groups} groups, which are fixed: use another name"
                )
            request.crawl.groups = groups  # of a crawl that is there, if the caller leaves them open
            if first is None:
                await self._check_room()
            if groups == 1:
                made: pb.CreateCrawlResponse = await self._owners.local.call(
                    "CrawlService/CreateCrawl", request, context
                )
                return made
            config = await asyncio.to_thread(config_of, request.crawl, now_s=self._clock())
            await self._registry.check(config)
            if first is None:
                for shard in reversed(shards_of(config.name, config.groups)[1:]):
                    await self._owners.of(shard).ask("make", shard=shard.key, config=config.to_state())
            await self._registry.create(config)
            return pb.CreateCrawlResponse(crawl=await self._read(name, context))

    async def update(self, request: pb.UpdateCrawlRequest, context: Any) -> pb.UpdateCrawlResponse:
        """Change a crawl: the first group, then the others."""
        name = parse_crawl(request.crawl.name, "crawl.name")
        async with self._locks[name]:
            first = await self._found(name)
            request.crawl.name = crawl_name(first.key)
            answer: pb.UpdateCrawlResponse = await self._owners.local.call(
                "CrawlService/UpdateCrawl", request, context
            )
            if first.groups == 1:
                return answer
            self._behind.add(first)
            await self._align(first)
            return pb.UpdateCrawlResponse(crawl=await self._read(name, context))

    async def delete(self, request: pb.DeleteCrawlRequest, context: Any) -> pb.DeleteCrawlResponse:
        """Delete a crawl: from the store, which decides, then from the memory of whoever has some of it."""
        name = parse_crawl(request.name, "name")
        async with self._locks[name]:
            first = await self._found(name)
            await self._registry.erase(name)
            for owner in self._owners.all:
                try:
                    await owner.ask("drop", crawl=name)
                except LinkscoreError as exc:  # it can write nothing of it any more
                    _log.warning("crawl %s is deleted, and a server has not heard of it: %s", name, exc)
            self._behind.discard(first)
            return pb.DeleteCrawlResponse()

    async def names(self) -> dict[str, int]:
        """Return the crawls of all processes by name, in order, and how many groups each has."""
        shards = map(Shard.of, await asyncio.to_thread(self._store.shards))
        return {shard.crawl: shard.groups for shard in sorted(shards) if shard.group == 0}

    async def first(self, name: str) -> Shard | None:
        """Return the first part of a crawl, wherever it is; None if there is no such crawl."""
        groups = (await self.names()).get(name)
        return Shard(name, 0, groups) if groups else None

    async def _check_room(self) -> None:
        if (n := len(await self.names())) >= self._max_crawls:
            raise LimitExceeded(f"max_crawls: there are {n} crawls, delete one or raise the setting")

    async def _found(self, name: str) -> Shard:
        first = await self.first(name)
        if first is None:
            raise CrawlNotFound.named(name)
        return first

    async def _align_all(self) -> None:
        for first in sorted(self._behind):
            async with self._locks[first.crawl]:
                with suppress(LinkscoreError, OSError):  # a group that is damaged stays behind
                    await self._align(first)

    async def _align(self, first: Shard) -> None:
        """Give every group the configuration of the first.

        Raises
        ------
        NotServing
            If one did not take it; it is sent again later.
        """
        if first not in self._behind:
            return
        config = (await self._registry.open(first.key)).model.config
        try:
            for shard in shards_of(config.name, config.groups)[1:]:
                await self._owners.of(shard).ask("configure", shard=shard.key, config=config.to_state())
        except Exception as exc:
            _log.warning(
                "crawl %s: change %d did not reach every group: %s", first.crawl, config.revision, exc
            )
            raise NotServing(
                f"crawl {first.crawl!r} was changed, and some of its groups hear of it when they serve again"
            ) from exc
        self._behind.discard(first)
