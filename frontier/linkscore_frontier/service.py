"""The calls of URLFrontier's contract, and the process that serves them; those not here are UNIMPLEMENTED."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from linkscore.messages import FIRST_FAILURE
from linkscore.session import NOT_MODIFIED
from linkscore_frontier import urlfrontier_pb2 as pb
from linkscore_frontier import urlfrontier_pb2_grpc
from linkscore_frontier.crawls import (
    TICKET,
    Advisor,
    Crawls,
    FrontierMetrics,
    metadata_of,
    places_in,
    ticket_in,
)
from linkscore_frontier.store import Arrival, CrawlStore, Listed, State, Wish
from linkscore_server import tasks
from linkscore_server.observability import serve_metrics
from linkscore_server.operator_files import listening, server_credentials

_log = logging.getLogger(__name__)
SERVICE = pb.DESCRIPTOR.services_by_name["URLFrontier"].full_name

# Seconds in which the calls that give or take URLs end; streams of crawlers have no end, and are cut then.
_DRAIN_S = 5.0
_MAX_MESSAGE_BYTES = 1 << 16  # bound of a message: twice the most that is kept of a URL
# Calls under way at a time, open streams among them, of which 256 messages each are read ahead. A bound.
_MAX_CALLS = 250
_OPTIONS = [
    ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
    ("grpc.max_concurrent_streams", 100),  # over one connection, as linkscore's own server has it
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.so_reuseport", 0),
    ("grpc.http2.bdp_probe", 0),  # windows that grow hold messages nobody asked for
]
# Items of one stream that are read ahead, and written at once at most; more stay with the client.
_WINDOW = 256
_PAGE = 200  # URLs of one read of a list: 6 MB with the most metadata that is kept
_LIST = 100  # entries of a list that does not say how many it wants, as in URLFrontier
_LEASE_S = 30  # seconds of a lease that the crawler does not choose, as in URLFrontier
_MAX_URL_CHARS = 2_083  # longest URL taken: what linkscore takes
_MAX_ID_CHARS = 200  # characters of a crawl id, percent-encoded: what a file name takes
_MAX_KEY_BYTES = 1_024  # longest key of a queue, in bytes: a host has 253 characters; a bound
# Most bytes of metadata that are kept with a URL: StormCrawler's have some hundred. A bound.
_MAX_INFO_BYTES = 32_768
# Queues that one answer names at most: 2 MB of their longest names, and gRPC's own bound is 4.
_MAX_LISTED = 2_000
_MAX_DIGITS = 16  # digits of a time in seconds: those of the year 300 million; a bound
_STATUS = "fetch.statusCode"  # metadata in which StormCrawler keeps the HTTP status of a fetch
# Metadata of a fetched URL: when to fetch it again, in seconds since 1970: `PageResult.next_fetch_time`.
_NEXT = "linkscore.next"


class FrontierService(urlfrontier_pb2_grpc.URLFrontierServicer):
    """Answers the calls; the stores decide. `address` is what ListNodes names."""

    def __init__(self, crawls: Crawls, advisor: Advisor, metrics: FrontierMetrics) -> None:
        self.address = ""
        self._crawls = crawls
        self._advisor = advisor
        self._metrics = metrics

    async def _not_served(self, asked: Any, context: Any) -> None:
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "this frontier does not serve the call")

    PutDiscovered = PurgeURLs = SetLogLevel = _not_served

    # URLs

    async def PutURLs(
        self, request_iterator: AsyncIterator[pb.URLItem], context: Any
    ) -> AsyncIterator[pb.AckMessage]:
        """Take in URLs; what is acknowledged is on the disk."""
        async with aclosing(_batches(request_iterator)) as batches:
            async for items in batches:
                statuses = await self._put([_arrival(item) for item in items])
                for item, status in zip(items, statuses, strict=True):
                    yield pb.AckMessage(ID=item.ID or _info(item).url, status=status)

    async def _put(self, arrivals: Sequence[tuple[str, Arrival | None]]) -> list[pb.AckMessage.Status]:
        """Write URLs of one or several crawls; those that are none are skipped."""
        statuses = [pb.AckMessage.SKIPPED] * len(arrivals)
        by_crawl = defaultdict[str, list[tuple[int, Arrival]]](list)
        for at, (crawl, arrival) in enumerate(arrivals):
            if arrival is not None:
                by_crawl[crawl].append((at, arrival))
        for crawl, rows in by_crawl.items():
            written = await self._write(crawl, [arrival for _, arrival in rows])
            for (at, _), status in zip(rows, written, strict=True):
                statuses[at] = status
        for status in statuses:
            self._metrics.put.labels(pb.AckMessage.Status.Name(status)).inc()
        return statuses

    async def _write(self, crawl: str, arrivals: list[Arrival]) -> list[pb.AckMessage.Status]:
        now = time.time()
        try:
            written = await self._crawls.run(lambda: self._crawls.open(crawl).put(arrivals, now))
        except Exception as exc:  # too many crawls, or a full disk: the crawler sends them again
            _log.warning("%d URLs of crawl %s are refused: %s", len(arrivals), crawl, exc)
            return [pb.AckMessage.FAIL] * len(arrivals)
        self._advisor.failed(crawl, (one for one in arrivals if one.failed_status))
        return written

    async def GetURLs(self, request: pb.GetParams, context: Any) -> AsyncIterator[pb.URLInfo]:
        """Give the best URLs of the best queues, and lease them."""
        if not self._crawls.is_active:
            return
        with self._metrics.get_s.time():
            crawls = [_crawl(request.crawlID)] if request.HasField("crawlID") else self._named()
            wish = Wish(
                queues=request.max_queues,
                each=request.max_urls_per_queue,
                key=request.key,
                lease_s=request.delay_requestable or _LEASE_S,
                delay=self._crawls.delay_s,
            )
            await asyncio.gather(*(self._advisor.rank(crawl, wish) for crawl in crawls))
            given = await self._crawls.run(lambda: self._crawls.take(crawls, wish, time.time()))
        self._metrics.given.inc(len(given))
        for crawl, one in given:
            info = pb.URLInfo.FromString(one.info)
            info.url, info.key, info.crawlID = one.url, one.key, crawl
            if one.ticket:  # the page is worth something to the bucket it was taken from
                info.metadata[TICKET].CopyFrom(pb.StringList(values=[one.ticket]))
            yield info

    async def GetURLStatus(self, request: pb.URLStatusRequest, context: Any) -> pb.URLItem:
        """Say where a URL stands."""
        key, crawl = request.key or _host(request.url), _crawl(request.crawlID)
        found = await self._crawls.ask(crawl, lambda store: store.find(key, request.url))
        if found is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, f"url: not in queue {key} of crawl {crawl}")
        assert found is not None
        return _item(crawl, found)

    async def ListURLs(self, request: pb.ListUrlParams, context: Any) -> AsyncIterator[pb.URLItem]:
        """Give URLs in the order they came."""
        crawl, left, after, skip = _crawl(request.crawlID), request.size or _LIST, 0, request.start
        chosen: dict[str, Any] = {"key": request.key, "text": request.filter, "fold": request.ignoreCase}
        while left:
            most = min(left, _PAGE)
            portion = partial(CrawlStore.urls, after=after, most=most, skip=skip, **chosen)
            found = await self._crawls.ask(crawl, portion) or []
            for one in found:
                yield _item(crawl, one)
            if len(found) < most:
                return
            left, after, skip = left - len(found), found[-1].id, 0

    async def CountURLs(self, request: pb.CountUrlParams, context: Any) -> pb.Long:
        """Count URLs, done ones too."""
        count = await self._crawls.ask(
            _crawl(request.crawlID),
            lambda store: store.count_urls(key=request.key, text=request.filter, fold=request.ignoreCase),
        )
        return pb.Long(value=count or 0)

    # Queues and crawls

    async def ListNodes(self, request: pb.Empty, context: Any) -> pb.StringList:
        """Name this process, the only node."""
        return pb.StringList(values=[self.address])

    async def ListCrawls(self, request: pb.Local, context: Any) -> pb.StringList:
        """Name the crawls that have queues."""
        return pb.StringList(values=sorted(self._named()))

    def _named(self) -> list[str]:
        return [name for name, store in list(self._crawls.stores.items()) if store.queues]

    async def DeleteCrawl(self, request: pb.DeleteCrawlMessage, context: Any) -> pb.Long:
        """Delete a crawl; how many URLs were not done."""
        crawl = _crawl(request.value)
        await self._advisor.forget(crawl)
        return pb.Long(value=await self._crawls.run(lambda: self._crawls.delete(crawl)))

    async def ListQueues(self, request: pb.Pagination, context: Any) -> pb.QueueList:
        """Name queues by key: those with URLs that are not done and that are not blocked, or all."""
        crawl, now, start = _crawl(request.crawlID), time.time(), request.start
        found = (
            await self._crawls.ask(
                crawl,
                lambda store: sorted(
                    key
                    for key, queue in store.queues.items()
                    if request.include_inactive or (queue.active and queue.blocked < now)
                ),
            )
        ) or []
        names = found[start : start + min(request.size or _LIST, _MAX_LISTED)]
        return pb.QueueList(values=names, total=len(found), start=start, size=len(names), crawlID=crawl)

    async def GetStats(self, request: pb.QueueWithinCrawlParams, context: Any) -> pb.Stats:
        """Count what a queue or a crawl holds."""
        crawl, now = _crawl(request.crawlID), time.time()
        stats = await self._crawls.ask(crawl, lambda store: _stats(store, request.key, crawl, now))
        return stats or pb.Stats(crawlID=crawl)

    async def DeleteQueue(self, request: pb.QueueWithinCrawlParams, context: Any) -> pb.Long:
        """Delete a queue; how many URLs were not done."""
        gone = await self._crawls.ask(_crawl(request.crawlID), lambda store: store.delete_queue(request.key))
        return pb.Long(value=gone or 0)

    # Control

    async def SetActive(self, request: pb.Active, context: Any) -> pb.Empty:
        """Let GetURLs give URLs, or none; it stays so over restarts."""
        self._crawls.is_active = request.state
        await self._crawls.run(self._crawls.save)
        return pb.Empty()

    async def GetActive(self, request: pb.Local, context: Any) -> pb.Boolean:
        """Say whether GetURLs gives URLs."""
        return pb.Boolean(state=self._crawls.is_active)

    async def SetDelay(self, request: pb.QueueDelayParams, context: Any) -> pb.Empty:
        """Set how long a queue rests between two gifts, or all queues that have no delay of their own."""
        if request.key:
            await self._set(request, "delay", request.delay_requestable)
        else:
            self._crawls.delay_s = request.delay_requestable
            await self._crawls.run(self._crawls.save)
        return pb.Empty()

    async def BlockQueueUntil(self, request: pb.BlockQueueParams, context: Any) -> pb.Empty:
        """Let a queue give nothing until a time; 0 ends that."""
        await self._set(request, "blocked", min(request.time, 2**62))  # SQLite's integers are signed
        return pb.Empty()

    async def SetCrawlLimit(self, request: pb.CrawlLimitParams, context: Any) -> pb.Empty:
        """Bound how many URLs of a queue are fetched at all."""
        if not await self._set(request, "most", request.limit):
            crawl = _crawl(request.crawlID)
            rule = f"key: no queue {request.key} in crawl {crawl}"
            await context.abort(grpc.StatusCode.NOT_FOUND, rule)
        return pb.Empty()

    async def _set(self, request: Any, name: str, value: int) -> bool:
        crawl = _crawl(request.crawlID)
        return bool(await self._crawls.ask(crawl, lambda store: store.set_queue(request.key, name, value)))


async def _batches(items: AsyncIterator[pb.URLItem]) -> AsyncGenerator[list[pb.URLItem], None]:
    """Give what has come since the last batch: a write takes all that came during the one before."""
    coming: asyncio.Queue[pb.URLItem | None] = asyncio.Queue(_WINDOW)

    async def read() -> None:
        try:
            async for item in items:
                await coming.put(item)
        except Exception:  # raised again when what came before is written; who is cancelled has no reader
            await coming.put(None)
            raise
        await coming.put(None)

    reader, is_over = asyncio.create_task(read()), False
    try:
        while not is_over:
            found = [await coming.get()]
            while not coming.empty():
                found.append(coming.get_nowait())
            is_over = found[-1] is None
            if batch := [item for item in found if item is not None]:
                yield batch
        await reader  # raises what ended the stream
    finally:
        reader.cancel()


def _stats(store: CrawlStore, key: str, crawl: str, now: float) -> pb.Stats:
    store.sweep(now)
    queues = store.chosen(key)
    return pb.Stats(
        size=sum(queue.active for queue in queues),
        inProcess=sum(queue.states[State.LEASED] for queue in queues),
        counts={
            "completed": sum(queue.states[State.DONE] for queue in queues),
            "active_queues": sum(queue.active > 0 for queue in queues),
        },
        numberOfQueues=len(queues),
        crawlID=crawl,
    )


def _item(crawl: str, one: Listed) -> pb.URLItem:
    """Return a URL as lists show it: with the date from which it may be fetched, 0 if never again."""
    info = pb.URLInfo.FromString(one.info)
    info.url, info.key, info.crawlID = one.url, one.key, crawl
    due = 0 if one.state is State.DONE else one.due
    return pb.URLItem(
        known=pb.KnownURLItem(info=info, refetchable_from_date=due), ID=one.url, creation_date=one.created
    )


def _crawl(name: str) -> str:
    return name or "DEFAULT"  # as in URLFrontier


def _info(item: pb.URLItem) -> pb.URLInfo:
    return item.known.info if item.HasField("known") else item.discovered.info


def _arrival(item: pb.URLItem) -> tuple[str, Arrival | None]:
    """Read an item: its crawl, and what arrives; None if it is no URL of a queue."""
    info = _info(item)
    crawl, key = _crawl(info.crawlID), info.key or _host(info.url)
    if not (info.url and key) or len(info.url) > _MAX_URL_CHARS or len(quote(crawl, safe="")) > _MAX_ID_CHARS:
        return crawl, None
    metadata, kept = metadata_of(info), pb.URLInfo(metadata=info.metadata).SerializeToString()
    if len(key.encode()) > _MAX_KEY_BYTES or len(kept) > _MAX_INFO_BYTES:
        return crawl, None
    arrival = Arrival(info.url, key, kept, places_in(metadata))
    if item.HasField("known"):
        status = _number_in(metadata, _STATUS, most=3)
        # No filter sees a page that is as it was: what its metadata say is of the fetch before.
        next_date = 0 if status == NOT_MODIFIED else _number_in(metadata, _NEXT, most=_MAX_DIGITS)
        arrival.is_known, arrival.due = True, min(next_date or item.known.refetchable_from_date, 2**62)
        arrival.failed_status = status if status >= FIRST_FAILURE else 0
        arrival.ticket = ticket_in(metadata)
    return crawl, arrival


def _number_in(metadata: dict[str, list[str]], name: str, *, most: int) -> int:
    """Return a whole number of at most so many digits; 0 if there is none."""
    text = next(iter(metadata.get(name, ())), "")
    return int(text) if text.isdecimal() and len(text) <= most else 0


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


async def serve(options: Mapping[str, Any], *, client: Mapping[str, Any], tls: tuple[str, str, str]) -> None:
    """Serve with the options of the command until SIGTERM or SIGINT, then let calls end and close the files.

    OSError if an address, the folder or a file cannot be used.
    """
    stopping = tasks.asked_to_end()
    try:
        crawls = Crawls(options["data_dir"])
    except OSError as exc:
        raise OSError(f"--data-dir: {exc}") from exc
    metrics = FrontierMetrics(crawls)
    advisor = Advisor(crawls, metrics, target=options["target"], crawl=options["crawl"], **client)
    service = FrontierService(crawls, advisor, metrics)
    server = grpc.aio.server(maximum_concurrent_rpcs=_MAX_CALLS, options=_OPTIONS)
    urlfrontier_pb2_grpc.add_URLFrontierServicer_to_server(service, server)
    status = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    reflection.enable_server_reflection((SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
    credentials = server_credentials(*tls) if tls[0] else None
    try:
        service.address = listening(server, options["listen"], credentials)
    except RuntimeError as exc:
        raise OSError(f"listen: {exc}") from exc
    end_metrics = serve_metrics(options["metrics_listen"], metrics.registry)
    await server.start()
    for name in ("", SERVICE):
        await status.set(name, health_pb2.HealthCheckResponse.SERVING)
    _log.info("serving on %s, asking %s", service.address, options["target"])
    print(f"linkscore frontier serving on {service.address}", flush=True)  # the line scripts wait for
    await stopping.wait()
    await status.enter_graceful_shutdown()
    await server.stop(_DRAIN_S)
    await advisor.close()
    crawls.close()
    end_metrics()
