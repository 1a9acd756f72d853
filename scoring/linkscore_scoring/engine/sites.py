"""The sites of a crawl: some in memory, the others put away as bytes. Which are where changes no answer."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol

import msgpack

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.link_batches import hash_of
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.errors import CorruptState, reading_state
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.base import Policy
from linkscore_scoring.site.model import SiteModel

_MOST_CONFIGS = 16
"""A bound: configurations of the crawl that sites put away were last seen under. Chosen, not measured."""


class SiteStore(Protocol):
    """Keeps the states of sites by their place among the sites of the crawl."""

    def get(self, place: int) -> bytes:
        """Return the state that was put last."""

    def put(self, place: int, name: str, facts: bytes, state: bytes) -> None:
        """Keep a state in the place of the one before."""


class MemoryBudget:
    """What the sites of all crawls of a process may take in memory, and what they take.

    Parameters
    ----------
    limit
        Bytes, as `SiteShard.memory_bytes` estimates them.
    """

    def __init__(self, limit: float = math.inf) -> None:
        self.limit = limit
        self.used = 0
        self._touches = 0
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether sites take more than they may."""
        return self.used > self.limit

    def add(self, size: int) -> None:
        """Count bytes that a site takes, or gives back; from any thread."""
        with self._lock:
            self.used += size

    def touch(self) -> int:
        """Return a number above all before: the order in which sites of all crawls were used."""
        self._touches += 1
        return self._touches


