"""What is counted of browse logs."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from linkscore_server.observability.metrics import LEARNING_S


class BrowseMetrics:
    """Metrics of imports and minings, in the registry of a server."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._mined_until = 0.0
        self.records = Counter(
            "linkscore_browse_records",
            "Records of browse logs, by outcome: visit, or the rule that left them out",
            ["outcome"],
            registry=registry,
        )
        self.days_deleted = Counter(
            "linkscore_browse_days_deleted",
            "Days of browse logs deleted after browse_retention_days",
            registry=registry,
        )
        self.files_damaged = Gauge(
            "linkscore_browse_files_damaged",
            "Files of browse logs found damaged since the start: their sites are not mined",
            registry=registry,
        )
        self.mining_seconds = Histogram(
            "linkscore_mining_duration_seconds",
            "Time to mine the browse log of a site",
            buckets=LEARNING_S,
            registry=registry,
        )
        self.mining_failures = Counter("linkscore_mining_failures", "Minings that failed", registry=registry)
        self.mined_until = Gauge(
            "linkscore_mined_until_timestamp_seconds",
            "End of the latest window of browse logs that was mined since the start, of any site",
            registry=registry,
        )

    def count_records(self, outcomes: Mapping[str, int]) -> None:
        """Count the records of a batch by outcome; names of outcomes must be few."""
        for outcome, count in outcomes.items():
            self.records.labels(outcome).inc(count)

    def count_mining(self, seconds: float, end_day: int) -> None:
        """Note a mining of a window that ended before a day, in days since 1970-01-01."""
        self.mining_seconds.observe(seconds)
        self._mined_until = max(end_day * 86_400.0, self._mined_until)
        self.mined_until.set(self._mined_until)
