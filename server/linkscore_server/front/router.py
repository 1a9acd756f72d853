"""Answers every call of the contract, whoever has what it is about: this process, another one, or several.

A call about a crawl of one group goes to its owner as it is: in a server of one process, to the service
itself. One about a crawl of several is taken apart by `fan_out`. A crawl is made and erased in one
transaction, by any server. A change is a fact when the first group has it, with a number; the others are told
of it, and one that was not takes it over when it is opened (`CrawlRegistry`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_scoring.engine.links import TicketBook
from linkscore_scoring.errors import InvalidInput, LinkscoreError
from linkscore_server.crawls.opening import config_of, registrable_domain
from linkscore_server.crawls.registry import CrawlNotFound, CrawlRegistry
from linkscore_server.front.fan_out import CALLS, Groups, RoutedCrawl, may_repeat
from linkscore_server.front.owners import LocalOwner, Owner, Owners, reason_of
from linkscore_server.groups import MARK, Shard, shards_of
from linkscore_server.services.contract import (
    CALLER,
    SERVICES,
    CallerGone,
    Forwarded,
    NotServing,
    check_count,
    is_unavailable,
    logged,
    named_in,
)
from linkscore_server.services.crawls import VERSION
from linkscore_server.services.crawls import config_of as config_in
from linkscore_server.services.messages import (
    DEFAULT_PAGE_SIZE,
    MAX_PAGE_SIZE,
    check_most,
    crawl_name,
    page_of,
    parse_crawl,
)
from linkscore_server.settings import Settings

_log = logging.getLogger(__name__)
_AGAIN_S = 1.0
"""Seconds after which a change that did not reach every group is sent again. Chosen, not measured."""
_UPDATE = "CrawlService/UpdateCrawl"
_DOMAIN = "example.org"  # any: the first look-up of a registrable domain reads a file


class Router:
    """Finds who has what a call is about, see the module."""

    def __init__(
        self,
        owners: Owners,
        local: LocalOwner,
        registry: CrawlRegistry,
        settings: Settings,
        clock: Callable[[], float],
    ) -> None:
        self._owners, self._local, self._registry = owners, local, registry
        self._settings, self._clock = settings, clock
        self._known: dict[str, RoutedCrawl] = {}
        self._of_all: dict[str, Callable[[Any, Any], Any]] = {
            "CrawlService/CreateCrawl": self._create,
            _UPDATE: self._update,
            "CrawlService/DeleteCrawl": self._delete,
            "CrawlService/GetServerInfo": self._server_info,
            "CrawlService/ListCrawls": self._list,
            "CrawlService/ListShards": self._list_shards,
        }  # in which more than the one who has the crawl take part

    def servicers(self) -> dict[str, Any]:
        """Return the services as gRPC takes them, by name."""
        return {
            name: SimpleNamespace(
                **{
                    method.name: partial(self.call, f"{name}/{method.name}")
                    for method in file.services_by_name[name].methods
                }
            )
            for name, file in SERVICES.items()
        }

    # -- calls ---------------------------------------------------------------------------------------------

    async def call(self, method: str, request: Any, context: Any) -> Any:
        _, name = named_in(method, request)
        if method in self._of_all:
            _check_name(name)
            return await self._of_all[method](request, context)
        if MARK not in name and self._registry.has(name):  # whole, and here
            try:
                return await self._local.answers[method](request, context)
            except Exception as exc:
                if self._owners.is_alone or not is_unavailable(exc) or not may_repeat(request):
                    raise
        return await self._routed(name, method, request, context)

    async def call_of_peer(self, method: str, request: Any, context: Any) -> Any:
        """Answer a call of another server: about shards that are here, or the change of a crawl."""
        if method == _UPDATE and MARK not in named_in(method, request)[1]:
            return await self._update(request, context)
        return await self._local.call(method, request, context)

    async def _routed(self, name: str, method: str, request: Any, context: Any) -> Any:
        """Answer by who has a crawl; if it is gone, and another one of its name is there, by that."""
        was_known = name in self._known
        try:
            return await self._answer(await self._found(name), method, request, context)
        except (CrawlNotFound, Forwarded) as exc:
            if not was_known or reason_of(exc) != "CRAWL_NOT_FOUND":
                raise
            self._known.pop(name, None)
        return await self._answer(await self._found(name), method, request, context)

    async def _answer(self, crawl: RoutedCrawl | None, method: str, request: Any, context: Any) -> Any:
        if crawl is None:
            return await self._local.call(method, request, context)
        groups = Groups(crawl, self._owners, method, context)
        if crawl.groups == 1:
            return await groups.send(0, request, "")
        return await CALLS[method](groups, request)

    async def _found(self, name: str) -> RoutedCrawl | None:
        """Return a crawl; None of what is no name at all, or that of no crawl: for the services to say."""
        _check_name(name)
        if name not in self._known:
            groups = (await self._registry.crawls()).get(name)
            if groups is None:
                return None
            self._known[name] = await self._described(Shard(name, 0, groups))
        return self._known[name]

    async def _described(self, first: Shard) -> RoutedCrawl:
        store = self._registry.store
        config = await asyncio.to_thread(lambda: config_of(store.open(first.key)))
        by_domain = config.scope == "domain"
        if by_domain:
            await asyncio.to_thread(registrable_domain, _DOMAIN)
        book = TicketBook(await asyncio.to_thread(store.secret), config.ticket_scope)
        return RoutedCrawl(first.crawl, first.groups, registrable_domain if by_domain else None, book)

    # -- crawls --------------------------------------------------------------------------------------------

    async def _create(self, request: pb.CreateCrawlRequest, context: Any) -> pb.CreateCrawlResponse:
        """Create a crawl; of as many groups as one that is there has, if the caller leaves that open."""
        name = request.crawl.name.removeprefix(crawl_name(""))
        self._known.pop(name, None)
        there = {} if request.crawl.groups else await self._registry.crawls()
        request.crawl.groups = request.crawl.groups or there.get(name, 1)
        config = await asyncio.to_thread(config_in, request.crawl, now_s=self._clock())
        await self._registry.create(config, check_count)
        return pb.CreateCrawlResponse(crawl=await self._read(config.name, context))

    async def _update(self, request: pb.UpdateCrawlRequest, context: Any) -> pb.UpdateCrawlResponse:
        """Change a crawl where its first group is, and then the others."""
        first = await self._first(parse_crawl(request.crawl.name, "crawl.name"))
        return await self._owners.reach(
            first, lambda home: self._update_at(home, first, request, context), may_repeat=False
        )

    async def _update_at(
        self, home: Owner, first: Shard, request: pb.UpdateCrawlRequest, context: Any
    ) -> pb.UpdateCrawlResponse:
        if home is not self._local:
            answer: pb.UpdateCrawlResponse = await home.call(_UPDATE, request, context)
            return answer
        changed = pb.UpdateCrawlRequest()
        changed.CopyFrom(request)
        changed.crawl.name = crawl_name(first.key)
        await home.call(_UPDATE, changed, context)
        try:
            await self._align(first)
        except (LinkscoreError, OSError) as exc:
            raise NotServing(
                f"crawl {first.crawl!r} was changed, and not all of its groups have heard of it: try again"
            ) from exc
        return pb.UpdateCrawlResponse(crawl=await self._read(first.crawl, context))

    async def _delete(self, request: pb.DeleteCrawlRequest, context: Any) -> pb.DeleteCrawlResponse:
        """Delete a crawl: from the store, then from the memory of whoever has some of it."""
        name = parse_crawl(request.name, "name")
        self._known.pop(name, None)
        await self._first(name)
        await self._registry.erase(name)
        for _, owner in self._owners.named():
            try:
                await owner.ask("drop", crawl=name)
            except LinkscoreError as exc:  # it can write nothing of it any more
                _log.warning("crawl %s is deleted, and a server has not heard of it: %s", name, exc)
        return pb.DeleteCrawlResponse()

    async def _first(self, name: str) -> Shard:
        """Return the first group of a crawl, wherever it is; CrawlNotFound if there is no such crawl."""
        groups = (await self._registry.crawls()).get(name)
        if groups is None:
            raise CrawlNotFound.named(name)
        return Shard(name, 0, groups)

    async def _align(self, first: Shard) -> None:
        config = (await self._registry.open(first.key)).model.config
        state = config.to_state()
        for shard in shards_of(config.name, config.groups)[1:]:

            async def told(owner: Owner, key: str = shard.key) -> None:
                await owner.ask("configure", shard=key, config=state)

            await self._owners.reach(shard, told)

    async def _server_info(self, request: pb.GetServerInfoRequest, context: Any) -> pb.GetServerInfoResponse:
        return pb.GetServerInfoResponse(version=VERSION, settings=self._settings.shown())

    # -- lists ---------------------------------------------------------------------------------------------

    async def _list(self, request: pb.ListCrawlsRequest, context: Any) -> pb.ListCrawlsResponse:
        mine = [name for name in await self._registry.crawls() if CALLER.get().may_touch(name)]
        names, token = page_of(mine, request.page_size, request.page_token)
        found = [await self._listed(name, context) for name in names]
        return pb.ListCrawlsResponse(crawls=filter(None, found), next_page_token=token)

    async def _listed(self, name: str, context: Any) -> pb.Crawl | None:
        """Return a crawl, None if it is gone, damaged or cannot be shown: the others are."""
        try:
            return await self._read(name, context)
        except Exception as exc:
            if is_unavailable(exc) or isinstance(exc, CallerGone):
                raise
            if not isinstance(exc, LinkscoreError | OSError):
                logged(exc)
            return None

    async def _read(self, name: str, context: Any) -> pb.Crawl:
        request = pb.GetCrawlRequest(name=crawl_name(name))
        answer: pb.GetCrawlResponse = await self.call("CrawlService/GetCrawl", request, context)
        return answer.crawl

    async def _list_shards(self, request: pb.ListShardsRequest, context: Any) -> pb.ListShardsResponse:
        """List shards by crawl and group; before them, on the first page, each process that is silent."""
        check_most("page_size", request.page_size, MAX_PAGE_SIZE)
        size, after = request.page_size or DEFAULT_PAGE_SIZE, request.page_token
        try:
            Shard.of(after)
        except ValueError:
            raise InvalidInput("must be the next_page_token of a call before", field="page_token") from None
        crawl = parse_crawl(request.crawl) if request.crawl else ""
        there = [name for name in await self._registry.crawls() if CALLER.get().may_touch(name)]
        mine = [name for name in there if crawl in ("", name)]
        asked = [shards_at(*one, mine, after, size) for one in self._owners.named()]
        rows = sorted(
            (row for found in await asyncio.gather(*asked) for row in found),
            key=lambda row: (row.state != pb.SHARD_STATE_SILENT, row.crawl, row.group),
        )
        silent = sum(row.state == pb.SHARD_STATE_SILENT for row in rows)
        page = rows[silent if after else 0 : silent + size]
        is_more = len(rows) > silent + size
        return pb.ListShardsResponse(shards=page, next_page_token=_key_of(page[-1]) if is_more else "")


async def shards_at(name: str, owner: Owner, crawls: list[str], after: str, size: int) -> list[pb.Shard]:
    """Return the first shards of some crawls that a process has, or the row that says that it is silent."""
    try:
        said = await owner.ask("shards", crawls=crawls, after=after, size=size)
    except LinkscoreError as exc:
        return [pb.Shard(owner=name, state=pb.SHARD_STATE_SILENT, trouble=str(exc))]
    rows = [pb.Shard.FromString(row) for row in said["rows"]]
    for row in rows:
        row.owner = name
    return rows


def _key_of(row: pb.Shard) -> str:
    return Shard(row.crawl.removeprefix(crawl_name("")), row.group, row.group_count).key


def _check_name(name: str) -> None:
    if MARK in name:
        raise CrawlNotFound.named(name)
