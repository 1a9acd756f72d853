"""What answers callers, put together: of a server alone, of one of several processes, or of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.front.cluster import Cluster
from linkscore_server.front.owners import LocalOwner, Owners, Peer, PeerServer, place_of
from linkscore_server.front.router import Router
from linkscore_server.groups import Shard
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.tls import server_credentials


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
