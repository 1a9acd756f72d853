"""Who answers for a shard: the services of this process, or another process over a socket (`peers`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from linkscore_scoring.engine.groups import Shard
from linkscore_scoring.hashing import hash64
from linkscore_server.grpc.errors import NotServing
from linkscore_server.grpc.reading import ReadPages
from linkscore_server.routing.peer_queries import PeerQueries

INGEST, STREAM = "LinkScoringService/IngestPages", "LinkScoringService/StreamPages"
"""The calls that bring pages."""
_LOOK_S = 0.05  # between two looks whether another process answers; chosen, not measured
T = TypeVar("T")
Values = dict[str, Any]
"""What questions and their answers are made of: numbers, texts, bytes, lists and dicts of them."""


class Owner(Protocol):
    """Answers for the shards that are its own. Errors are those that the call shall end with."""

    async def call(self, method: str, request: Any, context: Any) -> Any:
        """Answer a call of the contract, ``Service/Method``, that has one request and one answer."""

    def stream(self, method: str, requests: AsyncIterator[Any], context: Any) -> AsyncGenerator[Any, None]:
        """Answer a stream with a stream."""

    async def collect(self, method: str, requests: AsyncIterator[Any], context: Any) -> Any:
        """Answer a stream with one message."""

    async def ask(self, question: str, **values: Any) -> Values:
        """Answer a question of `peer_queries`."""

    async def close(self) -> None:
        """Let go of what connects to it."""


class LocalOwner:
    """The services of this process.

    Parameters
    ----------
    services
        By name, see `grpc.contract.complete`.
    queries
        Answers what is beside the contract.
    """

    def __init__(self, services: Mapping[str, Any], queries: PeerQueries) -> None:
        self._services = services
        self._queries = queries

    def _method(self, method: str) -> Any:
        service, _, name = method.partition("/")
        return getattr(self._services[service], name)

    async def call(self, method: str, request: Any, context: Any) -> Any:
        """See `Owner.call`."""
        return await self._method(method)(request, context)

    def stream(self, method: str, requests: AsyncIterator[Any], context: Any) -> AsyncGenerator[Any, None]:
        """See `Owner.stream`."""
        found: AsyncGenerator[Any, None] = self._method(method)(requests, context)
        return found

    async def collect(self, method: str, requests: AsyncIterator[Any], context: Any) -> Any:
        """See `Owner.collect`."""
        return await self._method(method)(requests, context)

    async def ingest(self, request: Any, read: ReadPages, context: Any) -> Any:
        """Take in pages that another process has read."""
        return await self._method(INGEST)(request, context, read)

    async def ask(self, question: str, **values: Any) -> Values:
        """See `Owner.ask`."""
        return await self._queries.answer(question, values)

    async def close(self) -> None:
        """See `Owner.close`: there is nothing between."""


class Owners:
    """All owners of a server, and which of them has a shard: the same in every process.

    Parameters
    ----------
    owners
        In order of their numbers.
    own
        Number of this process.
    """

    def __init__(self, owners: Sequence[Owner], own: int = 0) -> None:
        self._owners = list(owners)
        self.own = own

    @property
    def all(self) -> Sequence[Owner]:
        """Each owner once."""
        return self._owners

    def named(self) -> list[tuple[str, Owner]]:
        """Return each owner once, with what people call it."""
        return [(f"worker {number}", owner) for number, owner in enumerate(self._owners)]

    @property
    def local(self) -> Owner:
        """That of this process."""
        return self._owners[self.own]

    @property
    def is_alone(self) -> bool:
        """Whether there is no other."""
        return len(self.all) == 1

    def about(self) -> Values:
        """Return what this process says to others that probe it."""
        return {}

    async def all_there(self) -> None:
        """Wait until every other process answers."""
        for owner in self.all:
            while owner is not self.local:
                try:
                    await owner.ask("names")
                    break
                except NotServing:
                    await asyncio.sleep(_LOOK_S)

    async def close(self) -> None:
        """Let go of the connections to others."""
        for owner in self.all:
            await owner.close()

    def of(self, shard: Shard) -> Owner:
        """Return who owns a shard."""
        return self.all[place_of(shard, len(self.all))]

    async def reach(
        self, shard: Shard, call: Callable[[Owner], Coroutine[Any, Any, T]], *, may_repeat: bool = True
    ) -> T:
        """Return the answer of who owns a shard to a call.

        Parameters
        ----------
        shard
            What the call is about.
        call
            Makes the call.
        may_repeat
            Whether it may be made again where nobody knows whether it was answered.
        """
        return await call(self.of(shard))

    def home(self, crawl: str) -> Owner:
        """Return who makes, changes and deletes a crawl: the owner of its first group."""
        return self.of(Shard(crawl))


def place_of(shard: Shard, n: int) -> int:
    """Return which of n processes owns a shard: groups of a crawl go round, crawls begin anywhere.

    Examples
    --------
    >>> [place_of(Shard("books", group, 4), 2) for group in range(4)]
    [0, 1, 0, 1]
    """
    return (hash64(shard.crawl) + shard.group) % n
