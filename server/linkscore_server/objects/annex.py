"""Snapshots as objects, as a place that logs on brokers may keep them in."""

from __future__ import annotations

import logging

from prometheus_client.registry import Collector

from linkscore_server.objects.checkpoints import ObjectCheckpoints, folder_of
from linkscore_server.objects.settings import ObjectSettings
from linkscore_server.settings import Settings
from linkscore_server.storage.base import LogAway
from linkscore_server.storage.kafka.checkpoints import SharedCheckpoints
from linkscore_server.storage.kafka.records import LogState
from linkscore_server.storage.kafka.snapshots import Checkpoints, Partitions, SnapshotPlace

_log = logging.getLogger(__name__)


def snapshot_place(settings: Settings) -> SnapshotPlace | None:
    """Return what keeps the snapshots of a server, None if its settings name no place."""
    url = ObjectSettings.of(settings).snapshot_url
    return InObjects(url) if url else None


class InObjects(SnapshotPlace):
    """Keeps checkpoints as objects below a URL."""

    def __init__(self, url: str) -> None:
        from linkscore_server.objects.store import Objects

        self._objects = Objects(url)

    def of(self, partitions: Partitions, topic: str, partition: int, log: LogState) -> Checkpoints:
        """See `SnapshotPlace.of`."""
        before = SharedCheckpoints(partitions, topic, partition, log)
        return ObjectCheckpoints(self._objects, before, partitions, topic, partition, log)

    def delete(self, topic: str, partition: int | None = None) -> None:
        """See `SnapshotPlace.delete`; what is left goes when a crawl of this name is made again."""
        folder = folder_of(topic, partition)
        try:
            self._objects.delete(self._objects.names(folder))
        except LogAway as exc:
            _log.error("%s: what is below %s is not deleted and has to be by hand: %s", topic, folder, exc)

    def collectors(self) -> list[Collector]:
        """See `SnapshotPlace.collectors`."""
        return [self._objects.counts]

    def close(self) -> None:
        """See `SnapshotPlace.close`."""
        self._objects.close()
