"""What answers callers, put together: of a server alone, of one of several processes, or of a cluster.

Over one PostgreSQL `Cluster` says who has which shard, as this server last heard, and what it does about it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from linkscore_scoring.errors import LinkscoreError
from linkscore_server import tasks
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.front.owners import LocalOwner, Owner, Owners, Peer, PeerServer, place_of
from linkscore_server.front.router import Router
from linkscore_server.groups import Shard
from linkscore_server.observability.metrics import Metrics
from linkscore_server.operator_files import server_credentials
from linkscore_server.services.contract import NotServing
from linkscore_server.settings import Settings
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


@dataclass(frozen=True, slots=True)
class Share:
    """Which of several processes of fixed shares this is; `sockets` are where each listens for the others."""

    number: int = 0
    sockets: tuple[str, ...] = ("",)


class Front:
    """The services of this process and of all others of the server; `share`: of one of fixed shares."""

    def __init__(
        self,
        registry: CrawlRegistry,
        services: Mapping[str, Any],
        settings: Settings,
        metrics: Metrics,
        clock: Callable[[], float],
        share: Share,
    ) -> None:
        self._settings, self._share = settings, share
        local = LocalOwner(services, registry, metrics.registry)
        self.shares_port = len(share.sockets) > 1
        self._in_cluster, self._has_begun = registry.store.engine.is_shared, False
        self._peers: PeerServer | None = None
        if self._in_cluster or self.shares_port:
            self._peers = self._listening_to_peers(local)
        if self._in_cluster:
            self.owners: Owners = self._cluster(local, registry)
        else:
            most = settings.max_message_bytes
            sockets = enumerate(share.sockets)
            self.owners = Owners([local if n == share.number else Peer(path, most) for n, path in sockets])
        self.is_alone = self.owners.is_alone
        self.router = Router(self.owners, local, registry, settings, clock)
        if self._peers is not None:
            self._peers.call = self.router.call_of_peer

    def owns(self, shard: Shard) -> bool:
        """Say whether a shard may be of this process; of a cluster none is before it has begun."""
        if self._in_cluster:
            return self._has_begun
        return place_of(shard, len(self._share.sockets)) == self._share.number

    async def start(self) -> None:
        """Begin when the crawls are found; return when those of other processes can be reached."""
        if self._peers is not None:
            await self._peers.server.start()
        self._has_begun = True
        await self.owners.all_there()

    async def close(self) -> None:
        """Stop, when no caller is left; others are answered what they asked before they were told."""
        if self._peers is not None:
            await self._peers.server.stop(self._settings.drain_s)
        await self.owners.close()

    def _cluster(self, local: LocalOwner, registry: CrawlRegistry) -> Owners:
        assert self._peers is not None
        s, shown = self._settings, _shown_to_peers(self._settings)
        address = s.advertise or f"{s.peers_listen.rpartition(':')[0]}:{self._peers.port}"
        return Cluster(local, registry, address, lambda peer: Peer(peer, s.max_message_bytes, shown))

    def _listening_to_peers(self, local: LocalOwner) -> PeerServer:
        s, socket = self._settings, self._share.sockets[self._share.number]
        credentials = None
        if s.tls_client_ca and not socket:
            credentials = server_credentials(s.tls_cert, s.tls_key, s.tls_client_ca)
        return PeerServer(socket or s.peers_listen, local, s.max_message_bytes, credentials)


def _shown_to_peers(settings: Settings) -> grpc.ChannelCredentials | None:
    """Return what this process shows to others: its own certificate, where clients must have one."""
    if not settings.tls_client_ca:
        return None
    authorities, key, cert = (
        Path(path).read_bytes() for path in (settings.tls_client_ca, settings.tls_key, settings.tls_cert)
    )
    return grpc.ssl_channel_credentials(authorities, key, cert)
