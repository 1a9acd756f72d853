"""What is counted of the slots of a cluster."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class ClusterMetrics:
    """Metrics of a process of a cluster, in its registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.slots = Gauge(
            "linkscore_slots",
            "Slots that the processes of a cluster divide",
            registry=registry,
        )
        self.slots_held = Gauge(
            "linkscore_slots_held", "Slots whose shards this process of a cluster serves", registry=registry
        )
        self.peers_silent = Gauge(
            "linkscore_peers_silent",
            "Servers of a cluster that do not answer the probes of this one",
            registry=registry,
        )
        self.peers_evicted = Counter(
            "linkscore_peers_evicted",
            "Servers of a cluster whose slots this one had given to others because they did not answer",
            registry=registry,
        )
