"""Crawls made, changed and deleted, all groups of each: the store decides, then who has them open is told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_scoring.engine.events import ConfigChanged, Event
from linkscore_scoring.engine.groups import Shard, shards_of
from linkscore_scoring.engine.results import Outcome
from linkscore_scoring.errors import LinkscoreError
from linkscore_server import tasks
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlNotFound, CrawlRegistry
from linkscore_server.front.owners import Owner, Owners
from linkscore_server.services.contract import check_count
from linkscore_server.services.crawls import config_of
from linkscore_server.services.errors import NotServing
from linkscore_server.services.messages import crawl_name, parse_crawl

_log = logging.getLogger(__name__)
_AGAIN_S = 1.0
"""Seconds after which a change that did not reach every group is sent again. Chosen, not measured."""


class CrawlCoordinator:
    """Does to all groups of a crawl what is done to a crawl; `read` gives one by name as GetCrawl does.

    A crawl is made and erased in one transaction, by any server. A change is a fact when the first group has
    it, with a number; whoever has that one gives the others its configuration, until they have it.
    """

    def __init__(
        self,
        registry: CrawlRegistry,
        owners: Owners,
        clock: Callable[[], float],
        read: Callable[[str, Any], Awaitable[pb.Crawl]],
    ) -> None:
        self._registry, self._owners, self._clock, self._read = registry, owners, clock, read
        self._aligning: set[asyncio.Task[None]] = set()

    async def create(self, request: pb.CreateCrawlRequest, context: Any) -> pb.CreateCrawlResponse:
        """Create a crawl; as many groups as one that is there has, if the caller leaves that open."""
        name = request.crawl.name.removeprefix(crawl_name(""))
        there = {} if request.crawl.groups else await self._registry.crawls()
        request.crawl.groups = request.crawl.groups or there.get(name, 1)
        config = await asyncio.to_thread(config_of, request.crawl, now_s=self._clock())
        await self._registry.create(config, check_count)
        return pb.CreateCrawlResponse(crawl=await self._read(config.name, context))

    async def update(self, request: pb.UpdateCrawlRequest, context: Any) -> pb.UpdateCrawlResponse:
        """Change a crawl whose first group is here, and then the others."""
        first = await self.first(parse_crawl(request.crawl.name, "crawl.name"))
        request.crawl.name = crawl_name(first.key)
        await self._owners.local.call("CrawlService/UpdateCrawl", request, context)
        try:
            await self._align(first)
        except (LinkscoreError, OSError) as exc:
            raise NotServing(
                f"crawl {first.crawl!r} was changed, and some of its groups hear of it when they serve again"
            ) from exc
        return pb.UpdateCrawlResponse(crawl=await self._read(first.crawl, context))

    async def delete(self, request: pb.DeleteCrawlRequest) -> pb.DeleteCrawlResponse:
        """Delete a crawl: from the store, then from the memory of whoever has some of it."""
        name = parse_crawl(request.name, "name")
        await self.first(name)
        await self._registry.erase(name)
        for owner in self._owners.all:
            try:
                await owner.ask("drop", crawl=name)
            except LinkscoreError as exc:  # it can write nothing of it any more
                _log.warning("crawl %s is deleted, and a server has not heard of it: %s", name, exc)
        return pb.DeleteCrawlResponse()

    async def first(self, name: str) -> Shard:
        """Return the first group of a crawl, wherever it is; CrawlNotFound if there is no such crawl."""
        groups = (await self._registry.crawls()).get(name)
        if groups is None:
            raise CrawlNotFound.named(name)
        return Shard(name, 0, groups)

    def opened(self, actor: CrawlActor) -> None:
        """Give the other groups of a crawl whose first one was opened its configuration, now and later."""
        first = Shard.of(actor.key)
        if first.groups == 1 or first.group:
            return

        def align() -> None:
            tasks.beside(self._align_until_done(actor, first), "alignment of groups", self._aligning)

        def heard(event: Event, outcome: Outcome) -> None:
            if isinstance(event, ConfigChanged):
                align()

        actor.listeners.append(heard)
        align()

    async def _align_until_done(self, actor: CrawlActor, first: Shard) -> None:
        while self._registry.opened_now(first.key) is actor:
            try:
                await self._align(first)
                break
            except (LinkscoreError, OSError) as exc:
                _log.info("crawl %s: a change did not reach every group: %s", first.crawl, exc)
            await asyncio.sleep(_AGAIN_S)

    async def _align(self, first: Shard) -> None:
        config = (await self._registry.open(first.key)).model.config
        for shard in shards_of(config.name, config.groups)[1:]:
            told = partial(_configured, shard.key, config.to_state())
            await self._owners.reach(shard, told)

    async def close(self) -> None:
        """Stop."""
        for task in self._aligning:
            task.cancel()
        await asyncio.gather(*self._aligning, return_exceptions=True)


async def _configured(key: str, config: dict[str, Any], owner: Owner) -> None:
    await owner.ask("configure", shard=key, config=config)
