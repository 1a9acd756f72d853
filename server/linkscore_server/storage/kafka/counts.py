"""What happens to logs on brokers, counted for the metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
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
    unsafe_topics
        Names of topics whose settings could lose events, when they were last looked at.
    """

    takeovers: int = 0
    fenced: int = 0
    unknown: int = 0
    stale: int = 0
    checkpoints: int = 0
    checkpoints_taken: int = 0
    checkpoint_failures: int = 0
    unsafe_topics: set[str] = field(default_factory=set)

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """Give the counts to Prometheus."""
        for counted in fields(self):
            if counted.name in _METRICS:
                name, text = _METRICS[counted.name]
                yield CounterMetricFamily(name, text, value=getattr(self, counted.name))
        text = "Topics of this server whose settings could lose events, as of the last takeover"
        yield GaugeMetricFamily("linkscore_unsafe_topics", text, value=len(self.unsafe_topics))


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
