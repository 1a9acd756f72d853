"""What is counted of crawls of several groups."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Histogram

from linkscore_server.observability.metrics import LATENCY_S


class RoutingMetrics:
    """Metrics of calls about several groups, in the registry of a server."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.scattered_seconds = Histogram(
            "linkscore_scattered_call_duration_seconds",
            "Time to answer a call about a crawl of several groups; the slowest group counts",
            ["method"],
            buckets=LATENCY_S,
            registry=registry,
        )
