"""Finds who has a shard in a cluster: this process, or another one by the table of routes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from google.rpc import code_pb2

from linkscore_scoring.engine.groups import Shard
from linkscore_server import tasks
from linkscore_server.cluster.routes import Route
from linkscore_server.cluster.slots import slot_of
from linkscore_server.crawls.turns import wait_s
from linkscore_server.grpc.errors import RETRY_S, NotServing, is_unavailable
from linkscore_server.routing.owners import Owner, Owners, T, Values

_FOLLOWS_S = 5.0
"""Longest time for which a call follows its shard: longer than a failed server is missed, 2 to 3 s, see
research/notebook/cluster-faults.md. Chosen: whoever hears nothing of the others sends its callers to them."""


class ClusterOwners(Owners):
    """All processes of a cluster, and which of them has a shard, as far as this one has heard.

    Parameters
    ----------
    local
        This process.
    connect
        Gives another process by its address.

    Attributes
    ----------
    member
        Gives the name of this process in the group that divides slots, empty if it has none.
    """

    def __init__(self, local: Owner, connect: Callable[[str], Owner]) -> None:
        super().__init__([local])
        self._connect = connect
        self._peers: dict[str, Owner] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._routes: dict[int, Route] = {}
        self._moves: dict[int, asyncio.Future[None]] = {}
        self._all_known = asyncio.Event()
        self.member: Callable[[], str] = str
        self.address = ""
        self.slots = 1

    @property
    def is_alone(self) -> bool:
        """See `Owners.is_alone`: others may come at any time."""
        return False

    @property
    def all(self) -> list[Owner]:
        """This process, then those others that have slots, by address."""
        return [self.local, *(self._peers[address] for address in sorted(self._peers))]

    def named(self) -> list[tuple[str, Owner]]:
        """See `Owners.named`: by address."""
        return [(self.address, self.local), *sorted(self._peers.items())]

    def about(self) -> Values:
        """See `Owners.about`."""
        return {"member": self.member()}

    def next_ones(self, n: int) -> list[tuple[str, Owner]]:
        """Return up to n others that have slots: those that come after this process by address, in a ring."""
        ring = sorted(self._peers.items(), key=lambda peer: (peer[0] < self.address, peer[0]))
        return ring[:n]

    def of(self, shard: Shard) -> Owner:
        """Return who has a shard.

        Raises
        ------
        NotServing
            If nobody has said so yet.
        """
        route = self._routes.get(slot_of(shard, self.slots))
        if route is None:
            raise NotServing("no process has these sites yet, try again")
        return self.local if route.address == self.address else self._peers[route.address]

    async def reach(
        self, shard: Shard, call: Callable[[Owner], Coroutine[Any, Any, T]], *, may_repeat: bool = True
    ) -> T:
        """See `Owners.reach`: one that may be repeated goes where the shard goes, as its caller would.

        It ends at a process that has the shard no more, also one that was stopped. One that is refused is
        made again once another process has the shard, or after the second that its caller would wait.
        """
        if not may_repeat:
            return await call(self.of(shard))
        loop, slot = asyncio.get_running_loop(), slot_of(shard, self.slots)
        until_s = loop.time() + min(wait_s(), _FOLLOWS_S)
        while True:
            moved = self._moves.setdefault(slot, loop.create_future())
            try:
                owner = self.of(shard)
                return await (call(owner) if owner is self.local else _until(moved, call(owner)))
            except Exception as exc:
                left_s = until_s - loop.time()
                if left_s <= 0 or not is_unavailable(exc):
                    raise
            await asyncio.wait([moved], timeout=min(left_s, RETRY_S[code_pb2.UNAVAILABLE]))

    def route(self, slot: int) -> Route | None:
        """Return who has a slot, None if nobody has said so yet."""
        return self._routes.get(slot)

    def hear(self, slot: int, route: Route) -> bool:
        """Take in who has a slot; says whether that is news. Calls to a process without slots are ended."""
        known = self._routes.get(slot)
        if known is not None and known.epoch >= route.epoch:
            return False
        self._routes[slot] = route
        if slot in self._moves and (known is None or known.address != route.address):
            self._moves.pop(slot).set_result(None)
        if route.address != self.address and route.address not in self._peers:
            self._peers[route.address] = self._connect(route.address)
        there = {other.address for other in self._routes.values()}
        for address in self._peers.keys() - there:
            tasks.beside(self._peers.pop(address).close(), f"closing {address}", self._closing)
        if len(self._routes) == self.slots:
            self._all_known.set()
        return True

    async def all_there(self) -> None:
        """Wait until every slot is somebody's."""
        await self._all_known.wait()


async def _until(moved: asyncio.Future[None], call: Coroutine[Any, Any, T]) -> T:
    """Return the answer to a call, which ends when its shard has moved."""
    asked = tasks.awaited(call)
    try:
        either: list[asyncio.Future[Any]] = [asked, moved]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            raise NotServing("another process has these sites by now, try again")
        return asked.result()
    finally:
        asked.cancel()
        await asyncio.gather(asked, return_exceptions=True)
