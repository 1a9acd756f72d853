"""Logs on Kafka as an annex of the server: the store of the scheme ``kafka``."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

from linkscore_server.settings import SNAPSHOTS, Settings
from linkscore_server.storage.base import Store
from linkscore_server.storage.files import FileStore
from linkscore_server.storage.kafka.moving import to_brokers, to_files
from linkscore_server.storage.kafka.rewriting import rewrite
from linkscore_server.storage.kafka.settings import KafkaSettings
from linkscore_server.storage.kafka.snapshots import SnapshotPlace
from linkscore_server.storage.kafka.store import KafkaStore
from linkscore_server.storage.remote import RemoteLogs, Write


class KafkaLogs(RemoteLogs):
    """Opens `KafkaStore`."""

    def open(self, settings: Settings, owner: str) -> Store:
        """See `RemoteLogs.open`."""
        s = KafkaSettings.of(settings)
        return KafkaStore.at(
            s.kafka_hosts,
            Path(s.data_dir),
            properties=s.client_properties(),
            prefix=s.kafka_prefix,
            replicas=s.kafka_replicas,
            owner=owner,
            snapshots=_snapshot_place(settings),
        )

    def to_files(self, store: Store, crawl: str, files: FileStore) -> None:
        """See `RemoteLogs.to_files`."""
        to_files(_on_brokers(store), crawl, files)

    def from_files(self, files: FileStore, crawl: str, store: Store) -> None:
        """See `RemoteLogs.from_files`."""
        to_brokers(files, crawl, _on_brokers(store))

    def rewrite(self, store: Store, crawl: str, groups: int, write: Write) -> list[int]:
        """See `RemoteLogs.rewrite`."""
        return rewrite(_on_brokers(store), crawl, groups, write)


def _snapshot_place(settings: Settings) -> SnapshotPlace | None:
    """Return what keeps snapshots of these settings, None if the brokers do."""
    for entry in entry_points(group=SNAPSHOTS):
        place: SnapshotPlace | None = entry.load()(settings)
        if place is not None:
            return place
    return None


def _on_brokers(store: Store) -> KafkaStore:
    assert isinstance(store, KafkaStore), "opened by `KafkaLogs.open`"
    return store
