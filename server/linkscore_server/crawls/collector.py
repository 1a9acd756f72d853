"""What is counted when Prometheus asks: sites by stage, use of the bounds, how policies do."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.policies.answers import EXTRA, SERVED
from linkscore_scoring.policies.guard import FAILURES
from linkscore_scoring.site.learning import SiteBounds
from linkscore_scoring.site.model import SiteModel, Stage
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.settings import Settings

_Gauge = tuple[str, str, float]
"""Name, meaning and value."""
_ROLES = {SERVED: "served", EXTRA: "extra"}


class RegistryCollector(Collector):
    """Reads the models of a registry; every figure is O(sites in memory), and none names a site.

    Of evicted sites only the number counts.
    """

    def __init__(self, registry: CrawlRegistry, settings: Settings) -> None:
        self._registry, self._settings = registry, settings

    def describe(self) -> list[Metric]:
        """Return nothing: the names are known only by collecting."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Count."""
        actors = self._registry.actors()
        tables = [actor.model.sites for actor in actors]
        shards = [shard for table in tables for shard in table.in_memory]
        sites = [shard.model for shard in shards]
        for name, meaning, value in self._gauges(actors):
            yield GaugeMetricFamily(f"linkscore_{name}", meaning, value=value)
        yield _by_stage(sites, evicted=sum(map(len, tables)) - len(sites))
        yield from self._bounds(sites)
        yield from _policies(shards)
        evicted = sum(site.memory.evicted for site in sites)
        meaning = "Links forgotten because of site_links, in the sites in memory"
        yield GaugeMetricFamily("linkscore_links_evicted", meaning, value=evicted)

    def _gauges(self, actors: Sequence[CrawlActor]) -> Iterator[_Gauge]:
        registry, budget = self._registry, self._registry.memory.budget
        replayed, (free, is_full) = sum(actor.replay_count for actor in actors), registry.space.left()
        bound = "Bound of it: site_memory_mb, or less while the process is close to memory_mb"
        most = "The setting memory_mb; compare process_resident_memory_bytes"
        full = "1 while pages and feedback are refused for want of disk space (min_free_mb), else 0"
        yield "crawls", "Crawls", registry.crawl_count
        yield "crawls_open", "Crawls in memory", len(actors)
        yield "crawls_damaged", "Crawls whose log could not be read", len(registry.damaged)
        yield "events_to_replay", "Events that a start applies before it serves, 3 ms each", replayed
        yield "site_memory_bytes", "Memory of the sites, estimated", budget.used
        yield "site_memory_limit_bytes", bound, budget.limit
        yield "memory_limit_bytes", most, self._settings.memory_mb << 20
        yield "disk_free_bytes", "Free space on the disk of the data folder; infinite where none is", free
        yield "disk_full", full, float(is_full)

    def _bounds(self, sites: list[SiteModel]) -> Iterator[Metric]:
        most, labels = SiteBounds(links=self._settings.site_links), ["bound"]
        limit = GaugeMetricFamily(
            "linkscore_bound", "Bounds of the memory of a site; site_links is a setting", labels=labels
        )
        used = GaugeMetricFamily(
            "linkscore_bound_used",
            "Largest use of a bound by any site; at linkscore_bound the oldest entries are forgotten",
            labels=labels,
        )
        for name, bound, counts in (
            ("site_links", most.links, [len(site.memory) for site in sites]),
            ("site_blocks", most.blocks, [len(site.texts) for site in sites]),
            ("site_apaths", most.apaths, [len(site.link_paths) for site in sites]),
        ):
            limit.add_metric([name], bound)
            used.add_metric([name], max(counts, default=0))
        yield from (limit, used)


def _by_stage(sites: list[SiteModel], evicted: int) -> GaugeMetricFamily:
    stages = Counter(site.stage for site in sites)
    family = GaugeMetricFamily(
        "linkscore_sites", "Sites by stage; put_away: evicted, of any stage", labels=["stage"]
    )
    for stage in Stage:
        family.add_metric([stage.name.lower()], stages[stage])
    family.add_metric(["put_away"], evicted)
    return family


def _policies(shards: list[SiteShard]) -> Iterator[Metric]:
    """Yield how policies did on the links fetched, by name and by what part they have."""
    labels = ["policy", "role"]
    judged = GaugeMetricFamily(
        "linkscore_policy_judged_links", "Fetched links a policy was judged on, of all sites", labels=labels
    )
    quality = GaugeMetricFamily(
        "linkscore_policy_quality",
        "How often the better of two links had the higher score, 0.5 is chance; mean by judged links",
        labels=labels,
    )
    known = defaultdict(list)
    for shard in shards:
        for figures in shard.policy_qualities():
            known[figures.policy, _ROLES[figures.role]].append(figures)
    for key, found in sorted(known.items()):
        links = sum(figures.judged for figures in found)
        judged.add_metric(key, links)
        if links:
            quality.add_metric(key, sum(f.quality * f.judged for f in found) / links)
    failures = CounterMetricFamily(
        "linkscore_policy_failures",
        "Errors of policies from other packages; breadth-first order replaced them",
        labels=["policy"],
    )
    for name, count in sorted(FAILURES.items()):
        failures.add_metric([name], count)
    yield from (judged, quality, failures)
