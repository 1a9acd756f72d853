"""The crawls of a server: which there are, which are open, and how they are made, changed and deleted."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial, wraps
from typing import Any, Self, TypeVar, cast
from weakref import WeakValueDictionary

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged, encode
from linkscore_scoring.errors import (
    AlreadyExists,
    CorruptState,
    InvalidInput,
    LimitExceeded,
    LinkscoreError,
    NotFound,
)
from linkscore_scoring.policies.guard import FAILURES
from linkscore_scoring.site.learning import SiteBounds
from linkscore_scoring.site.model import SiteModel, Stage
from linkscore_server import tasks
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.crawls.learning import CrawlClosed, LearningPool
from linkscore_server.crawls.memory import MemoryKeeper, Space
from linkscore_server.crawls.opening import config_of, load_libraries, opened
from linkscore_server.data_folder import DataFolder
from linkscore_server.groups import Shard, shards_of
from linkscore_server.observability import Metrics
from linkscore_server.settings import Settings
from linkscore_server.store import Fenced, NewEvent, Store, StoreAway, StoredShard

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Coroutine[Any, Any, Any]])
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_LOOK_S = 60.0
"""Longest time between looks for idle crawls; chosen, not measured."""
_ROOM_S = 0.05
"""How long memory for one call is memory for those after it: to look takes .1 ms. Chosen."""
_THREADS = 4
"""Crawls opened, made or deleted at a time. Chosen."""
_AT_ONCE = 2
"""Sites that are read or written at a time, and big questions: beside the event loop they share one
interpreter."""


class CrawlNotFound(NotFound):
    """No crawl of this name."""

    @classmethod
    def named(cls, name: str) -> Self:
        """Return the error about a name that no crawl has, as a caller meets it."""
        return cls(f"crawl {name!r}: no such crawl; create it first (CreateCrawl)")


class CrawlExists(AlreadyExists):
    """The crawl exists with another configuration."""


def _whole(change: _F) -> _F:
    """Let a change go on when its caller gives up: it must not stop half-way."""

    @wraps(change)
    async def kept(self: CrawlRegistry, *args: Any, **fields: Any) -> Any:
        return await tasks.kept(change(self, *args, **fields), "a change of a crawl", self._tasks)

    return cast(_F, kept)


class CrawlRegistry:
    """All crawls of a server, or its shards of them: names are keys of shards then (`Shard.key`).

    One is opened when a call asks for it, and closed when nobody asked for `idle_crawl_s`. `damaged`: those
    that cannot be read, with the reason: they answer with that error, others serve. `before_serving`: told of
    each that was opened, before it serves; may block. `confirm`: called in a thread before a shard is read;
    raises `StoreAway` if another process has it. `owner_of`: see `Store.create_all`.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        metrics: Metrics,
        *,
        folder: DataFolder | None = None,
        owns: Callable[[Shard], bool] = lambda _: True,
    ) -> None:
        self.store, self.folder = store, folder or DataFolder(None)
        self._settings, self._metrics = settings, metrics
        self._owns = owns
        self._actors: dict[str, CrawlActor] = {}
        self._names: set[str] = set()
        self.damaged: dict[str, str] = {}
        self.before_serving: list[Callable[[str, CrawlModel], None]] = []
        self.on_open: Callable[[CrawlActor], None] = lambda actor: None
        self.confirm: Callable[[str], None] = lambda key: None
        self.owner_of: Callable[[str], int] = lambda key: 0
        self._given: set[str] = set()  # let go of, and another server's
        self.memory = MemoryKeeper(settings, metrics, self._actors.values)
        self.space = Space(settings.min_free_mb << 20, store.engine.space)
        self._room_until_s = 0.0
        self._learning = LearningPool(settings.learning_processes)
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="linkscore-open")
        self._sites = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="linkscore-sites")
        self._questions = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="linkscore-ask")
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._creating = asyncio.Lock()
        self._openings: dict[str, asyncio.Task[CrawlActor]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._beside: set[asyncio.Task[Any]] = set()
        self._is_closing = False

    async def recover(self) -> None:
        """Find the crawls of the store."""
        await self._in_thread(self.store.secret)
        found = await self._in_thread(self.store.shards)
        self._names = {key for key in found if self._owns(Shard.of(key))}
        tasks.for_ever(self.memory.run, "evicting sites", self._beside)
        tasks.for_ever(self._evict_idle, "evicting idle crawls", self._beside)

    # -- which there are -----------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Return the names of all sound crawls, sorted."""
        return sorted(self._names - self.damaged.keys())

    def keys(self) -> list[str]:
        """Return the keys of all shards that are here, the damaged ones too, sorted."""
        return sorted(self._names)

    async def crawls(self) -> dict[str, int]:
        """Return the crawls of all processes by name, in order, and how many groups each has."""
        shards = map(Shard.of, await self._in_thread(self.store.shards))
        return {shard.crawl: shard.groups for shard in sorted(shards)}

    def has(self, name: str) -> bool:
        """Say whether a crawl or shard of this name is here, damaged or not."""
        return name in self._names

    @property
    def crawl_count(self) -> int:
        """How many sound crawls have their first group here: of all processes together, each counts once."""
        return sum(Shard.of(name).group == 0 for name in self.names())

    def opened_now(self, name: str) -> CrawlActor | None:
        """Return a crawl if it is open, without opening it."""
        return self._actors.get(name)

    def actors(self) -> list[CrawlActor]:
        """Return the actors of the crawls that are open, by name."""
        return [actor for _, actor in sorted(self._actors.items())]

    async def disk_bytes(self, name: str) -> int:
        """Return what a crawl takes on the disk."""
        return await asyncio.get_running_loop().run_in_executor(self._questions, self.store.disk_bytes, name)

    def check_room(self) -> None:
        """Let in what needs memory and disk, or not."""
        if (now_s := time.monotonic()) >= self._room_until_s:
            self.space.check()
            self.memory.check()
            self._room_until_s = now_s + _ROOM_S

    # -- open ones -----------------------------------------------------------------------------------------

    async def open(self, name: str) -> CrawlActor:
        """Return a crawl, opened if it is not; it stays open until the task that asks ends."""
        while (actor := self._actors.get(name)) is None or actor.is_lost:
            await asyncio.shield(self._being_opened(name))
        actor.use()
        return actor

    def at_rest(self, name: str, what: str = "") -> asyncio.Lock:
        """Return what keeps others from opening, closing or deleting a crawl, or from something else."""
        return self._locks.setdefault(f"{what} {name}", asyncio.Lock())

    def _being_opened(self, name: str) -> asyncio.Task[CrawlActor]:
        """Return the one task that opens a crawl, which goes on when who asked gives up."""
        task = self._openings.get(name)
        if task is None or task.done():
            task = self._openings[name] = tasks.awaited(self._open_now(name), self._tasks)
            task.add_done_callback(lambda done: self._openings.get(name) is done and self._openings.pop(name))
        return task

    async def _open_now(self, name: str) -> CrawlActor:
        async with self.at_rest(name):
            if name in self.damaged:
                raise CorruptState(f"crawl {name!r}: {self.damaged[name]}")
            if name in self._given:
                raise StoreAway(f"crawl {name!r}: another server has these sites, try again")
            if name not in self._names and not self._owns(Shard.of(name)):
                raise CrawlNotFound.named(name)
            if (lost := self._actors.pop(name, None)) is not None:
                await lost.close(save=False)
            try:
                actor = await self._in_thread(self._read, name)
            except (MemoryError, OSError, CrawlClosed, StoreAway, CrawlNotFound):
                raise  # they say nothing of what is in the store
            except Exception as exc:
                self.damaged[name] = str(exc) if isinstance(exc, LinkscoreError) else repr(exc)
                unexpected = None if isinstance(exc, LinkscoreError) else exc
                _log.error("crawl %s stays closed: %s", name, exc, exc_info=unexpected)
                raise CorruptState(f"crawl {name!r}: {self.damaged[name]}") from exc
            actor.start()
            self._names.add(name)
            self._actors[name] = actor
            self.on_open(actor)
            return actor

    def _read(self, name: str) -> CrawlActor:
        self.confirm(name)
        number = self.store.number_of(name)
        try:
            shard = self.store.open(name)
            self._follow(shard)
            model = opened(
                shard,
                ticket_key=self.store.secret(),
                budget=self.memory.budget,
                go_on=partial(self._go_on, name),
            )
            own = Shard(model.config.name, Shard.of(name).group, model.config.groups).key
            if own != name or not model.seq:
                rule = f"holds {model.seq} events of crawl {own!r}"
                raise CorruptState(f"{rule}: only `linkscore data import` gives a crawl its name")
        except (KeyError, CorruptState):
            if number is not None and self.store.number_of(name) == number:
                raise
            self._names.discard(name)  # there is none, or it was erased meanwhile
            raise CrawlNotFound.named(name) from None
        load_libraries(model.config)
        for heard in self.before_serving:
            heard(name, model)
        _log.info("crawl %s: %d events", name, model.seq)
        return CrawlActor(
            model,
            shard,
            learner=self._learning,
            background=self._sites,
            reader=self._questions,
            metrics=self._metrics,
            make_room=self.memory.make_room,
        )

    def _follow(self, shard: StoredShard) -> None:
        """Have a group take over a change that only the first one has heard of."""
        own = Shard.of(shard.key)
        if own.group:
            config = config_of(self.store.open(own._replace(group=0).key))
            if config.revision > config_of(shard).revision:
                shard.commit([NewEvent("", "", encode(ConfigChanged(config.to_state())))]).result()

    def _go_on(self, name: str, seq: int) -> None:
        if self._is_closing:
            raise CrawlClosed(f"crawl {name!r}: the server stops")

    async def _evict_idle(self) -> None:
        """Close crawls that nobody asked for since `idle_crawl_s`, after a while; see `tasks.for_ever`."""
        idle_s = self._settings.idle_crawl_s
        await asyncio.sleep(min(idle_s / 4, _LOOK_S))
        before = time.monotonic() - idle_s
        for name, actor in list(self._actors.items()):
            if actor.last_used_s < before and not actor.is_in_use:
                await tasks.kept(self.evict(name), "closing a crawl", self._tasks)

    async def evict(self, name: str) -> bool:
        """Close a crawl that nobody uses; says whether it was one."""
        async with self.at_rest(name):
            actor = self._actors.get(name)
            if actor is None or actor.is_in_use:
                return False
            del self._actors[name]
            await actor.close()
        return True

    # -- changes -------------------------------------------------------------------------------------------

    @_whole
    async def create(
        self, config: CrawlConfig, check_count: Callable[[Collection[str]], None] = lambda others: None
    ) -> None:
        """Create a crawl, which `check_count` may refuse; fine if it is there with the same configuration."""
        if not _NAME.fullmatch(config.name):
            raise InvalidInput(f"must match {_NAME.pattern}, got {config.name!r}", field="crawl.name")
        await self._in_thread(self._check, config)
        self.space.check()
        config = replace(config, bounds=SiteBounds(links=self._settings.site_links))
        async with self._creating:
            if config.name not in await self.crawls():
                await self._check_one_more(config.name, check_count)
                await self.drop(config.name)
                with suppress(Fenced):  # another process was quicker
                    await self._in_thread(self._make, config)
                    try:
                        await self._check_one_more(config.name, check_count)  # others may have made some too
                    except LimitExceeded:
                        await self.erase(config.name)
                        raise
                    return
            await self._in_thread(self._compare, config)

    @_whole
    async def change(self, name: str, **changes: Any) -> CrawlActor:
        """Change fields of a crawl's configuration, add examples; changes at the same time all count."""
        self.space.check()
        async with self.at_rest(name, "change"):
            actor = await self.open(name)
            if "limits" in changes:  # None lifts one
                limits = {**actor.model.config.limits, **changes["limits"]}
                changes["limits"] = {field: value for field, value in limits.items() if value is not None}
            if "examples" in changes:
                changes["examples"] = actor.model.config.examples_with(changes["examples"])
            config = replace(actor.model.config, **changes)
            if config == actor.model.config:
                return actor
            if config.groups > 1:
                config = replace(config, revision=config.revision + 1)
            await self._in_thread(self._check, config)
            await self._reconfigure(actor, config)
            return actor

    @_whole
    async def configure(self, name: str, config: CrawlConfig) -> None:
        """Give a shard the configuration that its crawl has by now; one it has already changes nothing."""
        async with self.at_rest(name, "change"):
            actor = await self.open(name)
            if actor.model.config.revision < config.revision:
                await self._reconfigure(actor, config)

    async def erase(self, crawl: str) -> None:
        """Take all groups of a crawl from the store: who has one open can write nothing to it any more."""
        keys = [key for key in await self._in_thread(self.store.shards) if Shard.of(key).crawl == crawl]
        await self._in_thread(self.store.delete, *keys)

    async def drop(self, crawl: str) -> None:
        """Forget what is here of a crawl that the store has no more."""
        here = {*self._names, *self._actors, *self._openings}
        await self.forget_erased([key for key in here if Shard.of(key).crawl == crawl])

    @_whole
    async def forget_erased(self, names: Collection[str]) -> None:
        """Forget those of some shards that the store has no more; one of that name made since is another."""
        for name in names:
            async with self.at_rest(name):
                number, actor = await self._in_thread(self.store.number_of, name), self._actors.get(name)
                if number is not None and (actor is None or actor.number == number):
                    continue
                if actor is not None:
                    del self._actors[name]
                    await actor.close(save=False)
                await self._in_thread(self.folder.erase_beside, name)
                self._names.discard(name)
                self.damaged.pop(name, None)

    def take(self, name: str) -> None:
        """Have a shard that the store has by now; it is opened when somebody asks for it."""
        self._names.add(name)
        self.damaged.pop(name, None)
        self._given.discard(name)

    async def let_go(self, name: str) -> None:
        """Have a shard no more that another process gets: finish what was taken in, write its states."""
        async with self.at_rest(name):
            self._names.discard(name)
            self._given.add(name)
            if (actor := self._actors.pop(name, None)) is not None:
                await actor.close()

    async def _check_one_more(self, name: str, check_count: Callable[[Collection[str]], None]) -> None:
        others = (await self.crawls()).keys() - {name}
        if (n := len(others)) >= self._settings.max_crawls:
            raise LimitExceeded(f"max_crawls: there are {n} crawls, delete one or raise the setting")
        check_count(others)

    def _make(self, config: CrawlConfig) -> None:
        first = NewEvent("", "", encode(ConfigChanged(config.to_state())))
        keys = [shard.key for shard in shards_of(config.name, config.groups)]
        self.store.create_all({key: [first] for key in keys}, self.owner_of)

    def _compare(self, config: CrawlConfig) -> None:
        """Refuse a crawl that the store has with another configuration."""
        key = next((key for key in self.store.shards() if Shard.of(key).crawl == config.name), config.name)
        if (groups := Shard.of(key).groups) != config.groups:
            raise CrawlExists(
                f"crawl {config.name!r} exists with {groups} groups, which are fixed: use another name"
            )
        try:
            found = config_of(self.store.open(key))
        except KeyError:
            raise CrawlClosed(f"crawl {config.name!r} is being deleted, try again") from None
        same = replace(
            found, create_time_s=config.create_time_s, bounds=config.bounds, revision=config.revision
        )
        if same != config:
            raise CrawlExists(
                f"crawl {config.name!r} exists with another configuration: use UpdateCrawl or another name"
            )

    async def _reconfigure(self, actor: CrawlActor, config: CrawlConfig) -> None:
        await self._in_thread(load_libraries, config)
        await actor.submit(ConfigChanged(config.to_state()))

    def _check(self, config: CrawlConfig) -> None:
        try:
            config.check()
            load_libraries(config)
        except InvalidInput as exc:
            raise exc.under("crawl") from exc

    async def _in_thread(self, call: Callable[..., _T], *args: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *args)

    async def close(self) -> None:
        """Finish and close every crawl; those that are being opened stay closed."""
        self._is_closing = True
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for name in sorted(self._names):
            async with self.at_rest(name):
                if (actor := self._actors.pop(name, None)) is not None:
                    await actor.close()
        for executor in (self._threads, self._sites, self._questions):
            executor.shutdown()
        self._learning.close()


class RegistryCollector(Collector):
    """What is counted when Prometheus asks: sites by stage, use of the bounds, policies that fail.

    Every figure is O(sites in memory), and none names a site.
    """

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
        away = "Sites by stage; put_away: evicted, of any stage"
        yield _labelled(GaugeMetricFamily, "sites", away, "stage", stages)
        yield from self._bounds(sites)
        failures = "Errors of policies from other packages; breadth-first order replaced them"
        yield _labelled(
            CounterMetricFamily, "policy_failures", failures, "policy", dict(sorted(FAILURES.items()))
        )

    def _gauges(
        self, actors: Sequence[CrawlActor], sites: list[SiteModel]
    ) -> Sequence[tuple[str, str, float]]:
        """Return name, meaning and value of each."""
        registry, budget = self._registry, self._registry.memory.budget
        replayed, (free, is_full) = sum(actor.replay_count for actor in actors), registry.space.left()
        bound = "Bound of it: site_memory_mb, or less while the process is close to memory_mb"
        most = "The setting memory_mb; compare process_resident_memory_bytes"
        full = "1 while pages and feedback are refused for want of disk space (min_free_mb), else 0"
        evicted = sum(site.memory.evicted for site in sites)
        return [
            ("crawls", "Crawls", registry.crawl_count),
            ("crawls_open", "Crawls in memory", len(actors)),
            ("crawls_damaged", "Crawls whose log could not be read", len(registry.damaged)),
            ("events_to_replay", "Events that a start applies before it serves, 3 ms each", replayed),
            ("site_memory_bytes", "Memory of the sites, estimated", budget.used),
            ("site_memory_limit_bytes", bound, budget.limit),
            ("memory_limit_bytes", most, self._settings.memory_mb << 20),
            ("disk_free_bytes", "Free space on the disk of the data folder; infinite where none is", free),
            ("disk_full", full, float(is_full)),
            ("links_evicted", "Links forgotten because of site_links, in the sites in memory", evicted),
        ]

    def _bounds(self, sites: list[SiteModel]) -> Iterator[Metric]:
        most = SiteBounds(links=self._settings.site_links)
        bounds = {"site_links": most.links, "site_blocks": most.blocks, "site_apaths": most.apaths}
        used = {
            "site_links": max((len(site.memory) for site in sites), default=0),
            "site_blocks": max((len(site.texts) for site in sites), default=0),
            "site_apaths": max((len(site.link_paths) for site in sites), default=0),
        }
        bound = "Bounds of the memory of a site; site_links is a setting"
        most_used = "Largest use of a bound by any site; at linkscore_bound the oldest entries are forgotten"
        yield _labelled(GaugeMetricFamily, "bound", bound, "bound", bounds)
        yield _labelled(GaugeMetricFamily, "bound_used", most_used, "bound", used)


def _labelled(
    kind: type[CounterMetricFamily | GaugeMetricFamily],
    name: str,
    meaning: str,
    label: str,
    values: Mapping[str, float],
) -> Metric:
    family = kind(f"linkscore_{name}", meaning, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
