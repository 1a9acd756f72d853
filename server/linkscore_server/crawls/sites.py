"""The sites of a crawl: those used last are in memory, of all the store has rows and the events after them.

A row says up to which event its state goes. So to forget a site cannot fail and writes nothing, and to read
it back is its row and its own events after that, applied in a crawl that has only this site. Where a site is
changes no answer.
"""

from __future__ import annotations

import logging
import math
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from functools import partial
from heapq import nlargest
from itertools import count, islice
from typing import Any, NamedTuple

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, Event, FeedbackGiven, PageFetched, decode
from linkscore_scoring.engine.results import Outcome
from linkscore_scoring.engine.shard import Configure, Make, SiteShard, SiteTable
from linkscore_scoring.errors import CorruptState, reading_state
from linkscore_scoring.hashing import hash_of
from linkscore_scoring.site.learning import LearnedSite
from linkscore_scoring.state import packed, unpacked
from linkscore_server.store import Core, SiteRow, StoreAway, StoredShard

_log = logging.getLogger(__name__)

_SHARE = 2
"""A row is written when the events after it are half as many bytes as its state: on a site of 240 pages it
then comes back in 160 ms at most, from its state alone in 33; each event costs .6 ms of writing. Measured."""
_EVENT_BYTES = 1_024
"""That an event counts for beside its own bytes: applying one without links takes as long as reading so much
of a state. Measured on forums of 1,000 and 3,000 pages."""
_LEAST_BYTES = 64 << 10
"""Of events before the first row: some 20 pages, which come back in 60 ms. Chosen."""
_USUAL_BYTES = 4_096
"""That an event counts for where it was not seen, of a crawl that was just opened. A mean, measured."""


class SiteAway(Exception):
    """A question needs a site that is not in memory, where reading it back would hold up others."""


class SiteFacts(NamedTuple):
    """What is asked of all sites of a crawl at once.

    `config`: number of the configuration it was last seen under. `value`: what a fetch is worth; None if that
    depends on other sites. `revisits`: `SiteRevisits.forecast`. `tally`: fields of a `Tally`.
    """

    stage: int
    learning: bool
    pages: int
    failed: int
    duplicates: int
    config: int
    value: float | None
    revisits: bytes | None
    tally: tuple[float, ...]


def facts_of(shard: SiteShard, config: int = 0) -> SiteFacts:
    """Return the facts of a site, under a configuration by number."""
    site, policy = shard.model, shard.order
    is_its_own = policy.crawl_wide is None
    return SiteFacts(
        int(site.stage),
        site.learning_since > 0,
        site.pages,
        site.failed,
        site.duplicates,
        config,
        float(policy.site_value(site)) if is_its_own else None,
        shard.revisitor.forecast() if shard.revisitor is not None else None,
        astuple(site.history.site().total()),
    )


