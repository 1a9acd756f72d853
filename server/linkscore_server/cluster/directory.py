"""A process of a cluster as an annex of the server: it has some slots, and asks the others about the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import grpc

from linkscore_scoring.engine.groups import Shard
from linkscore_server import tasks
from linkscore_server.cluster.metrics import ClusterMetrics
from linkscore_server.cluster.settings import ClusterSettings
from linkscore_server.cluster.slots import SLOTS
from linkscore_server.directories import Parts
from linkscore_server.routing.directory import GroupDirectory
from linkscore_server.routing.owners import LocalOwner
from linkscore_server.routing.peer_calls import server_for_peers
from linkscore_server.routing.reading import ReadingPeer
from linkscore_server.settings import Settings
from linkscore_server.tls import server_credentials

if TYPE_CHECKING:  # every server asks whether this fits its settings, few are a cluster
    from linkscore_server.cluster.cluster import Cluster, Group
    from linkscore_server.cluster.owners import ClusterOwners
    from linkscore_server.storage.kafka.store import KafkaStore


class ClusterDirectory(GroupDirectory):
    """This process among those of its cluster; its store is over the brokers of the cluster.

    Attributes
    ----------
    instance
        See `group.SlotGroup`.
    """

    is_alone = False
    instance: str = ""
    owners: ClusterOwners

    def __init__(self, parts: Parts) -> None:
        self._settings = ClusterSettings.of(parts.settings)
        self._store = cast("KafkaStore", parts.store)  # settings of a cluster without it are refused
        self._cluster: Cluster | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        super().__init__(parts)
        if self._settings.role == "owner":
            self.servicers = {}
        self._peer_server = self._server_for_peers() if self._settings.peers_listen else None

    def owners_of(self, local: LocalOwner) -> ClusterOwners:
        """See `GroupDirectory.owners_of`."""
        from linkscore_server.cluster.owners import ClusterOwners

        reader, most = self.parts.scoring.reader, self._settings.max_message_bytes
        credentials = _channel_credentials(self._settings)
        return ClusterOwners(local, lambda address: ReadingPeer(address, most, reader, credentials))

    @classmethod
    def fits(cls, settings: Settings) -> int:
        """See `Directory.fits`."""
        return 2 if ClusterSettings.of(settings).is_clustered else 0

    def owns(self, shard: Shard) -> bool:
        """See `Directory.owns`: the group of all processes says so later."""
        return False

    async def start(self) -> None:
        """Get a share of the slots; returns when every slot is of some process."""
        if self._peer_server is not None:
            await self._peer_server.start()
        await self._join()
        await self.owners.all_there()
        await super().start()

    async def leave(self) -> None:
        """Hand all slots to the others; calls are still answered, by asking these."""
        for task in self._tasks:
            task.cancel()
        if self._cluster is not None:
            await self._cluster.leave()

    async def close(self) -> None:
        """See `Directory.close`; others are answered what they asked before they were told."""
        if self._peer_server is not None:
            await self._peer_server.stop(self._settings.drain_s)
        if self._cluster is not None:
            await self._cluster.close()
        await super().close()

    def _server_for_peers(self) -> grpc.aio.Server:
        """Return what answers the other processes, bound to its address."""
        s = self._settings
        credentials = server_credentials(s.tls_cert, s.tls_key, s.tls_client_ca) if s.tls_client_ca else None
        server, port = server_for_peers(
            s.peers_listen, self.local, self.router, self.owners, s.max_message_bytes, credentials
        )
        self.owners.address = s.advertise or f"{s.peers_listen.rpartition(':')[0]}:{port}"
        return server

    async def _join(self) -> None:
        from linkscore_server.cluster.cluster import Cluster
        from linkscore_server.cluster.routes import RouteTable

        brokers, topics, metrics = (
            self._store.brokers,
            self._store.topics,
            ClusterMetrics(self.parts.metrics.registry),
        )
        self.owners.slots = await asyncio.to_thread(self._slots)
        self._cluster = cluster = Cluster(
            self.owners, self.parts.registry, topics.shards, self.router.coordinator.took
        )
        table = RouteTable(
            brokers.properties,
            brokers,
            topics.owners,
            self.owners.slots,
            heard=cluster.heard,
            read=cluster.read,
        )
        metrics.slots.set(self.owners.slots)
        metrics.slots_held.set_function(lambda: cluster.held_count)
        await cluster.join(self._group(cluster), table)
        if self._settings.role != "front":
            self._watch_others(metrics)

    def _watch_others(self, metrics: ClusterMetrics) -> None:
        """Begin to probe the other processes."""
        from linkscore_server.cluster.probes import EVERY_S, PeerProbes

        probes = PeerProbes(self.owners, self._settings.session_s, self._evict(), metrics)
        tasks.for_ever(probes.look, "probes of other servers", self._tasks, again_s=EVERY_S)

    def _evict(self) -> Callable[[str], None] | None:
        """Return what has the group of slots give up a member, None over a kind of SASL that it cannot."""
        from linkscore_server.cluster.eviction import can_evict, evict

        properties = self._store.brokers.properties
        return partial(evict, properties, self._store.topics.owners) if can_evict(properties) else None

    def _group(self, cluster: Cluster) -> Group:
        """Return what gives this process its slots; a front has none."""
        from linkscore_server.cluster.group import NoShare, SlotGroup

        if self._settings.role == "front":
            return NoShare()
        owners = self._store.topics.owners
        return SlotGroup(
            self._store.brokers.properties,
            owners,
            owners,
            self._settings.session_s,
            taken=cluster.taken,
            given_up=cluster.given_up,
            evict=self._evict(),
            instance=self.instance,
        )

    def _slots(self) -> int:
        topics = self._store.topics
        if not (slots := topics.partitions(topics.owners)):
            topics.make(topics.owners, slots := SLOTS, **{"cleanup.policy": "compact"})
        return slots


def _channel_credentials(settings: ClusterSettings) -> grpc.ChannelCredentials | None:
    """Return what this process shows to others: its own certificate, where clients must have one."""
    if not settings.tls_client_ca:
        return None
    authorities, key, cert = (
        Path(path).read_bytes() for path in (settings.tls_client_ca, settings.tls_key, settings.tls_cert)
    )
    return grpc.ssl_channel_credentials(authorities, key, cert)
