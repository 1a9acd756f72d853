"""What is counted when Prometheus asks: sites by stage, use of the bounds, how policies do."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.policies.answers import EXTRA, SERVED
from linkscore_scoring.policies.guard import FAILURES
from linkscore_scoring.site.model import SiteModel, Stage
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.settings import Settings

_BUSIEST = 5
"""Shards whose pace is a metric of its own, by rank: labels that name them would be without bound. Chosen."""

_ROLES = {SERVED: "served", EXTRA: "extra"}


class RegistryCollector(Collector):
    """Reads the models of a registry; every figure is O(sites in memory), and none names a site.

    Of evicted sites only the number counts.
    """

    def __init__(self, registry: CrawlRegistry, settings: Settings) -> None:
        self._registry = registry
        self._settings = settings

    def describe(self) -> list[Metric]:
        """Return nothing: the names are known only by collecting."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Count."""
        tables = [actor.model.sites for actor in self._registry.actors()]
        shards = [shard for table in tables for shard in table.in_memory]
        sites = [shard.model for shard in shards]
        yield from self._crawls()
        yield self._busiest()
        yield _by_stage(sites, evicted=sum(map(len, tables)) - len(sites))
        yield from self._memory()
        yield from self._disk()
        yield from self._bounds(sites)
        yield from _policies(shards)
        evicted = sum(site.memory.evicted for site in sites)
        yield GaugeMetricFamily(
            "linkscore_links_evicted",
            "Links forgotten because of site_links, in the sites in memory",
            value=evicted,
        )

    def _crawls(self) -> Iterator[Metric]:
        yield GaugeMetricFamily("linkscore_crawls", "Crawls", value=self._registry.crawl_count)
        yield GaugeMetricFamily(
            "linkscore_crawls_open", "Crawls in memory", value=len(self._registry.actors())
        )
        yield GaugeMetricFamily(
            "linkscore_crawls_damaged",
            "Crawls whose log could not be read",
            value=len(self._registry.damaged),
        )
        yield GaugeMetricFamily(
            "linkscore_events_to_replay",
            "Events that a start applies before it serves, 3 ms each",
            value=sum(actor.replay_count for actor in self._registry.actors()),
        )

    def _busiest(self) -> GaugeMetricFamily:
        family = GaugeMetricFamily(
            "linkscore_busiest_shards_events_per_second",
            "Events a second of the busiest open shards, by rank; `crawls shards --busiest` names them",
            labels=["rank"],
        )
        paces = sorted((actor.pace.events_per_s for actor in self._registry.actors()), reverse=True)
        for rank, events_per_s in enumerate(paces[:_BUSIEST], 1):
            family.add_metric([str(rank)], events_per_s)
        return family

    def _memory(self) -> Iterator[Metric]:
        budget = self._registry.memory.budget
        yield GaugeMetricFamily(
            "linkscore_site_memory_bytes", "Memory of the sites, estimated", value=budget.used
        )
        yield GaugeMetricFamily(
            "linkscore_site_memory_limit_bytes",
            "Bound of it: site_memory_mb, or less while the process is close to memory_mb",
            value=budget.limit,
        )
        yield GaugeMetricFamily(
            "linkscore_memory_limit_bytes",
            "The setting memory_mb; compare process_resident_memory_bytes",
            value=self._settings.memory_mb << 20,
        )

    def _disk(self) -> Iterator[Metric]:
        space = self._registry.space
        space.look()
        yield GaugeMetricFamily(
            "linkscore_disk_free_bytes",
            "Free space on the disk of the data folder; NaN where there is none",
            value=space.free,
        )
        yield GaugeMetricFamily(
            "linkscore_disk_full",
            "1 while pages and feedback are refused for want of disk space (min_free_mb), else 0",
            value=float(space.is_on),
        )

    def _bounds(self, sites: list[SiteModel]) -> Iterator[Metric]:
        s = self._settings
        uses = {
            "site_links": (s.site_links, [len(site.memory) for site in sites]),
            "site_blocks": (s.site_blocks, [len(site.texts) for site in sites]),
            "site_apaths": (s.site_apaths, [len(site.link_paths) for site in sites]),
        }
        limit = GaugeMetricFamily(
            "linkscore_bound", "Settings that bound the memory of a site", labels=["bound"]
        )
        used = GaugeMetricFamily(
            "linkscore_bound_used",
            "Largest use of a bound by any site; at linkscore_bound the oldest entries are forgotten",
            labels=["bound"],
        )
        for name, (most, counts) in uses.items():
            limit.add_metric([name], most)
            used.add_metric([name], max(counts, default=0))
        yield limit
        yield used


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
