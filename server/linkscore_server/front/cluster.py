"""The servers over one PostgreSQL: who has which shard, as this one last heard, and what it does about it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from linkscore_scoring.errors import LinkscoreError
from linkscore_server import tasks
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.front.owners import Owner, Owners
from linkscore_server.groups import Shard
from linkscore_server.services.errors import NotServing
from linkscore_server.store.ownership import TICK_S, Ownership, Standing

_log = logging.getLogger(__name__)
_LEAST_S = 0.1
"""Least time between two looks, however many calls miss an owner. Chosen, not measured."""


class Cluster(Owners):
    """This server among its like: it looks who has what, opens its own and hands over the rest."""

    is_alone = False
    follows_s = 6.0

    def __init__(
        self,
        local: Owner,
        registry: CrawlRegistry,
        address: str,
        connect: Callable[[str], Owner],
    ) -> None:
        self._local, self._registry, self._connect, self._address = local, registry, connect, address
        self._ownership = Ownership(registry.store, address)
        registry.confirm, registry.owner_of = self._ownership.confirm, self.best
        self._peers: dict[int, tuple[str, Owner]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._standing = Standing({}, {})
        self._has_looked, self._soon = asyncio.Event(), asyncio.Event()
        self._looking: asyncio.Task[Any] | None = None

    @property
    def number(self) -> int:
        """Its number in the database."""
        return self._ownership.number

    def named(self) -> list[tuple[str, Owner]]:
        return [(self._address, self._local), *sorted(self._peers.values(), key=lambda peer: peer[0])]

    def of(self, shard: Shard) -> Owner:
        """See `Owners.of`: of what is not there who would have it; NotServing if nobody has it now."""
        number = self._standing.owners.get(shard.key, 0)
        if number not in self._standing.servers:
            number = self.best(shard.key)
        if number == self.number:
            return self._local
        if number not in self._peers:
            raise NotServing("no server has these sites yet, try again")
        return self._peers[number][1]

    def best(self, key: str) -> int:
        """Return the number of the server that is to have a shard."""
        return Ownership.best(key, self._standing.servers)

    async def all_there(self) -> None:
        """Have a share of the shards; returns when it is known who has the others."""
        self._looking = tasks.for_ever(self._look, "looks at the other servers", again_s=_LEAST_S)
        await self._has_looked.wait()

    def look_soon(self) -> None:
        self._soon.set()

    async def leave(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        self._connect_to(await asyncio.to_thread(self._ownership.leave))
        for key in list(self._registry.keys()):
            await self._hand_over(key)
        await asyncio.to_thread(self._ownership.forget)
        self._connect_to(await asyncio.to_thread(self._ownership.standing))

    async def close(self) -> None:
        await super().close()
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _look(self) -> None:
        self._soon.clear()
        try:
            await self.hear(await asyncio.to_thread(self._ownership.tick))
            self._has_looked.set()
        except (LinkscoreError, OSError) as exc:
            _log.warning("the database does not say who has which crawl: %s", exc)
        with suppress(TimeoutError):  # not `wait_for`, which may not hear that the task is cancelled
            async with asyncio.timeout(TICK_S - _LEAST_S):
                await self._soon.wait()

    async def hear(self, standing: Standing) -> None:
        """Take in who has what, which may be some moments old."""
        self._connect_to(standing)
        here = set(self._registry.keys())
        await self._registry.forget_erased(here - standing.owners.keys())
        for key in here - standing.mine:
            if key in standing.owners:  # else it was made here since
                await self._registry.let_go(key)
        for key in here & standing.returned:
            await self._registry.let_go(key)
            self._registry.take(key)
        for key in standing.mine - here:
            self._registry.take(key)
        for key in standing.leaving:
            await self._hand_over(key)

    async def _hand_over(self, key: str) -> None:
        await self._registry.let_go(key)
        await asyncio.to_thread(self._ownership.hand_over, key, self.best(key))

    def _connect_to(self, standing: Standing) -> None:
        """Connect to new servers; calls to those that are gone are ended."""
        self._standing = standing
        for gone in self._peers.keys() - standing.servers.keys():
            address, owner = self._peers.pop(gone)
            tasks.beside(owner.close(), f"closing {address}", self._closing)
        for new in standing.servers.keys() - self._peers.keys() - {self.number}:
            if address := standing.servers[new]:
                self._peers[new] = (address, self._connect(address))
