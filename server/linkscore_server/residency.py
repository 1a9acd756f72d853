"""Which sites of a crawl are in memory: others are evicted as bytes, and read back when they are asked for.

Where a site is changes no answer. Checkpoints take the crawl as it was after one event, site by site, while
later events are applied: a site is written before an event changes it.

What is written of a site is its state, or the events that changed it since its state was written: few events
cost less than the state of many pages, and to read them back is to apply them again; see ADR 31.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Protocol

import msgpack

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, Event, FeedbackGiven, PageFetched, decode
from linkscore_scoring.engine.link_batches import hash_of
from linkscore_scoring.engine.results import Outcome
from linkscore_scoring.engine.shard import SiteShard
from linkscore_scoring.engine.sites import Configure, Make, SiteFacts, SiteTable, facts_of
from linkscore_scoring.errors import CorruptState, reading_state
from linkscore_scoring.site.learning import LearnedSite
from linkscore_server.pieces import packed_in_pieces, unpacked_in_pieces

_log = logging.getLogger(__name__)
_MOST_CONFIGS = 16
"""A bound: configurations of the crawl that evicted sites were last seen under. Chosen, not measured."""


_SHARE, _EVICTED_SHARE = 2, 8
"""Events of a site are written in place of its state while they are at most half as many bytes, and an eighth
where it is evicted, for it is read back then. Measured on a site of 240 pages, which comes back from its
state alone in 33 ms: with a half in events in 160, and each event costs .3 ms of writing states; with an
eighth, in 65 and 1.2 ms."""

_EVENT_BYTES = 1_024
"""That an event counts for beside its own bytes: applying one without links takes as long as reading so much
of a state. Measured on forums of 1,000 and 3,000 pages."""


_WRITE_BYTES = 16 << 10
"""Memory of a site whose state is written in the time that any write takes, .15 ms. Measured."""


class SiteAway(Exception):
    """A question needs a site that is evicted, where reading it back would hold up others."""


class SiteStore(Protocol):
    """Keeps the states of sites, and what changed them, by their place among the sites of the crawl."""

    def get(self, place: int) -> bytes:
        """Return the state that was put last."""

    def changes(self, place: int) -> list[bytes]:
        """Return the events that were added to that state, in order."""

    def put(self, place: int, name: str, facts: bytes, state: bytes) -> None:
        """Keep a state in the place of the one before and of what was added to it."""

    def add(self, place: int, name: str, facts: bytes, events: Sequence[bytes]) -> None:
        """Keep what changed a state since it was put, or since the last time."""


_Events = list[bytes]
"""Each msgpack of its number and its bytes in the log."""
Replay = Callable[[SiteShard, CrawlConfig, Sequence[bytes]], None]
"""Applies events to a site that is as it was before them, under the configuration of then."""


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


@dataclass(slots=True)
class _Live:
    """A site in memory; `touched` says when it was used, `is_dirty` whether the store has an older state.

    `events` make the state of now of what the store has; None: they do not, or are too many. `base` is the
    size of the state in the store, `used` that of all events since, those that are in the store counted.
    """

    shard: SiteShard
    place: int
    bytes: int = 0
    touched: int = 0
    is_dirty: bool = True
    events: _Events | None = None
    base: int = 0
    used: int = 0

    def note(self, change: _Events | None) -> None:
        """Take note of the event that changes the site; None: one that cannot be applied again alone."""
        if self.events is not None and change is not None:
            self.events += change
            self.used += _size_of(change)
        if change is None or self.used * _SHARE > self.base:
            self.events = None

    @property
    def bytes_to_write(self) -> int:
        """How much of a state takes as long to write."""
        return self.bytes if self.events is None else _WRITE_BYTES + _size_of(self.events)


class ResidentSites(SiteTable):
    """Sites of which those used last are in memory; nothing is ever dropped.

    An event keeps the site it brings back in memory, a question does so if there is room. Whoever owns the
    crawl has sites evicted, see `enforce_budget`. Questions may come from any thread.

    Parameters
    ----------
    make, configure, config
        See `SiteTable`.
    replay
        Applies what the store has as events.
    store
        Where sites are evicted to; None: nowhere, all stay in memory.
    budget
        What the sites of all crawls may take.

    Attributes
    ----------
    change
        The event that is being applied, as it is written of the site that it changes: empty if it changes
        none, None if only the state tells what it did.
    """

    def __init__(
        self,
        make: Make,
        configure: Configure,
        config: CrawlConfig,
        *,
        replay: Replay,
        store: SiteStore | None = None,
        budget: MemoryBudget | None = None,
    ) -> None:
        super().__init__(make, configure, config)
        self._replay, self._store, self._budget = replay, store, budget or MemoryBudget()
        self.change: _Events | None = None
        self._configs: dict[int, CrawlConfig] = {0: config}
        self._places: dict[str, int] = {}
        self._facts: list[bytes | None] = []  # by place; None of sites in memory
        self._live: OrderedDict[str, _Live] = OrderedDict()  # the one longest without an event first
        self._changed: dict[str, _Live] = {}  # by the event that is being applied
        self._lock = threading.RLock()  # of what says where sites are; none is read or written under it
        self._hurried = 0  # the thread that may not wait for a site
        self.checkpoint = Checkpoint(self._lock, self._live, self._write)

    def __getitem__(self, name: str) -> SiteShard:
        """Return a site; one that is brought back stays in memory if there is room.

        Raises
        ------
        KeyError
            If there is none of this name.
        SiteAway
            If it is evicted, see `at_hand`.
        """
        live = self._live.get(name)
        if live is not None:
            return live.shard
        if self._hurried == threading.get_ident() and name in self._places:
            raise SiteAway(name)
        live = self._read_back(name)
        with self._lock:
            if self._budget.used + live.bytes <= self._budget.limit:
                self._keep(name, live)
        return live.shard

    @contextmanager
    def at_hand(self) -> Iterator[None]:
        """Raise SiteAway within this block, in this thread, where a site would have to be read back."""
        self._hurried = threading.get_ident()
        try:
            yield
        finally:
            self._hurried = 0

    def away(self, names: Iterable[str]) -> list[str]:
        """Return those of some sites that are evicted."""
        return [name for name in dict.fromkeys(names) if name in self._places and name not in self._live]

    def unready(self, names: Iterable[str]) -> list[str]:
        """Return those of some sites that a thread has to read back or write before an event changes them."""
        return [*self.away(names), *self.checkpoint.pending_of(list(names))]

    def bring_back(self, names: Iterable[str]) -> None:
        """Have sites in memory that events are about to change, whether there is room or not."""
        for name in self.away(names):
            live = self._read_back(name)
            with self._lock:
                self._keep(name, live)

    def __contains__(self, name: object) -> bool:
        """Say whether the crawl has a site, without bringing it back."""
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        """Yield names, in the order in which sites came."""
        return iter(list(self._places))

    def __len__(self) -> int:
        """Return the number of sites, in memory or not."""
        return len(self._places)

    @property
    def in_memory(self) -> list[SiteShard]:
        """Sites that are not evicted."""
        return [live.shard for live in list(self._live.values())]

    def facts(self) -> Iterator[tuple[str, SiteFacts]]:
        """Yield name and facts of each site, without bringing it back."""
        for name, place in list(self._places.items()):
            with self._lock:
                packed = self._facts[place]
                facts = _unpacked(packed) if packed is not None else facts_of(self._live[name].shard)
            yield name, facts

    def kept_value(self, name: str) -> float | None:
        """Return what a fetch from an evicted site is worth, if its facts say so and still hold."""
        with self._lock:
            packed = self._facts[self._places[name]] if name in self._places else None
            if packed is None:
                return None
            facts = _unpacked(packed)
            return facts.value if facts.config == max(self._configs) else None

    def writable(self, name: str) -> SiteShard:
        """Return a site for an event that changes it, made if it is new."""
        self.known_values.forget(name)
        with self._lock:
            live = self._live.get(name)
            if live is None:
                live = self._read_back(name) if name in self._places else self._new(name)
                self._keep(name, live)
            self.checkpoint.copy_on_write([name])
            live.is_dirty, live.touched = True, self._budget.touch()
            live.note(self.change)
            self._live.move_to_end(name)
            self._changed[name] = live
            return live.shard

    def event_applied(self) -> None:
        """Estimate anew what the sites take that the event changed."""
        for live in self._changed.values():
            before, live.bytes = live.bytes, live.shard.memory_bytes()
            self._budget.add(live.bytes - before)
        self._changed.clear()

    def reconfigure(self, config: CrawlConfig) -> None:
        """Let all sites take over a configuration: those in memory now, the others when they come back."""
        self.known_values.clear()
        with self._lock:
            self.checkpoint.copy_on_write(self.checkpoint.pending)
            number = max(self._configs) + 1
            self._configs[number] = config
            for name in list(self._live):
                self._configure(self.writable(name), config)
            self.event_applied()
            away = self._evicted_by_config()
            while len(away) > _MOST_CONFIGS and not self.checkpoint.is_under_way:
                for name in away.pop(min(away)):
                    self._evict(name, self._read_back(name))
                away = self._evicted_by_config()
            self._configs = {n: known for n, known in self._configs.items() if n in away or n == number}

    def load_state(self, sites: Sequence[Any]) -> None:
        """Take over the sites of `to_state`, no more of them in memory than find room."""
        for name, state in sites:
            self.writable(name).load_state(state)
            self.event_applied()
            if self._store is not None:
                self.enforce_budget()

    def configs_state(self) -> list[Any]:
        """Return the configurations that sites were last seen under as plain values."""
        return [[number, config.to_state()] for number, config in self._configs.items()]

    def restore(self, configs: Sequence[Any], sites: Iterator[tuple[str, bytes]]) -> None:
        """Take over the sites of a checkpoint, all evicted: names and facts in the order of their places."""
        with self._lock:
            self._configs = {number: CrawlConfig.from_state(state) for number, state in configs}
            for name, facts in sites:
                self._enter(name, facts)

    # -- memory ------------------------------------------------------------------------------------------

    @property
    def memory_bytes(self) -> int:
        """Bytes that the sites in memory take, as `SiteShard.memory_bytes` estimates them."""
        return sum(live.bytes for live in list(self._live.values()))

    @property
    def is_over_budget(self) -> bool:
        """Whether the sites of all crawls take more than they may."""
        return self._budget.is_over

    @property
    def lru(self) -> float:
        """When the first site to evict was used, `MemoryBudget.touch`; infinite if none can be."""
        with self._lock:
            first = next(iter(self._live.values()), None)
            return first.touched if first is not None and len(self._live) > 1 else math.inf

    def enforce_budget(self) -> int:
        """Evict the sites used longest ago until the budget is kept and one is left; return how many were."""
        return self.evict(self.oldest(len(self._live)))

    def oldest(self, most: int, may: Callable[[str], bool] = lambda name: True) -> list[str]:
        """Return sites to evict, those used longest ago: all of them but one, or `most`.

        One that changed since a checkpoint began stays until that is whole.
        """
        with self._lock:
            found = list(islice(self._live.items(), max(0, min(most, len(self._live) - 1))))
        return [
            name
            for name, live in found
            if may(name) and not (live.is_dirty and self.checkpoint.is_past(name))
        ]

    def evict(self, names: Iterable[str]) -> int:
        """Evict sites that are in memory until the budget is kept; return how many were."""
        evicted = 0
        for name in names:
            if not self._budget.is_over:
                break
            self._evict(name, self._live[name])
            evicted += 1
        return evicted

    def let_go(self, names: Iterable[str]) -> None:
        """Evict sites that a question brought back, as far as there is no room and they did not change."""
        self.evict(name for name in names if (live := self._live.get(name)) and not live.is_dirty)

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

    def _keep(self, name: str, live: _Live) -> None:
        if name not in self._live:
            self._live[name] = live
            self._facts[live.place] = None
            self._budget.add(live.bytes)

    def _read_back(self, name: str) -> _Live:
        """Return a site as it was evicted, under the configuration of now; it is not kept yet."""
        place = self._places[name]
        packed = self._facts[place]
        if packed is None and (live := self._live.get(name)) is not None:
            return live  # another thread was quicker
        if packed is None or self._store is None:
            raise CorruptState(f"site {name!r}: neither in memory nor evicted")
        number = _unpacked(packed).config
        later = [config for n, config in self._configs.items() if n > number]
        shard = self._make(name, self._configs[number])
        state, events = self._store.get(place), self._store.changes(place)
        if self._facts[place] is not packed:
            return self._read_back(name)  # evicted anew meanwhile: they may not belong together
        with reading_state(f"site {name}"):
            shard.load_state(unpacked_in_pieces(state))
            self._replay(shard, self._configs[number], events)
        for config in later:
            self._configure(shard, config)
        live = _Live(shard, place, shard.memory_bytes(), self._budget.touch(), is_dirty=bool(later))
        live.base, live.used, live.events = len(state), _size_of(events), None if later else []
        return live

    def _evict(self, name: str, live: _Live) -> None:
        facts = self._write(name, live, is_evicted=True) if live.is_dirty else self._facts_of(live)
        with self._lock:
            self._facts[live.place] = facts
            if self._live.pop(name, None) is not None:
                self._budget.add(-live.bytes)

    def _write(self, name: str, live: _Live, *, is_evicted: bool = False) -> bytes:
        if self._store is None:
            raise CorruptState(f"site {name!r}: nowhere to put it")
        facts, share = self._facts_of(live), _EVICTED_SHARE if is_evicted else _SHARE
        if live.events is not None and live.used * share <= live.base:
            self._store.add(live.place, name, facts, live.events)
        else:
            state = b"".join(packed_in_pieces(live.shard.to_state()))
            self._store.put(live.place, name, facts, state)
            live.base, live.used = len(state), 0
        self.checkpoint.written(name)
        live.is_dirty, live.events = False, []
        return facts

    def _facts_of(self, live: _Live) -> bytes:
        packed: bytes = msgpack.packb(facts_of(live.shard, max(self._configs)))
        return packed

    def _evicted_by_config(self) -> dict[int, list[str]]:
        """Return the evicted sites by the configuration they were last seen under."""
        found: dict[int, list[str]] = {}
        for name, place in self._places.items():
            if (packed := self._facts[place]) is not None:
                found.setdefault(_unpacked(packed).config, []).append(name)
        return found


class Checkpoint:
    """Which sites a checkpoint still lacks: those that the store has an older state of, as of one event."""

    def __init__(
        self, lock: threading.RLock, live: dict[str, _Live], write: Callable[[str, _Live], bytes]
    ) -> None:
        self._lock, self._live, self._write = lock, live, write
        self._pending: dict[str, _Live] = {}
        self.is_under_way = False

    def begin(self) -> None:
        """Note the sites whose state of now belongs to it; an event of one of them writes it first."""
        with self._lock:
            self.is_under_way = True
            self._pending = {name: live for name, live in self._live.items() if live.is_dirty}

    def end(self) -> None:
        """Say that the store made a cut of what it was given, or could not."""
        with self._lock:
            self.is_under_way = False
            self._pending = {}

    @property
    def pending(self) -> list[str]:
        """Names of the sites that are still to be written."""
        return list(self._pending)

    def pending_of(self, names: Sequence[str]) -> list[str]:
        """Return those of some sites that are still to be written."""
        return [name for name in names if name in self._pending]

    def is_past(self, name: str) -> bool:
        """Say whether what a site is by now may not be written: a checkpoint has it as it was."""
        return self.is_under_way and name not in self._pending

    def copy_on_write(self, names: Sequence[str]) -> None:
        """Write those of some sites that are still to be written, before events change them."""
        for name in names:
            if (live := self._pending.get(name)) is not None:
                self._write(name, live)

    def some(self, at_least: float, may: Callable[[str], bool] = lambda name: True) -> list[str]:
        """Return sites that are still to be written, whose estimated bytes are `at_least` so many, or all."""
        found, size = [], 0
        for name, live in list(self._pending.items()):
            if size >= at_least:
                break
            if may(name):
                found.append(name)
                size += live.bytes_to_write
        return found

    def written(self, name: str) -> None:
        """Say that a site was written."""
        self._pending.pop(name, None)


class ResidentCrawl(CrawlModel):
    """A crawl whose sites are in memory as far as there is room; `store`, `budget`: see `ResidentSites`."""

    sites: ResidentSites

    def __init__(
        self,
        config: CrawlConfig,
        *,
        ticket_key: bytes,
        domain_of: Callable[[str], str] | None = None,
        store: SiteStore | None = None,
        budget: MemoryBudget | None = None,
    ) -> None:
        table = partial(ResidentSites, replay=self._replay, store=store, budget=budget)
        super().__init__(config, ticket_key=ticket_key, domain_of=domain_of, sites=table)

    def apply(
        self, seq: int, event: Event, learned: LearnedSite | None = None, raw: bytes | None = None
    ) -> Outcome:
        """See `CrawlModel.apply`; with `raw`, the bytes of an event, its site can be written as events."""
        self.sites.change = self._change(seq, event, raw)
        try:
            return super().apply(seq, event, learned)
        finally:
            self.sites.change = None

    def _change(self, seq: int, event: Event, raw: bytes | None) -> _Events | None:
        """Return what is written of an event that changes one site, and nothing that sites share but ids."""
        if raw is None or isinstance(event, ConfigChanged) or self.writes_states:
            return None
        return [] if self.is_repeat(event) else [msgpack.packb([seq, raw])]

    def _replay(self, shard: SiteShard, config: CrawlConfig, events: Sequence[bytes]) -> None:
        """Apply events in a crawl that has only their site: this one has all else of them already."""
        if not events:
            return
        alone = CrawlModel(config, ticket_key=self._ticket_key, domain_of=self._domain_of)
        alone.sites.hold(shard.model.name, shard)
        for packed in events:
            seq, raw = msgpack.unpackb(packed)
            event = decode(raw)
            if isinstance(event, PageFetched | FeedbackGiven):
                event = replace(event, event_id="")  # none is a repeat: those are not written
            try:
                alone.apply(seq, event)
            except (OSError, MemoryError):
                raise
            except Exception as exc:  # as when it was applied first: what it had changed by then stays
                _log.debug("site %s: event %d fails again: %r", shard.model.name, seq, exc)

    @property
    def writes_states(self) -> bool:
        """Whether each change of a site is written as a state: policies know something across sites."""
        return not self.crawl_wide.is_empty

    def core_state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps beside the sites, as plain values."""
        return {**self.own_state(), "configs": self.sites.configs_state()}

    def load_core(self, state: dict[str, Any], sites: Iterator[tuple[str, bytes]]) -> None:
        """Take over a checkpoint: the values of `core_state`, and name and facts of each site, in order.

        Raises
        ------
        CorruptState
            If a field is missing or malformed.
        """
        with reading_state(f"crawl {self.config.name}"):
            self.load_own(state)
            self.sites.restore(state["configs"], sites)


def _size_of(events: Sequence[bytes]) -> int:
    return sum(map(len, events)) + _EVENT_BYTES * len(events)


def _unpacked(facts: bytes) -> SiteFacts:
    *values, tally = msgpack.unpackb(facts)
    return SiteFacts._make([*values, tuple(tally)])