class SiteFacts(NamedTuple):
    """What is known of a site while it is put away.

    Attributes
    ----------
    stage, learning, failed, duplicates, pages
        As of its model.
    is_due
        Whether it would be learned if somebody asked, see `SiteModel.waits_for_question`.
    config
        Number of the configuration it was last seen under.
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


def facts_of(shard: SiteShard, config: int) -> SiteFacts:
    """Return what is known of a site without its model, under a configuration by number."""
    site, policy = shard.model, shard.served
    return SiteFacts(
        int(site.stage),
        site.learning_since > 0,
        site.is_due_on_demand,
        site.pages,
        site.failed,
        site.duplicates,
        config,
        _own_value(policy, site),
        tuple(site.history.site().total().values()),
    )


def _own_value(policy: Policy, site: SiteModel) -> float | None:
    """Return what a fetch is worth to a policy, None if that has to be asked of it when it is wanted."""
    return float(capabilities.site_value(policy, site)) if capabilities.crawl_wide(policy) is None else None


@dataclass(slots=True)
class _Live:
    """A site in memory; `touched` says when it was used, `is_dirty` whether the store has an older state."""

    shard: SiteShard
    place: int
    bytes: int = 0
    touched: int = 0
    is_dirty: bool = True


class SiteTable(Mapping[str, SiteShard]):
    """Sites by name, in the order in which they came; one that is put away is brought back when asked for.

    An event keeps the site it brings back in memory, a question does so if there is room. Sites are put away
    by whoever owns the crawl, see `fit`; nothing is ever dropped. Questions may come from any thread.

    Parameters
    ----------
    make
        Makes a site, empty, as the crawl has it under a configuration.
    configure
        Lets a site take over a later configuration.
    config
        The crawl's.
    store
        Where sites are put away; None: nowhere, all stay in memory.
    budget
        What the sites of all crawls may take.
    """

    def __init__(
        self,
        make: Callable[[str, CrawlConfig], SiteShard],
        configure: Callable[[SiteShard, CrawlConfig], None],
        config: CrawlConfig,
        *,
        store: SiteStore | None = None,
        budget: MemoryBudget | None = None,
    ) -> None:
        self._make, self._configure = make, configure
        self._store, self._budget = store, budget or MemoryBudget()
        self._configs: dict[int, CrawlConfig] = {0: config}
        self._places: dict[str, int] = {}
        self._hosts: dict[int, str] = {}
        self._facts: list[bytes | None] = []  # by place; None of sites in memory
        self._live: OrderedDict[str, _Live] = OrderedDict()  # the one longest without an event first
        self._changed: dict[str, _Live] = {}  # by the event that is being applied
        self._uncut: dict[str, _Live] = {}  # what a cut that was begun still lacks
        self._is_cutting = False
        self._lock = threading.RLock()

    def __getitem__(self, name: str) -> SiteShard:
        """Return a site; one that is brought back stays in memory if there is room.

        Raises
        ------
        KeyError
            If there is none of this name.
        """
        live = self._live.get(name)
        if live is not None:
            return live.shard
        with self._lock:
            live = self._live.get(name) or self._brought_back(name)
            if self._budget.used + live.bytes <= self._budget.limit:
                self._keep(name, live)
            return live.shard

    def __contains__(self, name: object) -> bool:
        """Say whether the crawl has a site, without bringing it back."""
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        """Yield names, in the order in which sites came."""
        return iter(list(self._places))

    def __len__(self) -> int:
        """Return the number of sites, in memory or not."""
        return len(self._places)

    def host(self, hash_: int) -> str:
        """Return the site of a hash of its name; empty if there is none."""
        return self._hosts.get(hash_, "")

    def is_in_memory(self, name: str) -> bool:
        """Say whether a site is not put away."""
        return name in self._live

    @property
    def in_memory(self) -> list[SiteShard]:
        """Sites that are not put away."""
        return [live.shard for live in list(self._live.values())]

    @property
    def memory_bytes(self) -> int:
        """Bytes that the sites in memory take, as `SiteShard.memory_bytes` estimates them."""
        return sum(live.bytes for live in list(self._live.values()))

    @property
    def is_over_budget(self) -> bool:
        """Whether the sites of all crawls take more than they may."""
        return self._budget.is_over

    @property
    def coldest(self) -> float:
        """When the first site to put away was used, `MemoryBudget.touch`; infinite if none can be."""
        with self._lock:
            first = next(iter(self._live.values()), None)
            return first.touched if first is not None and len(self._live) > 1 else math.inf

    def facts(self) -> Iterator[tuple[str, SiteFacts]]:
        """Yield what is known of each site without bringing it back."""
        for name, place in list(self._places.items()):
            with self._lock:
                packed = self._facts[place]
                facts = _unpacked(packed) if packed is not None else facts_of(self._live[name].shard, 0)
            yield name, facts

    def value_put_away(self, name: str) -> float | None:
        """Return what a fetch from a site that is put away is worth; None if it has to be asked."""
        with self._lock:
            packed = self._facts[self._places[name]] if name in self._places else None
            if packed is None:
                return None
            facts = _unpacked(packed)
            return facts.value if facts.config == max(self._configs) else None

    # -- events ------------------------------------------------------------------------------------------

    def changing(self, name: str) -> SiteShard:
        """Return a site for an event that changes it, made if it is new."""
        with self._lock:
            live = self._live.get(name)
            if live is None:
                live = self._brought_back(name) if name in self._places else self._new(name)
                self._keep(name, live)
            if name in self._uncut:
                self._write(name, live)
            live.is_dirty, live.touched = True, self._budget.touch()
            self._live.move_to_end(name)
            self._changed[name] = live
            return live.shard

    def changed(self) -> None:
        """Say that the event was applied: what its sites take is estimated anew."""
        for live in self._changed.values():
            self._weigh(live)
        self._changed.clear()

    def reconfigure(self, config: CrawlConfig) -> None:
        """Let all sites take over a configuration: those in memory now, the others when they come back."""
        with self._lock:
            self.write_before(list(self._uncut))
            number = max(self._configs) + 1
            self._configs[number] = config
            for name in list(self._live):
                self._configure(self.changing(name), config)
            self.changed()
            away = self._by_config()
            while len(away) > _MOST_CONFIGS and not self._is_cutting:
                for name in away.pop(min(away)):
                    self._put_away(name, self._brought_back(name))
                away = self._by_config()
            self._configs = {n: known for n, known in self._configs.items() if n in away or n == number}

    def _by_config(self) -> dict[int, list[str]]:
        """Return the sites that are put away by the configuration they were last seen under."""
        found: dict[int, list[str]] = {}
        for name, place in self._places.items():
            if (packed := self._facts[place]) is not None:
                found.setdefault(_unpacked(packed).config, []).append(name)
        return found

    # -- memory ------------------------------------------------------------------------------------------

    def fit(self, most: int = 0) -> int:
        """Put away the coldest sites until the budget is kept and one is left; return how many were.

        One that changed since a cut began stays until that is whole.

        Parameters
        ----------
        most
            Sites to put away at a time; 0: as many as it takes.
        """
        put_away = 0
        with self._lock:
            most = min(most or len(self._live), len(self._live) - 1)
            for name, live in list(islice(self._live.items(), max(0, most))):
                if not self._budget.is_over:
                    break
                if live.is_dirty and self._is_cutting and name not in self._uncut:
                    continue
                self._put_away(name, live)
                put_away += 1
        return put_away

    def close(self) -> None:
        """Give back what the sites take of the budget."""
        with self._lock:
            for live in self._live.values():
                self._budget.add(-live.bytes)
            self._live.clear()

    def _new(self, name: str) -> _Live:
        live = _Live(self._make(name, self._configs[max(self._configs)]), len(self._facts))
        self._enter(name)
        return live

    def _enter(self, name: str, facts: bytes | None = None) -> None:
        self._places[name] = len(self._facts)
        self._hosts[hash_of(name)] = name
        self._facts.append(facts)

    def _brought_back(self, name: str) -> _Live:
        """Return a site as it was put away, under the configuration of now; it is not kept yet."""
        place = self._places[name]
        packed = self._facts[place]
        if packed is None or self._store is None:
            raise CorruptState(f"site {name!r}: neither in memory nor put away")
        number = _unpacked(packed).config
        later = [config for n, config in self._configs.items() if n > number]
        with reading_state(f"site {name}"):
            state = msgpack.unpackb(self._store.get(place), strict_map_key=False)
        shard = self._make(name, self._configs[number])
        with reading_state(f"site {name}"):
            shard.load_state(state)
        for config in later:
            self._configure(shard, config)
        return _Live(shard, place, shard.memory_bytes(), self._budget.touch(), is_dirty=bool(later))

    def _keep(self, name: str, live: _Live) -> None:
        if name not in self._live:
            self._live[name] = live
            self._facts[live.place] = None
            self._budget.add(live.bytes)

    def _weigh(self, live: _Live) -> None:
        before, live.bytes = live.bytes, live.shard.memory_bytes()
        self._budget.add(live.bytes - before)

    def _put_away(self, name: str, live: _Live) -> None:
        facts = self._write(name, live) if live.is_dirty else self._facts_of(live)
        self._facts[live.place] = facts
        if self._live.pop(name, None) is not None:
            self._budget.add(-live.bytes)

    def _facts_of(self, live: _Live) -> bytes:
        packed: bytes = msgpack.packb(facts_of(live.shard, max(self._configs)))
        return packed

    def _write(self, name: str, live: _Live) -> bytes:
        if self._store is None:
            raise CorruptState(f"site {name!r}: nowhere to put it away")
        facts = self._facts_of(live)
        self._store.put(live.place, name, facts, b"".join(packed_in_pieces(live.shard.to_state())))
        self._uncut.pop(name, None)
        live.is_dirty = False
        return facts

    # -- cuts --------------------------------------------------------------------------------------------

    def begin_cut(self) -> None:
        """Note the sites whose state of now belongs to a cut; an event of one of them writes it first."""
        with self._lock:
            self._is_cutting = True
            self._uncut = {name: live for name, live in self._live.items() if live.is_dirty}

    def end_cut(self) -> None:
        """Say that the store made a cut of what it was given, or could not."""
        with self._lock:
            self._is_cutting = False
            self._uncut = {}

    @property
    def is_cut(self) -> bool:
        """Whether all sites of the cut that was begun are in the store."""
        return not self._uncut

    def write_some(self, at_least: float) -> None:
        """Write sites of the cut until their estimated bytes are `at_least` so many, or all are written."""
        written = 0
        while written < at_least:
            with self._lock:
                found = next(iter(self._uncut.items()), None)
                if found is None:
                    return
                self._write(*found)
                written += found[1].bytes

    def write_before(self, names: Sequence[str]) -> None:
        """Write those of some sites that a cut still lacks, before events change them."""
        for name in names:
            with self._lock:
                if (live := self._uncut.get(name)) is not None:
                    self._write(name, live)

    def lacks(self, names: Sequence[str]) -> list[str]:
        """Return those of some sites that a cut still lacks."""
        return [name for name in names if name in self._uncut]

    # -- state -------------------------------------------------------------------------------------------

    def configs_state(self) -> list[Any]:
        """Return the configurations that sites were last seen under as plain values."""
        return [[number, config.to_state()] for number, config in self._configs.items()]

    def restore(self, configs: Sequence[Any], sites: Iterator[tuple[str, bytes]]) -> None:
        """Take over the sites of a cut, all put away: names and facts in the order of their places."""
        with self._lock:
            self._configs = {number: CrawlConfig.from_state(state) for number, state in configs}
            for name, facts in sites:
                self._enter(name, facts)

    def to_state(self) -> list[Any]:
        """Return all sites as plain values, in the order in which they came."""
        return [[name, self[name].to_state()] for name in self]

    def load_state(self, sites: Sequence[Any]) -> None:
        """Take over the sites of `to_state`."""
        for name, state in sites:
            self.changing(name).load_state(state)
            self.changed()
            if self._store is not None:
                self.fit()


def packed_in_pieces(value: Any) -> Iterator[bytes]:
    """Yield a value as msgpack, in pieces: packing it in one would hold the interpreter for seconds."""
    packer = msgpack.Packer()
    if isinstance(value, dict):
        yield packer.pack_map_header(len(value))
        for name, part in value.items():
            yield packer.pack(name)
            yield from packed_in_pieces(part)
    elif isinstance(value, list | tuple) and any(isinstance(part, list | tuple | dict) for part in value):
        yield packer.pack_array_header(len(value))
        for part in value:
            yield from packed_in_pieces(part)
    else:
        yield packer.pack(value)


def _unpacked(facts: bytes) -> SiteFacts:
    *values, tally = msgpack.unpackb(facts)
    return SiteFacts._make([*values, tuple(tally)])
