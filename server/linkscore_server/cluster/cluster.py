"""One process of a cluster: takes the shards of slots that are assigned to it, and lets go of the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Protocol

from linkscore_scoring.engine.groups import Shard
from linkscore_server import tasks
from linkscore_server.cluster.group import Slots
from linkscore_server.cluster.owners import ClusterOwners
from linkscore_server.cluster.routes import Route, RouteTable
from linkscore_server.cluster.slots import slot_of
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.storage.base import LogAway

_AGAIN_S = 0.5  # after brokers did not answer; chosen, not measured
_TAKEN_S = 3.0
"""Longest wait of a process that leaves until others have said that they have its slots, which takes about a
second. A bound: there may be nobody."""
_log = logging.getLogger(__name__)


class Group(Protocol):
    """Divides slots; see `group.SlotGroup`."""

    @property
    def mine(self) -> Slots:
        """Slots of this process, as far as it has heard."""

    @property
    def member(self) -> str:
        """Name of this process in the group."""

    def join(self) -> None:
        """Ask for slots."""

    def leave(self) -> None:
        """Give up all."""

    def confirm(self, slot: int) -> bool:
        """Ask whether a slot is still of this process."""


class Cluster:
    """Which shards this process serves.

    A slot that the group assigns is *held* once its shards are listed; then the others are told. What the
    group takes back is saved before another process gets it, and held on, as by a process that the group gave
    up without a word (it was stopped, the coordinator died): a log has one writer in any case (ADR 22). A
    process lets go of a slot when it hears that another one has it; if the group says it is its own after
    all, it tells the others again. A shard is only opened when the coordinator confirms the slot, so two
    processes do not take a log from each other in turn.

    Parameters
    ----------
    owners
        Who has which slot.
    registry
        The shards of this process.
    shards
        Lists the shards of all crawls; blocks.
    took
        Called with the shards that were taken.
    """

    def __init__(
        self,
        owners: ClusterOwners,
        registry: CrawlRegistry,
        shards: Callable[[], list[Shard]],
        took: Callable[[Iterable[Shard]], None],
    ) -> None:
        self.owners = owners
        self._registry = registry
        self._shards = shards
        self._took = took
        self._held: set[int] = set()
        self._has_none = asyncio.Event()
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._read = asyncio.Event()
        registry.open_crawls.lease = self

    async def join(self, group: Group, table: RouteTable) -> None:
        """Ask for slots; returns when every slot is of some process."""
        self._group, self._table = group, table
        self.owners.member = lambda: group.member
        table.start()
        await self._read.wait()
        group.join()
        await self.owners.all_there()

    async def leave(self) -> None:
        """Have the others take all slots; calls are answered meanwhile, and then by asking these.

        Slots that nobody takes are held to the end.
        """
        self.owners.member = str  # saving may leave out answers to probes: who leaves is not to be given up
        await asyncio.to_thread(self._group.leave)
        if self._held and len(self.owners.all) > 1:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_none.wait(), _TAKEN_S)

    async def close(self) -> None:
        """Stop."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._table.close)

    @property
    def held_count(self) -> int:
        """How many slots this process has."""
        return len(self._held)

    def serves(self, shard: Shard) -> bool:
        """See `lease.ShardLease`."""
        return slot_of(shard, self.owners.slots) in self._held

    async def confirm(self, shard: Shard) -> None:
        """See `lease.ShardLease`."""
        slot = slot_of(shard, self.owners.slots)
        if not await asyncio.to_thread(self._group.confirm, slot):
            self._later(self._let_go({slot}))
            raise LogAway("another process has these sites by now, try again")

    # Called by threads: of the group, and of the table.

    def taken(self, slots: Slots) -> None:
        """Hear that slots are of this process."""
        self._loop.call_soon_threadsafe(self._later, self._take(slots))

    def given_up(self, slots: Slots) -> None:
        """Hear that another process gets slots; returns when they are saved."""
        asyncio.run_coroutine_threadsafe(self._save(slots), self._loop).result()

    def heard(self, slot: int, route: Route) -> None:
        """Hear who has a slot."""
        self._loop.call_soon_threadsafe(self._hear, slot, route)

    def read(self) -> None:
        """Hear that the table is read."""
        self._loop.call_soon_threadsafe(self._read.set)

    async def _take(self, slots: Slots) -> None:
        """Take the shards of slots, and say so; try again while brokers are away."""
        while taken := slots & self._group.mine:
            try:
                async with self._lock:
                    found = await asyncio.to_thread(self._shards)
                    own = [shard for shard in found if slot_of(shard, self.owners.slots) in taken]
                    for shard in own:
                        self._registry.open_crawls.take(shard.key)
                    self._held |= taken
                    self._has_none.clear()
                    await asyncio.gather(*map(self._publish, sorted(taken)))
            except (LogAway, OSError) as exc:
                _log.warning("slots %s cannot be taken yet: %s", sorted(taken), exc)
                await asyncio.sleep(_AGAIN_S)
                continue
            self._registry.open_crawls.open_soon([shard.key for shard in own])
            self._took(own)
            break
        await self._let_go(slots)  # what the group took back meanwhile: nobody heard that it was held

    async def _publish(self, slot: int) -> None:
        route = await asyncio.to_thread(self._table.publish, slot, self.owners.address)
        self.owners.hear(slot, route)

    async def _save(self, slots: Iterable[int]) -> None:
        """Save slots that another process gets, so that it replays little; they are served meanwhile."""
        keys = self._keys(self._held & set(slots))
        await asyncio.gather(*map(self._registry.open_crawls.save, keys))
        _log.info("slots %s are saved for others, with %d shards", sorted(slots), len(keys))

    async def _let_go(self, slots: Iterable[int]) -> None:
        """Let go of slots that another process has, but for those that were assigned again meanwhile."""
        async with self._lock:
            gone = (self._held & set(slots)) - self._group.mine
            self._held -= gone
            keys = self._keys(gone)
            await asyncio.gather(*map(self._registry.open_crawls.let_go, keys))
            if gone:
                _log.info("slots %s are let go of, with %d shards", sorted(gone), len(keys))
        if not self._held:
            self._has_none.set()

    def _keys(self, slots: set[int]) -> list[str]:
        """Return the shards in slots, of those that are here."""
        shards = map(Shard.of, self._registry.keys())
        return [shard.key for shard in shards if slot_of(shard, self.owners.slots) in slots]

    def _hear(self, slot: int, route: Route) -> None:
        if self.owners.hear(slot, route) and route.address != self.owners.address and slot in self._held:
            self._later(self._contest(slot))

    async def _contest(self, slot: int) -> None:
        """Find out whose a slot is that this process holds and another one says it has."""
        while slot in self._held:
            route = self.owners.route(slot)
            if route is not None and route.address == self.owners.address:
                return
            try:
                if await asyncio.to_thread(self._group.confirm, slot):
                    await self._publish(slot)
                else:
                    await self._let_go({slot})
                return
            except LogAway as exc:
                _log.warning("slot %d: %s", slot, exc)
                await asyncio.sleep(_AGAIN_S)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        tasks.beside(work, "a change of slots", self._tasks)
