"""Finds who owns what a call is about: services of this process, of another one, or several of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from google.rpc import error_details_pb2

from linkscore.v1 import crawl_service_pb2 as crawl_pb
from linkscore_scoring.engine.groups import Shard, is_crawl_name
from linkscore_scoring.engine.links import TicketBook
from linkscore_scoring.errors import CorruptState, LinkscoreError
from linkscore_server.crawls.opening import config_of
from linkscore_server.crawls.registry import CrawlNotFound, CrawlRegistry
from linkscore_server.front.coordinator import CrawlCoordinator
from linkscore_server.front.fan_out import FAN_OUT
from linkscore_server.front.owners import Owner, Owners
from linkscore_server.front.parts import Groups, RoutedCrawl, may_repeat
from linkscore_server.front.scatter_gather import SCATTER_GATHER
from linkscore_server.front.shards import list_shards
from linkscore_server.services.contract import caller, crawl_in
from linkscore_server.services.crawls import VERSION
from linkscore_server.services.errors import Forwarded, logged
from linkscore_server.services.messages import crawl_name, page_of, parse_crawl
from linkscore_server.settings import Settings
from linkscore_server.store import Store

UPDATE = "CrawlService/UpdateCrawl"
CHANGES = {"CrawlService/CreateCrawl", UPDATE, "CrawlService/DeleteCrawl"}
_OF_ALL = {*CHANGES, "CrawlService/ListShards"}
"""Calls that more than the one who has the crawl takes part in."""
_DOMAIN = "example.org"  # any: the first look-up of a registrable domain reads a file


class Router:
    """Answers the calls of the contract by those who own what they are about.

    A call about a crawl of one group goes to its owner as it is: in a server of one process, to the service
    itself. One about a crawl of several is taken apart by `scatter_gather` and `fan_out`.
    """

    def __init__(
        self,
        owners: Owners,
        registry: CrawlRegistry,
        settings: Settings,
        store: Store,
        *,
        domain_of: Callable[[str], str],
        clock: Callable[[], float],
    ) -> None:
        self._owners = owners
        self._registry = registry
        self._settings = settings
        self._store = store
        self._domain_of = domain_of
        self._known: dict[str, RoutedCrawl] = {}
        self.coordinator = CrawlCoordinator(registry, owners, clock, self._read)

    async def call(self, method: str, request: Any, context: Any) -> Any:
        """Answer a call."""
        name = crawl_in(method, request)
        if self._registry.has(name) and is_crawl_name(name) and method not in _OF_ALL:
            return await self._whole(name, method, request, context)
        _check_name(name)
        if method == "CrawlService/ListCrawls":
            return await self._list(request, context)
        if method == "CrawlService/GetServerInfo":
            return crawl_pb.GetServerInfoResponse(version=VERSION, settings=self._settings.shown())
        if method == "CrawlService/ListShards":
            return await list_shards(self._owners, request, caller().may_touch)
        if method in CHANGES:
            return await self._change(method, name, request, context)
        return await self._routed(name, partial(self._answer, method, request, context))

    async def _routed(self, name: str, do: Callable[[str], Any]) -> Any:
        """Do something with a crawl; if it is gone, and another one of its name is there, with that."""
        _check_name(name)
        try:
            return await do(name)
        except (CrawlNotFound, Forwarded) as exc:
            if name not in self._known or not _is_gone(exc):
                raise
            del self._known[name]
        return await do(name)

    async def _answer(self, method: str, request: Any, context: Any, name: str) -> Any:
        crawl, owner = await self._found(name)
        if crawl is None:
            return await owner.call(method, request, context)
        if crawl.groups == 1:
            return await self._whole(name, method, request, context)
        groups = Groups(crawl, self._owners, method, context, self._settings)
        if method in SCATTER_GATHER:
            return await SCATTER_GATHER[method].answer(groups, request)
        return await FAN_OUT[method](groups, request)

    async def _whole(self, name: str, method: str, request: Any, context: Any) -> Any:
        """Answer a call about a crawl of one group as who has it does."""
        return await self._owners.reach(
            Shard(name), lambda owner: owner.call(method, request, context), may_repeat=may_repeat(request)
        )

    async def _found(self, name: str) -> tuple[RoutedCrawl | None, Owner]:
        """Return a crawl that this process does not own alone, else None; and who owns its first group.

        What is no name at all, or that of no crawl, is for the services to say.
        """
        if not name or self._registry.has(name):
            return None, self._owners.local
        if name not in self._known:
            groups = (await self._registry.crawls()).get(name)
            if groups is None:
                return None, self._owners.local
            self._known[name] = await self._described(Shard(name, 0, groups))
        return self._known[name], self._owners.of(self._known[name].shards[0])

    async def _described(self, first: Shard) -> RoutedCrawl:
        config = await asyncio.to_thread(lambda: config_of(self._store.open(first.key)))
        by_domain = config.scope == "domain"
        if by_domain:
            await asyncio.to_thread(self._domain_of, _DOMAIN)
        book = TicketBook(await asyncio.to_thread(self._store.secret), config.ticket_scope)
        return RoutedCrawl(first.crawl, first.groups, self._domain_of if by_domain else None, book)

    async def _change(self, method: str, name: str, request: Any, context: Any) -> Any:
        self._known.pop(name, None)
        if method == "CrawlService/CreateCrawl":
            return await self.coordinator.create(request, context)
        if method == "CrawlService/DeleteCrawl":
            return await self.coordinator.delete(request)

        async def update(home: Owner) -> Any:
            if home is not self._owners.local:
                return await home.call(method, request, context)
            return await self.coordinator.update(request, context)

        parse_crawl(request.crawl.name, "crawl.name")
        return await self._owners.reach(await self.coordinator.first(name), update)

    async def _list(self, request: crawl_pb.ListCrawlsRequest, context: Any) -> crawl_pb.ListCrawlsResponse:
        there = await self._registry.crawls()
        mine = [name for name in there if caller().may_touch(name)]
        names, token = page_of(mine, request.page_size, request.page_token)
        found = [await self._listed(name, context) for name in names]
        return crawl_pb.ListCrawlsResponse(crawls=filter(None, found), next_page_token=token)

    async def _listed(self, name: str, context: Any) -> crawl_pb.Crawl | None:
        """Return a crawl, None if it is gone, damaged or cannot be shown: the others are."""
        try:
            return await self._read(name, context)
        except (CrawlNotFound, CorruptState, OSError):
            return None
        except Forwarded as exc:
            if _reason(exc) in ("CRAWL_NOT_FOUND", "CORRUPT_STATE", "INTERNAL"):
                return None
            raise
        except LinkscoreError:
            raise
        except Exception as exc:
            logged(exc)
            return None

    async def _read(self, name: str, context: Any) -> crawl_pb.Crawl:
        request = crawl_pb.GetCrawlRequest(name=crawl_name(name))
        answer: crawl_pb.GetCrawlResponse = await self.call("CrawlService/GetCrawl", request, context)
        return answer.crawl


def _check_name(name: str) -> None:
    if name and not is_crawl_name(name):
        raise CrawlNotFound.named(name)


def _is_gone(error: Exception) -> bool:
    return isinstance(error, CrawlNotFound) or _reason(error) == "CRAWL_NOT_FOUND"


def _reason(error: Exception) -> str:
    """Return the reason that another process gave for an error, empty if it gave none."""
    info = error_details_pb2.ErrorInfo()
    for detail in error.status.details if isinstance(error, Forwarded) else ():
        if detail.Unpack(info):
            return str(info.reason)
    return ""
