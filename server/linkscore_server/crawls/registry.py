"""The crawls of a server: created, found, changed, deleted, recovered."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import re
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from linkscore_scoring.engine.config import CrawlConfig
from linkscore_scoring.engine.crawl import CrawlModel
from linkscore_scoring.engine.events import ConfigChanged
from linkscore_scoring.errors import (
    AlreadyExists,
    CorruptState,
    InvalidInput,
    LimitExceeded,
    LinkscoreError,
    NotFound,
)
from linkscore_scoring.policies import capabilities
from linkscore_scoring.policies.registry import policy_class
from linkscore_scoring.site.config import SiteBounds
from linkscore_scoring.types import ExamplePage
from linkscore_server.crawls.actor import CrawlActor
from linkscore_server.observability.metrics import Metrics
from linkscore_server.settings import Settings
from linkscore_server.storage.base import Store
from linkscore_server.storage.visits.base import VisitStore

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class CrawlNotFound(NotFound):
    """No crawl of this name."""


class CrawlExists(AlreadyExists):
    """The crawl exists with another configuration."""


class CrawlRegistry:
    """All crawls of a server, each with its actor.

    `damaged` names the crawls whose log could not be read, with the reason: they answer with that error and
    nothing of theirs is touched; the others serve.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        metrics: Metrics,
        *,
        domain_of: Callable[[str], str] | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._metrics = metrics
        self._domain_of = domain_of
        self._actors: dict[str, CrawlActor] = {}
        self._change_lock = asyncio.Lock()
        # Learning has a thread of its own, so that it never delays a commit.
        self._executor = ThreadPoolExecutor(max_workers=2, thread_name_prefix="linkscore-log")
        self._learner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="linkscore-learn")
        self.damaged: dict[str, str] = {}

    async def recover(self) -> None:
        """Load every crawl of the store.

        Raises
        ------
        CorruptState
            If the secret of tickets is not one.
        """
        await self._in_thread(self._store.ticket_key)
        for name in await self._in_thread(self._store.crawls):
            try:
                actor = await self._in_thread(self._recover_crawl, name)
            except Exception as exc:
                self.damaged[name] = str(exc) if isinstance(exc, LinkscoreError | OSError) else repr(exc)
                unexpected = None if isinstance(exc, LinkscoreError) else exc
                _log.error("crawl %s is damaged and stays closed: %s", name, exc, exc_info=unexpected)
                continue
            if actor is None:
                continue
            actor.start()
            self._actors[name] = actor

    def names(self) -> list[str]:
        """Return the names of all crawls, sorted."""
        return sorted(self._actors)

    def actors(self) -> list[CrawlActor]:
        """Return the actors of all crawls, by name."""
        return [self._actors[name] for name in self.names()]

    def get(self, name: str) -> CrawlActor:
        """Return a crawl.

        Raises
        ------
        CrawlNotFound
            If there is none of this name.
        CorruptState
            If its log is damaged.
        """
        if name in self.damaged:
            raise CorruptState(f"crawl {name!r}: {self.damaged[name]}")
        actor = self._actors.get(name)
        if actor is None:
            raise CrawlNotFound(f"crawl {name!r}: no such crawl; create it first (CreateCrawl)")
        return actor

    def visits(self, name: str) -> VisitStore:
        """Return what keeps the browse logs of a crawl that exists."""
        return self._store.visits(name)

    async def create(self, config: CrawlConfig) -> CrawlActor:
        """Create a crawl, or return it if it exists with the same configuration.

        Raises
        ------
        InvalidInput
            If the name or the configuration breaks a rule.
        CrawlExists
            If the name is taken by a crawl of another configuration.
        LimitExceeded
            If there are `max_crawls` crawls.
        """
        if not _NAME.fullmatch(config.name):
            raise InvalidInput(f"must match {_NAME.pattern}, got {config.name!r}", field="crawl.name")
        _check(config)
        return await _uninterrupted(self._create(dataclasses.replace(config, bounds=self._bounds())))

    async def change(
        self, name: str, *, more_examples: Sequence[ExamplePage] = (), **changes: Any
    ) -> CrawlActor:
        """Change fields of a crawl's configuration and add examples; changes made at the same time all count.

        Raises
        ------
        InvalidInput
            If the configuration then breaks a rule.
        CrawlNotFound
            If there is no crawl of this name.
        """
        return await _uninterrupted(self._change(name, changes, more_examples))

    async def delete(self, name: str) -> None:
        """Delete a crawl and its log; a damaged one too."""
        await _uninterrupted(self._delete(name))

    async def close(self) -> None:
        """Finish and close every crawl."""
        for actor in self.actors():
            await actor.close()
        self._executor.shutdown()
        self._learner.shutdown(wait=False, cancel_futures=True)

    async def _create(self, config: CrawlConfig) -> CrawlActor:
        async with self._change_lock:
            if config.name in self._actors or config.name in self.damaged:
                return self._existing(config)
            if len(self._actors) >= self._settings.max_crawls:
                rule = f"max_crawls: there are {len(self._actors)} crawls, delete one or raise the setting"
                raise LimitExceeded(rule)
            await self._in_thread(load_libraries, config)
            actor = await self._in_thread(self._new_actor, config)
            actor.start()
            try:
                await actor.submit(ConfigChanged(config.to_state()))
            except Exception:
                await actor.discard()
                raise
            self._actors[config.name] = actor
            return actor

    async def _change(
        self, name: str, changes: dict[str, Any], more_examples: Sequence[ExamplePage]
    ) -> CrawlActor:
        async with self._change_lock:
            actor = self.get(name)
            config = dataclasses.replace(actor.model.config, **changes).with_examples(more_examples)
            _check(config)
            await self._in_thread(load_libraries, config)
            await actor.submit(ConfigChanged(config.to_state()))
            return actor

    async def _delete(self, name: str) -> None:
        async with self._change_lock:
            if name not in self.damaged:
                actor = self.get(name)
                del self._actors[name]
                await actor.discard()
            await self._in_thread(self._store.delete, name)
            self.damaged.pop(name, None)

    def _existing(self, config: CrawlConfig) -> CrawlActor:
        actor = self.get(config.name)
        same = dataclasses.replace(
            actor.model.config, create_time_s=config.create_time_s, bounds=config.bounds
        )
        if same != config:
            raise CrawlExists(
                f"crawl {config.name!r} exists with another configuration: use UpdateCrawl or another name"
            )
        return actor

    def _new_actor(self, config: CrawlConfig) -> CrawlActor:
        model = CrawlModel(config, ticket_key=self._store.ticket_key(), domain_of=self._domain_of)
        return CrawlActor(
            model,
            self._store.open(config.name),
            executor=self._executor,
            learner=self._learner,
            metrics=self._metrics,
            snapshot_events=self._settings.snapshot_events,
        )

    def _recover_crawl(self, name: str) -> CrawlActor | None:
        """Return a crawl as its log says; None if its creation was never acknowledged."""
        actor = self._new_actor(CrawlConfig(name))
        try:
            replayed = actor.recover()
        except CorruptState as exc:
            _log.warning("crawl %s: %s; replaying the whole log", name, exc)
            actor.release()
            actor = self._new_actor(CrawlConfig(name))
            replayed = actor.recover(with_snapshot=False)
        if actor.model.seq and (own := actor.model.config.name) != name:
            actor.release()
            raise CorruptState(
                f"the folder holds crawl {own!r}, whose visits and tickets go by that name: rename it back, "
                "or move crawls with `linkscore data export` and `linkscore data import`"
            )
        if not actor.model.seq:
            actor.release()
            self._store.delete(name)
            return None
        load_libraries(actor.model.config)
        self._store.visits(name).recover(actor.model.ledger.batches)
        _log.info("crawl %s: %d events, %d replayed", name, actor.model.seq, replayed)
        return actor

    def _bounds(self) -> SiteBounds:
        s = self._settings
        return SiteBounds(links=s.site_links, blocks=s.site_blocks, apaths=s.site_apaths, arms=s.site_arms)

    async def _in_thread(self, call: Callable[..., _T], *args: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, call, *args)


def _check(config: CrawlConfig) -> None:
    try:
        config.check()
    except InvalidInput as exc:
        raise exc.under("crawl") from exc


def load_libraries(config: CrawlConfig) -> None:
    """Import what the crawl would import while it serves, which takes seconds; blocks."""
    for choice in (config.policy, *config.extra_policies):
        capabilities.load_libraries(policy_class(choice.name), choice.checked())
    if config.scope == "domain":
        _suffixes()


async def _uninterrupted(change: Coroutine[Any, Any, _T]) -> _T:
    """Await a change that must not stop half-way when the caller gives up."""
    return await asyncio.shield(asyncio.ensure_future(change))


def registrable_domain(host: str) -> str:
    """Return the registrable domain of a host, or the host itself; the first call is slow.

    Goes by the suffix list that comes with tldextract: nothing is fetched or cached on the disk.
    """
    return str(_suffixes()(host).top_domain_under_public_suffix or host)


@cache
def _suffixes() -> Any:
    import tldextract  # a third of all imports of the server: only crawls of scope `domain` pay for it

    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
