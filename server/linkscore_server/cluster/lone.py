"""A server without `peers_listen` has all crawls of its brokers, but not beside a cluster that has them."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, cast

from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.errors import InvalidInput
from linkscore_server.cluster.settings import ClusterSettings
from linkscore_server.directories import Parts
from linkscore_server.routing.directory import GroupDirectory
from linkscore_server.settings import Settings
from linkscore_server.storage.base import LogAway

if TYPE_CHECKING:
    from linkscore_server.storage.kafka.store import KafkaStore

_KNOWN_S = 1.0
"""How long the answer counts whether there is a cluster: a start opens many crawls at once. Less than a
server takes to start, or a log that it took would be taken back on an answer of before."""
_log = logging.getLogger(__name__)


class LoneDirectory(GroupDirectory):
    """All crawls are of this process, unless servers of a cluster share the same topics.

    Both would take each log from the other in turn. A lone server is refused beside a cluster, and one beside
    which a cluster begins opens no log again.
    """

    def __init__(self, parts: Parts) -> None:
        self._topics = cast("KafkaStore", parts.store).topics
        self._asked_s, self._members = -_KNOWN_S, 0
        self._turn = asyncio.Lock()
        if members := self._topics.members_of_cluster():
            raise InvalidInput(
                f"must be set: {members} servers with peers_listen have the crawls of these topics; set it "
                "here too, or another kafka_prefix",
                field="peers_listen",
            )
        super().__init__(parts)
        parts.registry.open_crawls.lease = self

    @classmethod
    def fits(cls, settings: Settings) -> int:
        """See `Directory.fits`."""
        found = ClusterSettings.of(settings)
        return 2 if found.kafka_hosts and not found.is_clustered else 0

    def serves(self, _: Shard) -> bool:
        """See `lease.ShardLease`."""
        return True

    async def confirm(self, shard: Shard) -> None:
        """See `lease.ShardLease`."""
        async with self._turn:
            if time.monotonic() > self._asked_s + _KNOWN_S:
                await self._look()
        if self._members:
            raise LogAway(f"crawl {shard.crawl!r}: servers of a cluster have it, this one is none of them")

    async def _look(self) -> None:
        self._members = await asyncio.to_thread(self._topics.members_of_cluster)
        self._asked_s = time.monotonic()
        if self._members:
            _log.error(
                "%d servers with peers_listen have taken the crawls of these topics: end them, or set "
                "peers_listen here too",
                self._members,
            )
