"""Gauges that are counted when Prometheus asks: sites by stage, use of the bounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from linkscore_scoring.site.model import SiteModel, Stage
from linkscore_server.registry import CrawlRegistry
from linkscore_server.settings import Settings


class Census(Collector):
    """Reads the models of a registry; every figure is O(sites), and none is labelled by site."""

    def __init__(self, registry: CrawlRegistry, settings: Settings) -> None:
        self._registry = registry
        self._settings = settings

    def describe(self) -> list[GaugeMetricFamily]:
        """Return nothing: the names are known only by collecting."""
        return []

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Count."""
        sites = [
            shard.model for actor in self._registry.actors() for shard in list(actor.model.sites.values())
        ]
        yield GaugeMetricFamily("linkscore_crawls", "Crawls", value=len(self._registry.names()))
        yield GaugeMetricFamily(
            "linkscore_crawls_damaged",
            "Crawls whose log could not be read",
            value=len(self._registry.damaged),
        )
        stages = Counter(site.stage for site in sites)
        by_stage = GaugeMetricFamily("linkscore_sites", "Sites by stage", labels=["stage"])
        for stage in Stage:
            by_stage.add_metric([stage.name.lower()], stages[stage])
        yield by_stage
        yield from self._bounds(sites)
        evicted = sum(site.memory.evicted for site in sites)
        yield GaugeMetricFamily(
            "linkscore_links_evicted", "Links forgotten because of the bound", value=evicted
        )

    def _bounds(self, sites: list[SiteModel]) -> Iterator[GaugeMetricFamily]:
        s = self._settings
        uses = {
            "site_links": (s.site_links, [len(site.memory) for site in sites]),
            "site_blocks": (s.site_blocks, [len(site.texts) for site in sites]),
            "site_apaths": (s.site_apaths, [len(site.apaths) for site in sites]),
        }
        limit = GaugeMetricFamily("linkscore_bound", "Settings that bound memory", labels=["bound"])
        used = GaugeMetricFamily(
            "linkscore_bound_used", "Largest use of a bound by any site", labels=["bound"]
        )
        for name, (most, counts) in uses.items():
            limit.add_metric([name], most)
            used.add_metric([name], max(counts, default=0))
        yield limit
        yield used
