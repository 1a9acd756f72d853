"""What a frontier counts, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily

from linkscore_frontier.crawls import Crawls
from linkscore_frontier.records import State

_MAX_CRAWLS = 100
"""Crawls that have metrics of their own: a bound of what Prometheus keeps."""


class FrontierMetrics:
    """Counters of a process."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.put = Counter("linkscore_frontier_put", "URLs put, by outcome", ["status"], registry=registry)
        self.given = Counter("linkscore_frontier_given", "URLs given", registry=registry)
        self.get_s = Histogram("linkscore_frontier_get_seconds", "Time of GetURLs", registry=registry)
        self.ranked = Counter("linkscore_frontier_ranked", "Answers of RankBuckets", registry=registry)
        self.scored = Counter("linkscore_frontier_scored", "URLs placed by ScoreLinks", registry=registry)
        self.failures = Counter(
            "linkscore_frontier_failures_reported", "Failed fetches reported to linkscore", registry=registry
        )
        self.errors = Counter(
            "linkscore_frontier_errors", "Calls that linkscore did not answer", ["code"], registry=registry
        )
        self.away = Gauge("linkscore_frontier_away", "1 while linkscore does not answer", registry=registry)


class CrawlCollector:
    """Reads what waits from the counts that are kept anyway."""

    def __init__(self, crawls: Crawls) -> None:
        self._crawls = crawls

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Give the gauges of each crawl."""
        urls = GaugeMetricFamily("linkscore_frontier_urls", "URLs by state", labels=["crawl", "state"])
        queues = GaugeMetricFamily("linkscore_frontier_queues", "Queues", labels=["crawl"])
        for crawl, summary in list(self._crawls.all().items())[:_MAX_CRAWLS]:
            queues.add_metric([crawl], summary.queues)
            for state in State:
                urls.add_metric([crawl, state.name.lower()], summary.states[state])
        yield urls
        yield queues
