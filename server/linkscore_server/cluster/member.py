"""A process of a cluster as the application has it in hand: built from settings, joined, left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

import grpc

from linkscore_scoring.engine.groups import Shard
from linkscore_server.cluster.cluster import Cluster, Group
from linkscore_server.cluster.group import NoShare, SlotGroup
from linkscore_server.cluster.owners import ClusterOwners
from linkscore_server.cluster.routes import RouteTable
from linkscore_server.cluster.slots import SLOTS
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.grpc.reading import PageReader
from linkscore_server.observability.metrics import Metrics
from linkscore_server.routing.owners import LocalOwner
from linkscore_server.routing.peer_calls import server_for_peers
from linkscore_server.routing.reading import ReadingPeer
from linkscore_server.routing.router import Router
from linkscore_server.settings import Settings
from linkscore_server.storage.kafka.store import KafkaStore
from linkscore_server.tls import server_credentials


class Member:
    """This process among those of its cluster.

    Parameters
    ----------
    settings
        Of a process in a cluster.
    store
        Over the brokers of the cluster.
    registry
        The shards of this process.
    local
        The services of this process.
    reader
        Reads pages of the sites of others.
    metrics
        Tell how many slots there are, and how many this process has.
    """

    def __init__(
        self,
        settings: Settings,
        store: KafkaStore,
        registry: CrawlRegistry,
        local: LocalOwner,
        reader: PageReader,
        metrics: Metrics,
    ) -> None:
        self._settings = settings
        self._store = store
        self._registry = registry
        self._local = local
        self._metrics = metrics
        credentials = _channel_credentials(settings)
        self.owners = ClusterOwners(
            local, lambda address: ReadingPeer(address, settings.max_message_bytes, reader, credentials)
        )
        self._cluster: Cluster | None = None

    def server(self, router: Router) -> grpc.aio.Server:
        """Return what answers the other processes, bound to its address."""
        s = self._settings
        credentials = server_credentials(s.tls_cert, s.tls_key, s.tls_client_ca) if s.tls_client_ca else None
        server, port = server_for_peers(
            s.peers_listen, self._local, router, self.owners, s.max_message_bytes, credentials
        )
        self.owners.address = s.advertise or f"{s.peers_listen.rpartition(':')[0]}:{port}"
        return server

    async def join(self, took: Callable[[Iterable[Shard]], None]) -> None:
        """Get a share of the slots; returns when every slot is of some process.

        Parameters
        ----------
        took
            Called with the shards that come to this process.
        """
        brokers, topics = self._store.brokers, self._store.topics
        self.owners.slots = await asyncio.to_thread(self._slots)
        self._cluster = cluster = Cluster(self.owners, self._registry, topics.shards, took)
        table = RouteTable(
            brokers.properties,
            brokers,
            topics.owners,
            self.owners.slots,
            heard=cluster.heard,
            read=cluster.read,
        )
        self._metrics.slots.set(self.owners.slots)
        self._metrics.slots_held.set_function(lambda: cluster.held_count)
        await cluster.join(self._group(cluster), table)

    async def leave(self) -> None:
        """Hand all slots to the others; calls are still answered, by asking these."""
        if self._cluster is not None:
            await self._cluster.leave()

    async def close(self) -> None:
        """Stop hearing of the others."""
        if self._cluster is not None:
            await self._cluster.close()

    def _group(self, cluster: Cluster) -> Group:
        """Return what gives this process its slots; a front has none."""
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
        )

    def _slots(self) -> int:
        topics = self._store.topics
        if not (slots := topics.partitions(topics.owners)):
            topics.make(topics.owners, slots := SLOTS, **{"cleanup.policy": "compact"})
        return slots


def _channel_credentials(settings: Settings) -> grpc.ChannelCredentials | None:
    """Return what this process shows to others: its own certificate, where clients must have one."""
    if not settings.tls_client_ca:
        return None
    authorities, key, cert = (
        Path(path).read_bytes() for path in (settings.tls_client_ca, settings.tls_key, settings.tls_cert)
    )
    return grpc.ssl_channel_credentials(authorities, key, cert)
