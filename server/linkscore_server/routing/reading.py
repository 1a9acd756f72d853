"""Pages are read by the process that a call reaches, and passed on as events to the one that has their sites.

An owner then applies what others have read. What decides an event beside its page (`ParseOptions`) is asked
of the owner once, goes with the events, and is compared with what holds there: a crawl may have changed
since, or the process be of another version. Then, and with one that does not know these calls, pages go as
they came.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from functools import partial
from typing import Any, NamedTuple

import grpc
import msgpack
from google.rpc import code_pb2

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.errors import LinkscoreError
from linkscore_scoring.urls.identity import host_of
from linkscore_server.access import crawl_of
from linkscore_server.crawls.libraries import load_for_reading, registrable_domain
from linkscore_server.grpc.errors import Forwarded, NotServing
from linkscore_server.grpc.reading import PageReader, ParseOptions, ReadPages
from linkscore_server.routing.owners import INGEST, STREAM
from linkscore_server.routing.peers import OWNER, Peer, answer_of, answers_of, meant_for
from linkscore_server.routing.scatter_gather import without
from linkscore_server.routing.streams import first_of, with_first
from linkscore_server.turns import Queue

READ_INGEST, READ_STREAM = "IngestPages", "StreamPages"
"""Methods of `peers.OWNER`: the calls that bring pages, where these are read already."""

_ASK_AGAIN_S = 10.0
"""Until an owner that did not say how pages are read is asked again. Chosen, not measured: one of another
version is replaced within minutes, one that takes a crawl over answers within seconds."""


class ReadCall(NamedTuple):
    """A request, empty where a page was read, and the pages that were."""

    request: Any
    read: ReadPages


class ReadingPeer(Peer):
    """Another process of the server, which gets pages as events; see `Peer`.

    Parameters
    ----------
    address, max_message_bytes, credentials
        As of `Peer`.
    reader
        Reads pages, in turn with those of this process.
    """

    def __init__(
        self,
        address: str,
        max_message_bytes: int,
        reader: PageReader,
        credentials: grpc.ChannelCredentials | None = None,
    ) -> None:
        super().__init__(address, max_message_bytes, credentials)
        self._reader = reader
        self._max_message_bytes = max_message_bytes
        self._told: dict[str, tuple[ParseOptions | None, float]] = {}
        self._ingest: Any = self.channel.unary_unary(
            f"/{OWNER}/{READ_INGEST}", packed, pb.IngestPagesResponse.FromString
        )
        self._stream: Any = self.channel.stream_stream(
            f"/{OWNER}/{READ_STREAM}", packed, pb.StreamPagesResponse.FromString
        )

    async def call(self, method: str, request: Any, context: Any) -> Any:
        """See `Owner.call`."""
        if method != INGEST or (options := await self._options(request.crawl)) is None:
            return await super().call(method, request, context)
        turn = self._reader.turns.of_call(crawl_of(request.crawl))
        call = await self._read(request, options, context, turn)
        await self.its_turn()
        try:
            return await answer_of(lambda: self._ingest(call, **meant_for(context)))
        except Forwarded as exc:
            if not _is_unknown(exc):
                raise
            self._told.pop(request.crawl, None)
            return await super().call(method, request, context)

    async def stream(
        self, method: str, requests: AsyncIterator[Any], context: Any
    ) -> AsyncGenerator[Any, None]:
        """See `Owner.stream`.

        Raises
        ------
        NotServing
            If pages of the crawl are read otherwise from now on: the stream has to be opened again.
        """
        first = await first_of(requests)
        messages = with_first(first, requests)
        if method != STREAM or first is None or (options := await self._options(first.crawl)) is None:
            answers = super().stream(method, messages, context)
        else:
            answers = self._streamed(first.crawl, messages, options, context)
        async with aclosing(answers):
            async for answer in answers:
                yield answer

    async def _streamed(
        self, crawl: str, messages: AsyncIterator[Any], options: ParseOptions, context: Any
    ) -> AsyncGenerator[Any, None]:
        async def read() -> AsyncIterator[ReadCall]:
            async for message in messages:
                turn = self._reader.turns.of_call(crawl_of(crawl), is_patient=True)
                yield await self._read(message, options, context, turn)

        await self.its_turn()
        begin = partial(self._stream, **meant_for(context))
        try:
            async with aclosing(answers_of(begin, read())) as answers:
                async for answer in answers:
                    yield answer
        except Forwarded as exc:
            if not _is_unknown(exc):
                raise
            self._told.pop(crawl, None)
            raise NotServing("the crawl has changed, open the stream again") from None

    async def _read(
        self, request: Any, options: ParseOptions, context: Any, turn: AbstractAsyncContextManager[Queue]
    ) -> ReadCall:
        """Read the pages of a request."""
        room = self._max_message_bytes - request.ByteSize()
        site_of = _domain if options.scope == "domain" else host_of
        pages = _pages_of(request)
        read = await self._reader.ahead(pages, options, site_of, context, turn, room)
        rest = without(request, "pages", "page")
        for page, event in zip(pages, read.events, strict=True):
            left = rest.pages.add() if isinstance(rest, pb.IngestPagesRequest) else rest.page
            if event is None:
                left.CopyFrom(page)
        return ReadCall(rest, read)

    async def _options(self, crawl: str) -> ParseOptions | None:
        """Return how pages of a crawl are read, None if they are to be passed on as they came."""
        options, asked_s = self._told.get(crawl, (None, -math.inf))
        if options is None and time.monotonic() - asked_s > _ASK_AGAIN_S:
            options = await self._asked(crawl)
            self._told[crawl] = options, time.monotonic()
        return options

    async def _asked(self, crawl: str) -> ParseOptions | None:
        try:
            options = ParseOptions.of_plain((await self.ask("reading", crawl=crawl))["how"])
        except (LinkscoreError, ValueError):  # away, of another version, or a crawl that is none: it says so
            return None
        if not self._reader.can(options):
            return None
        await asyncio.to_thread(load_for_reading, options.scope, options.words)
        return options


def packed(call: ReadCall) -> bytes:
    """Return the message by which pages that were read are passed on."""
    raw: bytes = msgpack.packb(
        [call.read.options.plain(), call.request.SerializeToString(), call.read.events]
    )
    return raw


def unpacked_call(raw: bytes) -> ReadCall:
    """Return the IngestPages call of a message."""
    return _unpacked(pb.IngestPagesRequest, raw)


def unpacked_message(raw: bytes) -> ReadCall:
    """Return the message of StreamPages of a message."""
    return _unpacked(pb.StreamPagesRequest, raw)


def _unpacked(kind: Any, raw: bytes) -> ReadCall:
    options, request, events = msgpack.unpackb(raw)
    return ReadCall(kind.FromString(request), ReadPages(ParseOptions.of_plain(options), events))


def _pages_of(request: Any) -> Sequence[common_pb2.Page]:
    return request.pages if isinstance(request, pb.IngestPagesRequest) else [request.page]


def _domain(url: str) -> str:
    return registrable_domain(host_of(url))


def _is_unknown(error: Forwarded) -> bool:
    """Say whether a process does not take pages as they were read, or knows no such call."""
    return bool(error.status.code == code_pb2.UNIMPLEMENTED)
