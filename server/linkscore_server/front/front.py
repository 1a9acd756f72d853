"""Answers callers, whoever has what they ask about: this process, one of several, or one of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from linkscore_scoring.engine.groups import Shard
from linkscore_server.crawls.libraries import registrable_domain
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.front.cluster import Cluster, ClusterOwners
from linkscore_server.front.owners import LocalOwner, Owner, Owners, Peer, place_of
from linkscore_server.front.questions import Questions
from linkscore_server.front.router import Router
from linkscore_server.front.serving import ForPeers, server_for_peers, servicers_of
from linkscore_server.observability.metrics import Metrics
from linkscore_server.services.scoring import LinkScoringService
from linkscore_server.settings import Settings
from linkscore_server.store import Store
from linkscore_server.store.ownership import Ownership
from linkscore_server.tls import server_credentials


@dataclass(frozen=True, slots=True)
class Share:
    """Which of several processes of fixed shares this is; `sockets` are where each listens for the others."""

    number: int = 0
    sockets: tuple[str, ...] = ("",)


class Front:
    """The services of this process and of all others of the server.

    `share`: of this process; not of one over PostgreSQL, where servers share by themselves. `servicers`: who
    answers callers, by name of the service. `cluster`: what keeps this server among those over one
    PostgreSQL, if it is one of them. `is_alone`: whether no other process is part of the server. If there are
    others, callers are let in last.
    """

    def __init__(
        self,
        registry: CrawlRegistry,
        scoring: LinkScoringService,
        services: Mapping[str, Any],
        settings: Settings,
        metrics: Metrics,
        store: Store,
        clock: Callable[[], float],
        share: Share,
    ) -> None:
        self._settings, self._share = settings, share
        local = LocalOwner(services, Questions(registry, scoring, metrics.registry))
        self.is_alone = not store.engine.is_shared and len(share.sockets) == 1
        self.shares_port = len(share.sockets) > 1
        self.owners = self._cluster_owners(local) if store.engine.is_shared else self._fixed_owners(local)
        self.router = Router(
            self.owners, registry, settings, store, domain_of=registrable_domain, clock=clock
        )
        self.servicers = servicers_of(self.router)
        self.cluster: Cluster | None = None
        self._peer_server: grpc.aio.Server | None = None
        self._has_begun = False
        if not self.is_alone:
            self._peer_server, address = self._listening_to_peers(ForPeers(local, self.router))
        if isinstance(self.owners, ClusterOwners):
            self.owners.address = address
            ownership = Ownership(store, address)
            registry.confirm = ownership.confirm
            registry.owner_of = self.owners.best
            self.cluster = Cluster(ownership, self.owners, registry)

    def owns(self, shard: Shard) -> bool:
        """Say whether a shard may be of this process; of a cluster none is before it has begun."""
        if self.cluster is not None:
            return self._has_begun
        return place_of(shard, len(self._share.sockets)) == self._share.number

    async def start(self) -> None:
        """Begin when the crawls are found; return when those of other processes can be reached."""
        if self._peer_server is not None:
            await self._peer_server.start()
        self._has_begun = True
        if self.cluster is not None:
            await self.cluster.start()
        else:
            await self.owners.all_there()

    async def leave(self) -> None:
        """Give up what others can have, before callers are turned away."""
        if self.cluster is not None:
            await self.cluster.leave()

    async def close(self) -> None:
        """Stop, when no caller is left; others are answered what they asked before they were told."""
        if self._peer_server is not None:
            await self._peer_server.stop(self._settings.drain_s)
        await self.owners.close()
        await self.router.coordinator.close()

    def _fixed_owners(self, local: LocalOwner) -> Owners:
        most = self._settings.max_message_bytes
        owners: list[Owner] = [Peer(socket, most) if socket else local for socket in self._share.sockets]
        owners[self._share.number] = local
        return Owners(owners, self._share.number)

    def _cluster_owners(self, local: LocalOwner) -> ClusterOwners:
        s = self._settings
        credentials = _shown_to_peers(s)
        return ClusterOwners(local, lambda address: Peer(address, s.max_message_bytes, credentials))

    def _listening_to_peers(self, answers: ForPeers) -> tuple[grpc.aio.Server, str]:
        """Return what answers the other servers, and where they reach it."""
        s, socket = self._settings, self._share.sockets[self._share.number]
        if socket:
            return server_for_peers(socket, answers, s.max_message_bytes)[0], socket
        credentials = server_credentials(s.tls_cert, s.tls_key, s.tls_client_ca) if s.tls_client_ca else None
        server, port = server_for_peers(s.peers_listen, answers, s.max_message_bytes, credentials)
        return server, s.advertise or f"{s.peers_listen.rpartition(':')[0]}:{port}"


def _shown_to_peers(settings: Settings) -> grpc.ChannelCredentials | None:
    """Return what this process shows to others: its own certificate, where clients must have one."""
    if not settings.tls_client_ca:
        return None
    authorities, key, cert = (
        Path(path).read_bytes() for path in (settings.tls_client_ca, settings.tls_key, settings.tls_cert)
    )
    return grpc.ssl_channel_credentials(authorities, key, cert)