class MemoryBudget:
    """What the sites of all crawls of a process may take in memory, `limit` bytes, and what they take."""

    def __init__(self, limit: float = math.inf) -> None:
        self.limit = limit
        self.used = 0
        self.touches = count(1)  # the order in which sites of all crawls were used
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether sites take more than they may."""
        return self.used > self.limit

    def add(self, size: int) -> None:
        """Count bytes that a site takes, or gives back; from any thread."""
        with self._lock:
            self.used += size


@dataclass(slots=True)
class _Site:
    """A site, in memory or not."""

    row: int = 0  # number of the event up to which its row goes, 0 without one
    behind: int = 0  # what its events after the row cost, in bytes
    due: int = _LEAST_BYTES  # how much that may be before a row is written
    facts: bytes | None = None  # of one that is not in memory; None: only its state and events tell
    shard: SiteShard | None = None  # the site, if it is in memory
    bytes: int = 0  # what it takes there
    touched: int = 0


class CrawlSites(SiteTable):
    """Sites of which those used last are in memory: an event keeps its site there, a question where it fits.

    `event_bytes`: size of the event that is being applied; 0 of one that nothing reads back. `config_seq`:
    number of the event that gave the configuration of now. `due`: sites to write a row of.
    """

    def __init__(
        self,
        make: Make,
        configure: Configure,
        config: CrawlConfig,
        *,
        read: Callable[[str, int], SiteShard],
        budget: MemoryBudget,
    ) -> None:
        super().__init__(make, configure, config)
        self._read, self.budget = read, budget
        self.event_bytes = self.config_seq = 0
        self._known: dict[str, _Site] = {}
        self._live: OrderedDict[str, _Site] = OrderedDict()  # the one longest without an event first
        self._changed: set[str] = set()
        self.due: set[str] = set()
        self._lock = threading.RLock()  # of what says where sites are; none is read under it
        self._hurried = 0  # the thread that may not wait for a site

    def __getitem__(self, name: str) -> SiteShard:
        """Return a site; one that is read back stays in memory if there is room."""
        site = self._known[name]
        shard = site.shard
        if shard is not None:
            return shard
        if self._hurried == threading.get_ident():
            raise SiteAway(name)
        return self._read_back(name, site, is_kept=False)

    @contextmanager
    def at_hand(self) -> Iterator[None]:
        """Raise SiteAway within this block, in this thread, where a site would have to be read back."""
        self._hurried = threading.get_ident()
        try:
            yield
        finally:
            self._hurried = 0

    def __contains__(self, name: object) -> bool:
        """Say whether the crawl has a site, without reading it back."""
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        """Yield names, in the order in which sites came."""
        return iter(list(self._known))

    def __len__(self) -> int:
        """Return the number of sites, in memory or not."""
        return len(self._known)

    @property
    def in_memory(self) -> list[SiteShard]:
        return [site.shard for site in list(self._live.values()) if site.shard is not None]

    def facts(self) -> Iterator[tuple[str, SiteFacts]]:
        """Yield name and facts of each site; one whose events are not all in its facts is read back."""
        for name, site in list(self._known.items()):
            yield name, self._facts(name, site)

    def largest(self, n: int) -> list[str]:
        """Return the names of the n sites of most pages, by their facts."""
        return [name for name, _ in nlargest(n, self.facts(), key=lambda site: site[1].pages)]

    def kept_value(self, name: str) -> float | None:
        """Return what a fetch from a site that is not in memory is worth, if its facts say so."""
        site = self._known.get(name)
        if site is None or site.shard is not None or site.facts is None:
            return None
        facts = _unpacked(site.facts)
        return facts.value if facts.config == self.config_seq else None

    def forecasts(self) -> Iterator[tuple[str, bytes]]:
        """Yield the sites that are not in memory whose facts foretell which pages are due, with what does."""
        for name, site in list(self._known.items()):
            if site.shard is None and site.facts is not None:
                facts = _unpacked(site.facts)
                if facts.revisits is not None and facts.config == self.config_seq:
                    yield name, facts.revisits

    def writable(self, name: str) -> SiteShard:
        """Return a site for an event that changes it, made if it is new."""
        self.known_values.forget(name)
        site = self._known.get(name)
        if site is None:
            site = self.enter(name)
            self._keep(name, site, self._make(name, self._config))
        shard = site.shard or self._read_back(name, site, is_kept=True)
        with self._lock:
            site.touched = next(self.budget.touches)
            self._live.move_to_end(name)
        if self.event_bytes and name not in self._changed:
            site.behind += self.event_bytes + _EVENT_BYTES
            if site.behind >= site.due:
                self.due.add(name)
        self._changed.add(name)
        return shard

    def event_applied(self) -> None:
        """Estimate anew what the sites take that the event changed."""
        for name in self._changed:
            site = self._known[name]
            if site.shard is not None:
                before, site.bytes = site.bytes, site.shard.memory_bytes()
                self.budget.add(site.bytes - before)
        self._changed.clear()

    def reconfigure(self, config: CrawlConfig) -> None:
        """Let all sites take over a configuration: those in memory now, others when they are read back."""
        self.known_values.clear()
        self._config = config
        for name in list(self._live):
            self._configure(self.writable(name), config)

    # -- memory ------------------------------------------------------------------------------------------

    def enter(
        self, name: str, row: int = 0, row_bytes: int = 0, facts: bytes | None = None, events: int = 0
    ) -> _Site:
        """Have a site that is not in memory, with so many events after its row."""
        site = _Site(row, events * _USUAL_BYTES, max(_LEAST_BYTES, row_bytes // _SHARE), facts)
        self._known[name] = site
        self._hosts[hash_of(name)] = name
        return site

    @property
    def away_count(self) -> int:
        """Sites that are not in memory."""
        return len(self._known) - len(self._live)

    def away(self, names: Iterable[str]) -> list[str]:
        """Return those of some sites that are not in memory."""
        return [name for name in dict.fromkeys(names) if name in self._known and name not in self._live]

    def bring_back(self, names: Iterable[str]) -> None:
        """Have sites in memory that events are about to change, whether there is room or not."""
        for name in self.away(names):
            self._read_back(name, self._known[name], is_kept=True)

    def unsure(self) -> list[str]:
        """Return the sites that only state and events tell of: their facts are not known."""
        return [name for name, site in self._known.items() if site.facts is None and site.shard is None]

    def learning(self) -> list[str]:
        """Return the sites that are being learned, as far as their facts are known."""
        known = ((name, site) for name, site in list(self._known.items()) if site.shard or site.facts)
        return [name for name, site in known if self._facts(name, site).learning]

    @property
    def memory_bytes(self) -> int:
        """Bytes that the sites in memory take, as `SiteShard.memory_bytes` estimates them."""
        return sum(site.bytes for site in list(self._live.values()))

    @property
    def lru(self) -> float:
        """When the first site to forget was used, `MemoryBudget.touches`; infinite if there is none."""
        with self._lock:
            first = next(iter(self._live.values()), None)
            return first.touched if first is not None and len(self._live) > 1 else math.inf

    def oldest(self, most: int, may: Callable[[str], bool], *, is_clean: bool = False) -> list[str]:
        """Return up to `most` sites that were used longest ago, never all; only those whose row says all."""
        with self._lock:
            found = (
                name for name, site in self._live.items() if may(name) and not (is_clean and site.behind)
            )
            return list(islice(found, max(0, min(most, len(self._live) - 1))))

    def forget(self, name: str) -> None:
        """Have a site in memory no more."""
        with self._lock:
            site = self._live[name]
            assert site.shard is not None
            site.facts = _packed(site.shard, self.config_seq)
            del self._live[name]
            site.shard = None
            self.budget.add(-site.bytes)

    def let_go(self, names: Iterable[str]) -> None:
        """Forget sites that a question read back, as far as there is no room."""
        for name in names:
            if self.budget.is_over and name in self._live:
                self.forget(name)

    def close(self) -> None:
        """Give back what the sites take of the budget."""
        with self._lock:
            self.budget.add(-sum(site.bytes for site in self._live.values()))
            self._live.clear()

    # -- rows --------------------------------------------------------------------------------------------

    def changed_bytes(self) -> dict[str, int]:
        """Return the sites in memory that their rows do not tell all of, with what they take."""
        return {name: site.bytes for name, site in list(self._live.items()) if site.behind}

    def row(self, name: str, seq: int) -> SiteRow:
        """Return a site in memory as its row says it, as of event `seq`; no event may change it meanwhile."""
        site = self._known[name]
        if site.shard is None:
            raise KeyError(name)
        return SiteRow(name, seq, _packed(site.shard, self.config_seq), packed(site.shard.state_parts()))

    def wrote(self, row: SiteRow) -> None:
        """Take note of a row that the store was given."""
        site = self._known[row.site]
        site.row, site.behind = row.seq, 0
        site.due = max(_LEAST_BYTES, len(row.state) // _SHARE)

    def could_not_write(self, name: str) -> None:
        """Take note of a site whose state cannot be written: its events say it too, so try much later."""
        site = self._known[name]
        site.due = 2 * max(site.due, site.behind)

    def _read_back(self, name: str, site: _Site, *, is_kept: bool) -> SiteShard:
        shard = self._read(name, site.row)
        size = shard.memory_bytes()
        with self._lock:
            if site.shard is not None:  # another thread was quicker
                return site.shard
            if is_kept or self.budget.used + size <= self.budget.limit:
                self._keep(name, site, shard, size)
            else:
                site.facts = _packed(shard, self.config_seq)
        return shard

    def _keep(self, name: str, site: _Site, shard: SiteShard, size: int = 0) -> None:
        with self._lock:
            site.shard, site.bytes, site.touched = shard, size, next(self.budget.touches)
            self._live[name] = site
            self.budget.add(size)

    def _facts(self, name: str, site: _Site) -> SiteFacts:
        with self._lock:
            if site.shard is not None:
                return facts_of(site.shard, self.config_seq)
            if site.facts is not None:
                return _unpacked(site.facts)
        return facts_of(self[name], self.config_seq)


class StoredCrawl(CrawlModel):
    """A crawl whose events are in the store: sites in memory as far as there is room."""

    sites: CrawlSites

    def __init__(
        self,
        config: CrawlConfig,
        shard: StoredShard,
        *,
        ticket_key: bytes,
        domain_of: Callable[[str], str] | None = None,
        budget: MemoryBudget | None = None,
    ) -> None:
        table = partial(CrawlSites, read=self._read_back, budget=budget or MemoryBudget())
        super().__init__(config, ticket_key=ticket_key, domain_of=domain_of, sites=table)
        self._shard = shard
        self.applied = self.core_seq = 0
        self._configs: list[int] = []
        self._config_at: dict[int, CrawlConfig] = {}

    def apply(self, seq: int, event: Event, learned: LearnedSite | None = None, *, size: int = 0) -> Outcome:
        """See `CrawlModel.apply`; `size` is that of the event in the store, 0 if it is not there."""
        if isinstance(event, ConfigChanged):
            self._configs.append(seq)
            self.sites.config_seq = seq
        self.sites.event_bytes = 0 if isinstance(event, ConfigChanged) else size
        self.applied = seq  # a site that is read back meanwhile is under the new configuration
        try:
            return super().apply(seq, event, learned)
        finally:
            self.sites.event_bytes = 0

    @property
    def is_wide(self) -> bool:
        """Whether the policy knows something across sites: then none can be read back by its events alone."""
        return self.crawl_wide.known is not None

    def core(self) -> Core:
        """Return what the store keeps of the crawl beside sites, events and their ids, as of now."""
        state = {**self.own_state(), "configs": self._configs}
        return Core(self.applied, packed(state))

    def write_all(self, names: Collection[str]) -> None:
        """Give the store sites and the core, all as of the same event; blocks until it has them."""
        rows = [self.sites.row(name, self.applied) for name in names]
        self._shard.put(rows, self.core())
        self._shard.flush().result()
        for row in rows:
            self.sites.wrote(row)

    def load_core(self, core: Core, ids: Iterable[str]) -> None:
        """Take over a core, and the ids of the events up to it; its sites are entered after that."""
        state = unpacked(core.state)
        with reading_state(f"crawl {self.config.name}"):
            self._configs = list(state["configs"])
            self.sites.config_seq = self._configs[-1]
            self.load_own(state, self._config(core.seq), ids)
            self.sites.reconfigure(self.config)
            self.applied = self.core_seq = core.seq

    def _config(self, seq: int) -> CrawlConfig:
        """Return the configuration that held after an event."""
        at = self._configs[bisect_right(self._configs, seq) - 1]
        if at not in self._config_at:
            event = next((decode(one.body) for one in self._shard.events(after=at - 1, until=at)), None)
            if not isinstance(event, ConfigChanged):
                raise CorruptState(f"crawl {self.config.name!r}: event {at} is no configuration")
            self._config_at = {at: CrawlConfig.from_state(event.config)}  # most sites ask for the same one
        return self._config_at[at]

    def _read_back(self, name: str, row: int) -> SiteShard:
        try:
            return self._read(name, row)
        except CorruptState:
            if self._shard.is_erased:
                raise StoreAway(f"crawl {self.config.name!r} was deleted") from None
            raise

    def _read(self, name: str, row: int) -> SiteShard:
        """Return a site as of the events that were applied: its row, and its events after that."""
        if row:
            try:
                stored = self._shard.site(name)
                if stored is not None and 0 < stored.seq <= self.applied:
                    config = self._config(stored.seq)
                    shard = self.new_site(name, config)
                    with reading_state(f"site {name}"):
                        shard.load_state(unpacked(stored.state))
                    return self._replayed(name, stored.seq, config, shard)
            except CorruptState as exc:
                if self.is_wide:
                    raise
                _log.error("%s; the site is read from its events", exc)
                self.sites._known[name].row = 0  # from now on
        first = self._configs[0]
        return self._replayed(name, first, self._config(first), None)

    def _replayed(self, name: str, after: int, config: CrawlConfig, shard: SiteShard | None) -> SiteShard:
        """Apply the events of a site in a crawl that has only this one, whose policies are those of this."""
        alone = CrawlModel(
            config,
            ticket_key=self._ticket_key,
            domain_of=self._domain_of,
            sites=lambda *_: SiteTable(self.new_site, self._configure_site, config),
            spent_at=self.spent_at,
        )
        if shard is not None:
            alone.sites.hold(name, shard)
        for stored in self._shard.events(after=after, site=name, until=self.applied):
            event = decode(stored.body)
            if isinstance(event, PageFetched | FeedbackGiven):
                event = replace(event, event_id="")  # none is a repeat: those are not in the store
            apply_again(alone, stored.seq, event)
        if name not in alone.sites:
            raise CorruptState(f"crawl {self.config.name!r}: no event of site {name!r} is in the store")
        return alone.sites[name]


def apply_again(model: CrawlModel, seq: int, event: Event, **more: Any) -> None:
    """Apply an event as when it came first: what could not be applied fails, and leaves what it changed."""
    try:
        model.apply(seq, event, **more)
    except (OSError, MemoryError):
        raise
    except Exception as exc:
        _log.debug("crawl %s: event %d fails again: %r", model.config.name, seq, exc)


def _packed(shard: SiteShard, config_seq: int) -> bytes:
    return packed(facts_of(shard, config_seq))


def _unpacked(facts: bytes) -> SiteFacts:
    *values, tally = unpacked(facts)
    return SiteFacts._make([*values, tuple(tally)])
