"""What answers callers: of a server alone, of one of several processes, or of a cluster over one PostgreSQL.

A call about a crawl of one group goes to its owner as it is: in a server of one process, to the service
itself. One about a crawl of several is taken apart by `fan_out`. A crawl is made and erased in one
transaction, by any server. A change is a fact when the first group has it, with a number; the others are told
of it, and one that was not takes it over when it is opened (`CrawlRegistry`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import grpc

from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_scoring.engine.links import TicketBook
from linkscore_scoring.errors import LinkscoreError
from linkscore_server import tasks
from linkscore_server.crawls.opening import config_of, registrable_domain
from linkscore_server.crawls.registry import CrawlNotFound, CrawlRegistry
from linkscore_server.front.fan_out import CALLS, Groups, RoutedCrawl, may_repeat
from linkscore_server.front.owners import LocalOwner, Owner, Owners, Peer, PeerServer, place_of, reason_of
from linkscore_server.groups import MARK, Shard, shards_of
from linkscore_server.observability import Metrics
from linkscore_server.operator_files import server_credentials
from linkscore_server.services.contract import (
    CALLER,
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
from linkscore_server.services.messages import crawl_name, page_of, parse_crawl
from linkscore_server.settings import Settings
from linkscore_server.store.ownership import TICK_S, Ownership, Standing

_log = logging.getLogger(__name__)
_UPDATE = "CrawlService/UpdateCrawl"
_DOMAIN = "example.org"  # any: the first look-up of a registrable domain reads a file


async def shards_at(name: str, owner: Owner, crawls: list[str]) -> list[pb.Shard]:
    """Return the shards of some crawls that a process has, or the row that says that it is silent."""
    try:
        said = await owner.ask("shards", crawls=crawls)
    except LinkscoreError as exc:
        return [pb.Shard(owner=name, state=pb.SHARD_STATE_SILENT, trouble=str(exc))]
    rows = [pb.Shard.FromString(row) for row in said["rows"]]
    for row in rows:
        row.owner = name
    return rows


def _check_name(name: str) -> None:
    if MARK in name:
        raise CrawlNotFound.named(name)


_LEAST_S = 0.1
"""Least time between two looks, however many calls miss an owner. Chosen, not measured."""


class Cluster(Owners):
    """This server among its like: it looks who has what, opens its own and hands over the rest."""

    is_alone = False
    follows_s = 6.0

    def __init__(
        self,
        local: LocalOwner,
        registry: CrawlRegistry,
        address: str,
        connect: Callable[[str], Peer],
    ) -> None:
        self._local, self._registry, self._connect, self._address = local, registry, connect, address
        self.ownership = Ownership(registry.store, address)
        registry.confirm, registry.owner_of = self.ownership.confirm, self.best
        self._peers: dict[int, tuple[str, Peer]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._standing = Standing({}, {})
        self._has_looked, self._soon = asyncio.Event(), asyncio.Event()
        self._looking: asyncio.Task[Any] | None = None
        self._beating: asyncio.Task[Any] | None = None
        # A thread of its own: who does not beat because others are busy is dead.
        thread = ThreadPoolExecutor(1, thread_name_prefix="linkscore-looks")
        self._in_thread = partial(asyncio.get_running_loop().run_in_executor, thread)

    def named(self) -> list[tuple[str, Owner]]:
        return [(self._address, self._local), *sorted(self._peers.values(), key=lambda peer: peer[0])]

    def of(self, shard: Shard) -> Owner:
        """See `Owners.of`: of what is not there who would have it; NotServing if nobody has it now."""
        number = self._standing.owners.get(shard.key, 0)
        if number not in self._standing.servers:
            number = self.best(shard.key)
        if number == self.ownership.number:
            return self._local
        if number not in self._peers:
            raise NotServing("no server has these sites yet, try again")
        return self._peers[number][1]

    def best(self, key: str) -> int:
        """Return the number of the server that is to have a shard."""
        return Ownership.best(key, self._standing.servers)

    async def all_there(self) -> None:
        """Have a share of the shards; returns when it is known who has the others."""
        self._looking = tasks.for_ever(self._look, "looks at the other servers", again_s=_LEAST_S)
        self._beating = tasks.for_ever(self._beat, "beats", again_s=TICK_S)
        await self._has_looked.wait()

    def look_soon(self) -> None:
        self._soon.set()

    async def leave(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        self._connect_to(await self._in_thread(self.ownership.leave))
        for key in list(self._registry.keys()):
            await self._hand_over(key)
        await self._in_thread(self.ownership.forget)
        self._connect_to(await self._in_thread(self.ownership.standing))

    async def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
        await super().close()
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _look(self) -> None:
        self._soon.clear()
        try:
            await self.hear(await self._in_thread(self.ownership.tick))
            self._has_looked.set()
        except (LinkscoreError, OSError) as exc:
            _log.warning("the database does not say who has which crawl: %s", exc)
        with suppress(TimeoutError):  # not `wait_for`, which may not hear that the task is cancelled
            async with asyncio.timeout(TICK_S - _LEAST_S):
                await self._soon.wait()

    async def _beat(self) -> None:
        """Say that this server lives, however long it takes to close what is handed over."""
        with suppress(LinkscoreError, OSError):  # who looks says it
            await self._in_thread(self.ownership.beat)

    async def hear(self, standing: Standing) -> None:
        """Take in who has what, which may be some moments old."""
        self._connect_to(standing)
        here = set(self._registry.keys())
        await self._registry.forget_erased(here - standing.owners.keys())
        for key in here - standing.mine:
            if key in standing.owners:  # else it was made here since
                await self._registry.let_go(key)
        for key in here & standing.returned:
            await self._registry.let_go(key)
            self._registry.take(key)
        for key in standing.mine - here:
            self._registry.take(key)
        for key in standing.leaving:
            await self._hand_over(key)

    async def _hand_over(self, key: str) -> None:
        await self._registry.let_go(key)
        await self._in_thread(self.ownership.hand_over, key, self.best(key))

    def _connect_to(self, standing: Standing) -> None:
        """Connect to new servers; calls to those that are gone are ended."""
        self._standing = standing
        for gone in self._peers.keys() - standing.servers.keys():
            address, owner = self._peers.pop(gone)
            tasks.beside(owner.close(), f"closing {address}", self._closing)
        for new in standing.servers.keys() - self._peers.keys() - {self.ownership.number}:
            if address := standing.servers[new]:
                self._peers[new] = (address, self._connect(address))


@dataclass(frozen=True, slots=True)
class Share:
    """Which of several processes of fixed shares this is; `sockets` are where each listens for the others."""

    number: int = 0
    sockets: tuple[str, ...] = ("",)


class Front:
    """What answers callers, see the module; `share`: which of several processes of fixed shares this is."""

    def __init__(
        self,
        registry: CrawlRegistry,
        services: Mapping[str, Any],
        settings: Settings,
        metrics: Metrics,
        clock: Callable[[], float],
        share: Share,
    ) -> None:
        self._registry, self._settings, self._clock, self._share = registry, settings, clock, share
        self._local = LocalOwner(services, registry, metrics.registry)
        self.shares_port = len(share.sockets) > 1
        self._in_cluster, self._has_begun = registry.store.engine.is_shared, False
        self._peers: PeerServer | None = None
        if self._in_cluster or self.shares_port:
            self._peers = self._listening_to_peers()
        self.owners = self._cluster() if self._in_cluster else self._fixed_owners()
        self._known: dict[str, RoutedCrawl] = {}
        self._changes: set[asyncio.Task[Any]] = set()  # which go on when their callers give up
        self._of_all: dict[str, Callable[[Any, Any], Any]] = {
            "CrawlService/CreateCrawl": self._create,
            _UPDATE: self._update,
            "CrawlService/DeleteCrawl": self._delete,
            "CrawlService/GetServerInfo": self._server_info,
            "CrawlService/ListCrawls": self._list,
            "CrawlService/ListShards": self._list_shards,
        }  # in which more than the one who has the crawl take part

    def owns(self, shard: Shard) -> bool:
        """Say whether a shard may be of this process; of a cluster none is before it has begun."""
        if self._in_cluster:
            return self._has_begun
        return place_of(shard, len(self._share.sockets)) == self._share.number

    async def start(self) -> None:
        """Begin when the crawls are found; return when those of other processes can be reached."""
        if self._peers is not None:
            await self._peers.server.start()
        self._has_begun = True
        await self.owners.all_there()

    async def close(self) -> None:
        """Stop, when no caller is left; others are answered what they asked before they were told."""
        await asyncio.gather(*self._changes, return_exceptions=True)
        if self._peers is not None:
            await self._peers.server.stop(self._settings.drain_s)
        await self.owners.close()

    def _fixed_owners(self) -> Owners:
        most, sockets = self._settings.max_message_bytes, enumerate(self._share.sockets)
        return Owners([self._local if n == self._share.number else Peer(path, most) for n, path in sockets])

    def _cluster(self) -> Owners:
        assert self._peers is not None
        s, shown = self._settings, _shown_to_peers(self._settings)
        connect = partial(Peer, max_message_bytes=s.max_message_bytes, credentials=shown)
        return Cluster(self._local, self._registry, s.advertise or self._peers.address, connect)

    def _listening_to_peers(self) -> PeerServer:
        s, socket = self._settings, self._share.sockets[self._share.number]
        credentials = None
        if s.tls_client_ca and not socket:
            credentials = server_credentials(s.tls_cert, s.tls_key, s.tls_client_ca)
        return PeerServer(
            socket or s.peers_listen, self._local, self.call_of_peer, s.max_message_bytes, credentials
        )

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
                if self.owners.is_alone or not is_unavailable(exc) or not may_repeat(request):
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
        groups = Groups(crawl, self.owners, method, context)
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
            try:
                self._known[name] = await self._described(Shard(name, 0, groups))
            except KeyError:  # it was erased meanwhile
                raise CrawlNotFound.named(name) from None
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
        return await self.owners.reach(
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
        await tasks.kept(self._changed(first, changed, context), "a change of a crawl", self._changes)
        return pb.UpdateCrawlResponse(crawl=await self._read(first.crawl, context))

    async def _changed(self, first: Shard, request: pb.UpdateCrawlRequest, context: Any) -> None:
        await self._local.call(_UPDATE, request, context)
        try:
            await self._align(first)
        except (LinkscoreError, OSError) as exc:
            raise NotServing(
                f"crawl {first.crawl!r} was changed, and not all of its groups have heard of it: try again"
            ) from exc

    async def _delete(self, request: pb.DeleteCrawlRequest, context: Any) -> pb.DeleteCrawlResponse:
        """Delete a crawl: from the store, then from the memory of whoever has some of it."""
        name = parse_crawl(request.name, "name")
        self._known.pop(name, None)
        await self._first(name)
        await tasks.kept(self._erased(name), "a deletion of a crawl", self._changes)
        return pb.DeleteCrawlResponse()

    async def _erased(self, name: str) -> None:
        await self._registry.erase(name)
        for _, owner in self.owners.named():
            try:
                await owner.ask("drop", crawl=name)
            except LinkscoreError as exc:  # it can write nothing of it any more
                _log.warning("crawl %s is deleted, and a server has not heard of it: %s", name, exc)

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

            await self.owners.reach(shard, told)

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
        """List shards by crawl and group; before them each process that is silent."""
        crawl = parse_crawl(request.crawl) if request.crawl else ""
        there = [name for name in await self._registry.crawls() if CALLER.get().may_touch(name)]
        mine = [name for name in there if crawl in ("", name)]
        asked = [shards_at(*one, mine) for one in self.owners.named()]
        rows = sorted(
            chain.from_iterable(await asyncio.gather(*asked)),
            key=lambda row: (row.state != pb.SHARD_STATE_SILENT, row.crawl, row.group),
        )
        return pb.ListShardsResponse(shards=rows)


def _shown_to_peers(settings: Settings) -> grpc.ChannelCredentials | None:
    """Return what this process shows to others: its own certificate, where clients must have one."""
    if not settings.tls_client_ca:
        return None
    authorities, key, cert = (
        Path(path).read_bytes() for path in (settings.tls_client_ca, settings.tls_key, settings.tls_cert)
    )
    return grpc.ssl_channel_credentials(authorities, key, cert)
