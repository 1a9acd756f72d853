"""Streams about a crawl of several groups: each message goes to its group, answers keep the order."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from linkscore.v1 import browse_log_service_pb2 as browse_pb
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.errors import InvalidInput
from linkscore_server import tasks
from linkscore_server.front.owners import Owners
from linkscore_server.front.parts import RoutedCrawl, gathered, name_event
from linkscore_server.services.errors import NotServing
from linkscore_server.services.messages import parse_crawl

_PAGES, _RECORDS = "LinkScoringService/StreamPages", "BrowseLogService/ImportBrowseRecords"


async def first_of(requests: AsyncIterator[Any]) -> Any:
    """Return the first message of a stream, None if there is none."""
    return await anext(requests, None)


async def with_first(first: Any, requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """Yield a message, if it is one, and those after it."""
    if first is not None:
        yield first
        async for request in requests:
            yield request


class GroupedStream:
    """One StreamPages call about groups of other processes too: a stream to each that a page was of.

    `window`: pages in work at a time.
    """

    def __init__(self, crawl: RoutedCrawl, owners: Owners, context: Any, window: int) -> None:
        self._crawl, self._owners, self._context = crawl, owners, context
        self._slots = asyncio.Semaphore(window)
        self._order: asyncio.Queue[asyncio.Future[Any] | None] = asyncio.Queue()  # answers, as pages came
        self._groups: dict[int, _Group] = {}
        self._pumping: set[asyncio.Task[None]] = set()
        self._feeding: asyncio.Task[None] | None = None

    def drain(self) -> None:
        """Take in nothing more; what was taken in is answered."""
        if self._feeding is not None:
            self._feeding.cancel()

    async def answers(self, requests: AsyncIterator[pb.StreamPagesRequest]) -> AsyncGenerator[Any, None]:
        """Yield the answers in the order of the pages."""
        feeding = self._feeding = tasks.awaited(self._feed(requests))
        try:
            while (answer := await self._order.get()) is not None:
                yield await answer
                self._slots.release()
            await asyncio.wait([feeding])
            if feeding.cancelled():
                raise NotServing("the server drains, open the stream again")
            feeding.result()
        finally:
            for task in (feeding, *self._pumping):
                task.cancel()

    async def _feed(self, requests: AsyncIterator[pb.StreamPagesRequest]) -> None:
        first: pb.StreamPagesRequest | None = None
        try:
            async for request in requests:
                first = first or request
                if request.crawl and parse_crawl(request.crawl) != self._crawl.name:
                    raise InvalidInput("must be the crawl of the first message", field="crawl")
                await self._slots.acquire()
                if self._crawl.groups > 1:
                    name_event(request.page)
                number = self._crawl.group_of_page(request.page)
                request.ClearField("crawl")
                if number not in self._groups:
                    request.crawl = self._crawl.resource(number)
                    request.encoding = first.encoding
                    if first.HasField("policy"):
                        request.policy.CopyFrom(first.policy)
                    self._open(number)
                group = self._groups[number]
                answer = asyncio.get_running_loop().create_future()
                group.waiting.append(answer)
                self._order.put_nowait(answer)
                group.requests.put_nowait(request)
            for group in self._groups.values():
                group.requests.put_nowait(None)
        finally:
            self._order.put_nowait(None)

    def _open(self, number: int) -> None:
        group = self._groups[number] = _Group()
        answers = self._owners.of(self._crawl.shards[number]).stream(_PAGES, group.sent(), self._context)
        tasks.beside(self._pump(group, answers), "answers of a group", self._pumping)

    async def _pump(self, group: _Group, answers: AsyncGenerator[Any, None]) -> None:
        try:
            async with aclosing(answers):
                async for answer in answers:
                    group.waiting.popleft().set_result(answer)
        except Exception as exc:
            if not group.waiting:  # so that it is heard of though nothing waits for the group
                group.waiting.append(asyncio.get_running_loop().create_future())
                self._order.put_nowait(group.waiting[0])
            for answer in group.waiting:
                answer.set_exception(exc)
                answer.exception()  # of several, one is raised


class _Group:
    """The part of a stream that goes to one group: what is sent, and who waits for its answers."""

    def __init__(self) -> None:
        self.requests: asyncio.Queue[pb.StreamPagesRequest | None] = asyncio.Queue()
        self.waiting: deque[asyncio.Future[Any]] = deque()

    async def sent(self) -> AsyncIterator[pb.StreamPagesRequest]:
        """Yield what is sent to the group."""
        while (request := await self.requests.get()) is not None:
            yield request


class GroupedImport:
    """One ImportBrowseRecords call about several groups.

    Each batch goes to every group, with the records of its sites: so each knows which batches there were.
    """

    def __init__(self, crawl: RoutedCrawl, owners: Owners, context: Any) -> None:
        self._crawl = crawl
        self._owners = owners
        self._context = context

    async def answer(
        self, requests: AsyncIterator[browse_pb.ImportBrowseRecordsRequest]
    ) -> browse_pb.ImportBrowseRecordsResponse:
        """Take in batches one after the other."""
        whole = browse_pb.ImportBrowseRecordsResponse()
        left_out: Counter[str] = Counter()
        async for request in requests:
            if request.crawl and parse_crawl(request.crawl) != self._crawl.name:
                raise InvalidInput("must be the crawl of the first message", field="crawl")
            parts = self._parts(request)
            found = await gathered([self._sent(group, part) for group, part in enumerate(parts)])
            status = _status_of([got.batches[0].status for got in found])
            whole.batches.add(batch_id=request.batch_id, status=status)
            for got in found:
                whole.record_count += got.record_count
                whole.visit_count += got.visit_count
                left_out.update(got.left_out)
        whole.left_out.update(left_out)
        return whole

    async def _sent(self, group: int, part: browse_pb.ImportBrowseRecordsRequest) -> Any:
        async def only() -> AsyncIterator[browse_pb.ImportBrowseRecordsRequest]:
            yield part

        part.crawl = self._crawl.resource(group)
        return await self._owners.reach(
            self._crawl.shards[group], lambda owner: owner.call(_RECORDS, only(), self._context)
        )

    def _parts(
        self, request: browse_pb.ImportBrowseRecordsRequest
    ) -> list[browse_pb.ImportBrowseRecordsRequest]:
        """Return what each group is to take in; all of a batch whose columns do not fit goes to the first."""
        columns = request.columns
        lengths = {len(columns.epoch_ms), len(columns.clients), len(columns.urls), len(columns.referrers)}
        if len(lengths) > 1 or any(url >= len(columns.texts) for url in columns.urls):
            return [request]
        parts = [
            browse_pb.ImportBrowseRecordsRequest(batch_id=request.batch_id, hosts=request.hosts)
            for _ in range(self._crawl.groups)
        ]
        parts[0].left_out.update(request.left_out)
        for record in request.records:
            parts[self._crawl.group_of_url(record.url)].records.append(record)
        groups = [self._crawl.group_of_url(text) for text in columns.texts]
        for row, url in enumerate(columns.urls):
            part = parts[groups[url]].columns
            if not part.texts:
                part.texts.extend(columns.texts)
            part.epoch_ms.append(columns.epoch_ms[row])
            part.clients.append(columns.clients[row])
            part.urls.append(url)
            part.referrers.append(columns.referrers[row])
        return parts


def _status_of(statuses: list[common_pb2.ItemStatus]) -> common_pb2.ItemStatus:
    """Return what became of a batch: not taken in if a group says so, a repeat if all of them do."""
    for code in (common_pb2.ITEM_CODE_INVALID, common_pb2.ITEM_CODE_OK):
        for status in statuses:
            if status.code == code:
                return status
    return statuses[0]
