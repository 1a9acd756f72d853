"""Crawls of several groups as an annex of the server: all groups are of this process."""

from __future__ import annotations

from linkscore_scoring.engine.groups import Shard
from linkscore_server.crawls.libraries import registrable_domain
from linkscore_server.directories import Directory, Parts
from linkscore_server.routing.handlers import servicers_of
from linkscore_server.routing.metrics import RoutingMetrics
from linkscore_server.routing.owners import LocalOwner, Owners
from linkscore_server.routing.peer_queries import PeerQueries
from linkscore_server.routing.router import Router
from linkscore_server.settings import Settings


class GroupDirectory(Directory):
    """Takes calls about crawls of several groups apart; see `Router`."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.local = LocalOwner(
            parts.services, PeerQueries(parts.registry, parts.scoring, parts.metrics.registry)
        )
        self.owners = self.owners_of(self.local)
        self.router = Router(
            self.owners,
            parts.registry,
            parts.settings,
            RoutingMetrics(parts.metrics.registry),
            ticket_key=parts.store.secret,
            domain_of=registrable_domain,
            clock=parts.clock,
        )
        self.servicers = servicers_of(self.router, parts.services)

    def owners_of(self, local: LocalOwner) -> Owners:
        """Return all owners of groups, of whom this process is one."""
        return Owners([local])

    @classmethod
    def fits(cls, settings: Settings) -> int:
        """See `Directory.fits`: if nothing else does."""
        return 1

    def owns(self, shard: Shard) -> bool:
        """See `Directory.owns`."""
        return True

    async def start(self) -> None:
        """See `Directory.start`."""
        self.router.coordinator.start()

    def drain(self) -> None:
        """See `Directory.drain`."""
        self.router.drain()

    async def close(self) -> None:
        """See `Directory.close`."""
        await self.owners.close()
        await self.router.coordinator.close()
