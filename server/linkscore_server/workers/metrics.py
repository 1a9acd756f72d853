"""The metrics of all workers at one address, each with the number of its worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

LABEL = "worker"
"""Label that every metric of a worker gets."""


class SupervisorMetrics:
    """What the supervisor itself counts, by worker; `registry` has no other metrics."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.up = Gauge(
            "linkscore_worker_up", "Whether a worker serves, 1 or 0", [LABEL], registry=self.registry
        )
        self.restarts = Counter(
            "linkscore_worker_restarts",
            "Restarts of a worker after an unexpected end",
            [LABEL],
            registry=self.registry,
        )
        self.replacements = Counter(
            "linkscore_worker_replacements",
            "Workers replaced by a new process on request (SIGHUP)",
            [LABEL],
            registry=self.registry,
        )

    def add(self, worker: int) -> None:
        """Begin to count for a worker: what never happened is 0, not missing."""
        for counted in (self.up, self.restarts, self.replacements):
            counted.labels(str(worker))


class WorkersCollector(Collector):
    """Asks the workers whenever Prometheus asks.

    Parameters
    ----------
    texts
        Gives what each worker that answers says, in the text format of OpenMetrics, by its number; blocks.
    """

    def __init__(self, texts: Callable[[], Mapping[int, str]]) -> None:
        self._texts = texts

    def describe(self) -> list[Metric]:
        """Return nothing: the names are known only by collecting."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield the families of all workers."""
        merged: dict[str, Metric] = {}
        for number, text in sorted(self._texts().items()):
            for family in text_string_to_metric_families(text):  # type: ignore[no-untyped-call]
                whole = merged.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type, family.unit)
                )
                whole.samples += [
                    sample._replace(labels={**sample.labels, LABEL: str(number)}) for sample in family.samples
                ]
        yield from merged.values()
