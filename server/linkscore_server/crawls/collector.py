"""What is counted when Prometheus asks: sites by stage, use of the bounds, policies that fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from linkscore_scoring.policies.guard import FAILURES
from linkscore_scoring.site.learning import SiteBounds
from linkscore_scoring.site.model import SiteModel, Stage
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.settings import Settings


class RegistryCollector(Collector):
    """Reads the models of a registry; every figure is O(sites in memory), and none names a site."""

    def __init__(self, registry: CrawlRegistry, settings: Settings) -> None:
        self._registry, self._settings = registry, settings

    def collect(self) -> Iterator[Metric]:
        actors = self._registry.actors()
        tables = [actor.model.sites for actor in actors]
        sites = [shard.model for table in tables for shard in table.in_memory]
        for name, meaning, value in self._gauges(actors, sites):
            yield GaugeMetricFamily(f"linkscore_{name}", meaning, value=value)
        stages = Counter({stage.name.lower(): 0 for stage in Stage})
        stages.update(site.stage.name.lower() for site in sites)
        stages["put_away"] = sum(map(len, tables)) - len(sites)
        yield _labelled("sites", "Sites by stage; put_away: evicted, of any stage", "stage", stages)
        yield from self._bounds(sites)
        yield _failures()

    def _gauges(
        self, actors: Sequence[CrawlActor], sites: list[SiteModel]
    ) -> Iterator[tuple[str, str, float]]:
        """Yield name, meaning and value of each."""
        registry, budget = self._registry, self._registry.memory.budget
        replayed, (free, is_full) = sum(actor.replay_count for actor in actors), registry.space.left()
        bound = "Bound of it: site_memory_mb, or less while the process is close to memory_mb"
        most = "The setting memory_mb; compare process_resident_memory_bytes"
        full = "1 while pages and feedback are refused for want of disk space (min_free_mb), else 0"
        evicted = sum(site.memory.evicted for site in sites)
        yield "crawls", "Crawls", registry.crawl_count
        yield "crawls_open", "Crawls in memory", len(actors)
        yield "crawls_damaged", "Crawls whose log could not be read", len(registry.damaged)
        yield "events_to_replay", "Events that a start applies before it serves, 3 ms each", replayed
        yield "site_memory_bytes", "Memory of the sites, estimated", budget.used
        yield "site_memory_limit_bytes", bound, budget.limit
        yield "memory_limit_bytes", most, self._settings.memory_mb << 20
        yield "disk_free_bytes", "Free space on the disk of the data folder; infinite where none is", free
        yield "disk_full", full, float(is_full)
        yield "links_evicted", "Links forgotten because of site_links, in the sites in memory", evicted

    def _bounds(self, sites: list[SiteModel]) -> Iterator[Metric]:
        most = SiteBounds(links=self._settings.site_links)
        bounds = {"site_links": most.links, "site_blocks": most.blocks, "site_apaths": most.apaths}
        used = {
            "site_links": max((len(site.memory) for site in sites), default=0),
            "site_blocks": max((len(site.texts) for site in sites), default=0),
            "site_apaths": max((len(site.link_paths) for site in sites), default=0),
        }
        meaning = "Largest use of a bound by any site; at linkscore_bound the oldest entries are forgotten"
        yield _labelled("bound", "Bounds of the memory of a site; site_links is a setting", "bound", bounds)
        yield _labelled("bound_used", meaning, "bound", used)


def _failures() -> Metric:
    meaning = "Errors of policies from other packages; breadth-first order replaced them"
    failures = CounterMetricFamily("linkscore_policy_failures", meaning, labels=["policy"])
    for name, count in sorted(FAILURES.items()):
        failures.add_metric([name], count)
    return failures


def _labelled(name: str, meaning: str, labels: str, values: Mapping[Any, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"linkscore_{name}", meaning, labels=labels.split())
    for key, value in values.items():
        family.add_metric([key] if isinstance(key, str) else key, value)
    return family
