"""What happens to logs on brokers, counted for the metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector


@dataclass(slots=True, eq=False)
class Counts(Collector):
    """What happened to the logs of a process since its start.

    Attributes
    ----------
    takeovers
        Logs that were taken over.
    fenced
        Appends refused because another process had taken the log over.
    unknown
        Appends of which it is not known whether they are in the log.
    stale
        Frames passed over while logs were read, written by a process that had lost its log.
    checkpoints
        Snapshots written to brokers.
    checkpoints_taken
        Snapshots read from brokers, made by another process.
    checkpoint_failures
        Snapshots that could not be written to brokers.
    """

    takeovers: int = 0
    fenced: int = 0
    unknown: int = 0
    stale: int = 0
    checkpoints: int = 0
    checkpoints_taken: int = 0
    checkpoint_failures: int = 0

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Give the counts to Prometheus."""
        for field in fields(self):
            name, text = _METRICS[field.name]
            yield CounterMetricFamily(name, text, value=getattr(self, field.name))


_METRICS = {
    "takeovers": ("linkscore_log_takeovers", "Logs on brokers that this server took over"),
    "fenced": (
        "linkscore_log_fenced_appends",
        "Appends refused because another server had taken the log over",
    ),
    "unknown": (
        "linkscore_log_unknown_appends",
        "Appends with unknown outcome; the crawl is opened again from the log",
    ),
    "stale": (
        "linkscore_log_stale_frames",
        "Groups of events ignored because their writer had lost the log",
    ),
    "checkpoints": ("linkscore_shared_snapshots", "Snapshots of shards written to brokers"),
    "checkpoints_taken": (
        "linkscore_shared_snapshots_taken",
        "Snapshots of shards read from brokers, written by another server",
    ),
    "checkpoint_failures": (
        "linkscore_shared_snapshot_failures",
        "Snapshots of shards that could not be written to brokers; a server that takes over replays more",
    ),
}
