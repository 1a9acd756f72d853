"""What happens to objects, counted for the metrics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector


@dataclass(slots=True, eq=False)
class ObjectCounts(Collector):
    """What happened to objects since the start of a process.

    Attributes
    ----------
    written, read
        Bytes of objects.
    failures
        Requests that failed, after they were repeated, and objects of wrong bytes.
    """

    written: int = 0
    read: int = 0
    failures: int = 0

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Give the counts to Prometheus."""
        for name, text, value in (
            ("linkscore_objects_written_bytes", "Bytes written to object storage", self.written),
            ("linkscore_objects_read_bytes", "Bytes read from object storage", self.read),
            (
                "linkscore_objects_failures",
                "Requests to object storage that failed, and objects with wrong bytes",
                self.failures,
            ),
        ):
            yield CounterMetricFamily(name, text, value=value)
