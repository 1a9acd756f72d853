"""The sites of a crawl, by name. All stay in memory here; a server may keep most of them elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.link_batches import hash_of
from linkscore_scoring.engine.shard import SiteShard

Make = Callable[[str, CrawlConfig], SiteShard]
"""Makes a site, empty, as the crawl has it under a configuration."""
Configure = Callable[[SiteShard, CrawlConfig], None]
"""Lets a site take over a later configuration."""

_MOST_VALUES = 300_000
"""A bound: buckets whose values are kept from one event to the next, some 200 bytes each. Chosen."""


class SiteFacts(NamedTuple):
    """What is asked of all sites of a crawl at once.

    Attributes
    ----------
    stage, learning, failed, duplicates, pages
        As of its model.
    is_due
        Whether it would be learned if somebody asked, see `SiteModel.waits_for_question`.
    config
        Number of the configuration it was last seen under, of those that the table of sites remembers.
    value
        What a fetch from it is worth to the served policy; None if that depends on other sites too.
    tally
        Sums over all its fetches, see `Tally.values`.
    """

    stage: int
    learning: bool
    is_due: bool
    pages: int
    failed: int
    duplicates: int
    config: int
    value: float | None
    tally: tuple[float, ...]


def facts_of(shard: SiteShard, config: int = 0) -> SiteFacts:
    """Return the facts of a site, under a configuration by number."""
    site, policy = shard.model, shard.served
    is_its_own = policy.crawl_wide is None
    return SiteFacts(
        int(site.stage),
        site.learning_since > 0,
        site.is_due_on_demand,
        site.pages,
        site.failed,
        site.duplicates,
        config,
        float(policy.site_value(site)) if is_its_own else None,
        tuple(site.history.site().total().values()),
    )


class KnownValues:
    """What buckets and sites are worth to the served policy, kept until an event changes their site.

    A frontier of many sites asks about all of them after each fetch, which changed one. Of values that depend
    on other sites too nothing may be kept.

    Attributes
    ----------
    buckets
        Values by the whole name of the bucket.
    sites
        Values by the name of the site.
    """

    def __init__(self) -> None:
        self.buckets: dict[str, float] = {}
        self.sites: dict[str, float] = {}
        self._names: dict[str, list[str]] = {}

    def keep(self, site: str, values: Mapping[str, float]) -> None:
        """Keep the values of buckets of a site that were not known."""
        self._names.setdefault(site, []).extend(values)
        self.buckets.update(values)

    def names(self, site: str) -> list[str]:
        """Return the buckets of a site whose values are known."""
        return self._names.get(site, [])

    def forget(self, site: str) -> None:
        """Forget what is known of a site, or of all sites if that is much."""
        if len(self.buckets) > _MOST_VALUES:
            self.clear()
        self.sites.pop(site, None)
        for name in self._names.pop(site, ()):
            self.buckets.pop(name, None)

    def clear(self) -> None:
        """Forget everything."""
        self.buckets.clear()
        self.sites.clear()
        self._names.clear()


class SiteTable(Mapping[str, SiteShard]):
    """Sites by name, in the order in which they came: a dictionary that makes what an event is about.

    A table of another kind, which keeps sites elsewhere, gives the same answers; see `CrawlModel`.

    Attributes
    ----------
    known_values
        What was answered about sites that did not change since.
    """

    def __init__(self, make: Make, configure: Configure, config: CrawlConfig) -> None:
        self._make, self._configure, self._config = make, configure, config
        self.known_values = KnownValues()
        self._sites: dict[str, SiteShard] = {}
        self._hosts: dict[int, str] = {}

    def __getitem__(self, name: str) -> SiteShard:
        """Return a site, to read it.

        Raises
        ------
        KeyError
            If there is none of this name.
        """
        return self._sites[name]

    def __contains__(self, name: object) -> bool:
        """Say whether the crawl has a site."""
        return name in self._sites

    def __iter__(self) -> Iterator[str]:
        """Yield names, in the order in which sites came."""
        return iter(list(self._sites))

    def __len__(self) -> int:
        """Return the number of sites."""
        return len(self._sites)

    def host(self, hash_: int) -> str:
        """Return the site of a hash of its name; empty if there is none."""
        return self._hosts.get(hash_, "")

    @property
    def in_memory(self) -> list[SiteShard]:
        """Sites that are at hand."""
        return list(self._sites.values())

    def facts(self) -> Iterator[tuple[str, SiteFacts]]:
        """Yield name and facts of each site."""
        for name, shard in list(self._sites.items()):
            yield name, facts_of(shard)

    def kept_value(self, name: str) -> float | None:
        """Return what a fetch from a site is worth where that is known without the site, else None."""
        return None

    def writable(self, name: str) -> SiteShard:
        """Return a site for an event that changes it, made if it is new."""
        self.known_values.forget(name)
        if name not in self._sites:
            self.hold(name, self._make(name, self._config))
        return self._sites[name]

    def hold(self, name: str, shard: SiteShard) -> None:
        """Have a site that was made elsewhere."""
        self._sites[name] = shard
        self._hosts[hash_of(name)] = name

    def event_applied(self) -> None:
        """Take note that the event is applied which asked for what is `writable`."""

    def reconfigure(self, config: CrawlConfig) -> None:
        """Let all sites take over a configuration."""
        self.known_values.clear()
        self._config = config
        for shard in self._sites.values():
            self._configure(shard, config)

    def to_state(self) -> list[Any]:
        """Return all sites as plain values, in the order in which they came."""
        return [[name, self[name].to_state()] for name in self]

    def load_state(self, sites: Sequence[Any]) -> None:
        """Take over the sites of `to_state`."""
        for name, state in sites:
            self.writable(name).load_state(state)
            self.event_applied()
