"""A crawler whose URLs wait in `linkscore frontier`, in its simplest form: one fetch at a time.

``python -m linkscore_research.crawlers.frontier_crawler --start URL --target ADDRESS --frontier ADDRESS``.

It sends each page to linkscore, puts the links with what linkscore said of them, then the page as known.
While linkscore is away links are put without scores and pages are kept; what is said of their links later is
put then. Without a frontier it crawls breadth first, which is a frontier's order when it knows nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
import urllib.request
from collections import deque
from collections.abc import Iterable
from http.client import HTTPException
from typing import NamedTuple, Protocol
from urllib.error import HTTPError
from urllib.parse import urldefrag, urlsplit

import click
import grpc
import lxml.html
from lxml import etree

from linkscore import Row, page, rows, ticket_bytes, ticket_text
from linkscore.connection import Connection
from linkscore.outages import OwedPage
from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as scoring_pb2
from linkscore_frontier import urlfrontier_pb2 as pb
from linkscore_frontier.advice import BUCKET, SCORE, STATUS, TICKET, VALUE
from linkscore_frontier.urlfrontier_pb2_grpc import URLFrontierStub
from linkscore_lab.datasets.site import resolve

CRAWL = "frontier"
"""Crawl of linkscore that this crawler and its frontier ask about."""

# Longest wait for a site, and for a call of the frontier.
_PATIENCE_S = 60.0
# A frontier that gives nothing is asked again after so long; after `_PATIENCE_S` it is taken to be empty.
_PAUSE_S = 0.02
_FIRST_FAILURE = 400  # the first HTTP status of a fetch that failed (RFC 9110, section 15.5)


class Fetch(NamedTuple):
    """What a site answered: its HTTP status, 0 if it did not."""

    status: int
    final_url: str
    content_type: str
    body: bytes


class Waiting(Protocol):
    """URLs that wait."""

    async def put(self, items: Iterable[pb.URLItem]) -> None:
        """Take in URLs that were found or fetched."""

    async def take(self) -> pb.URLInfo | None:
        """Give the URL to fetch next; None if none is left."""


class BreadthFirst:
    """URLs that wait in the order they came."""

    def __init__(self) -> None:
        self._urls: deque[pb.URLInfo] = deque()
        self._seen: set[str] = set()

    async def put(self, items: Iterable[pb.URLItem]) -> None:
        """Take in URLs that were found; those known already are skipped."""
        for info in (item.discovered.info for item in items if item.HasField("discovered")):
            if info.url not in self._seen:
                self._seen.add(info.url)
                self._urls.append(info)

    async def take(self) -> pb.URLInfo | None:
        """Give the oldest."""
        return self._urls.popleft() if self._urls else None


class InFrontier:
    """URLs that wait in a frontier."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = URLFrontierStub(channel)

    async def put(self, items: Iterable[pb.URLItem]) -> None:
        """Take in URLs that were found or fetched, on the disk when it returns."""
        async for _ in self._stub.PutURLs(iter(list(items)), timeout=_PATIENCE_S):
            pass

    async def take(self) -> pb.URLInfo | None:
        """Give the best; None if it gave none for long."""
        asked = pb.GetParams(max_queues=1, max_urls_per_queue=1, delay_requestable=600)
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:
            given: list[pb.URLInfo] = [info async for info in self._stub.GetURLs(asked, timeout=_PATIENCE_S)]
            if given:
                return given[0]
            await asyncio.sleep(_PAUSE_S)
        return None

    async def without_delay(self) -> None:
        """Let a host be asked again at once: the site is one's own."""
        await self._stub.SetDelay(pb.QueueDelayParams(delay_requestable=0), timeout=_PATIENCE_S)


class FrontierCrawler:
    """One crawl."""

    def __init__(self, waiting: Waiting, target: str, proxy: str) -> None:
        self._waiting = waiting
        self.connection = Connection(target, crawl=CRAWL, adapter=self, config={}) if target else None
        self._http = urllib.request.build_opener(
            urllib.request.ProxyHandler({"http": proxy, "https": proxy} if proxy else {})
        )
        self._late: set[asyncio.Task[None]] = set()

    async def crawl(self, start: str, fetches: int) -> None:
        """Fetch so many pages, or all there are."""
        await self._waiting.put([_discovered(start)])
        for _ in range(fetches):
            info = await self._waiting.take()
            if info is None:
                break
            fetch = await asyncio.to_thread(self._fetch, info.url)
            click.echo(f"{fetch.status}\t{info.url}")
            await self._done(info, fetch)
        if self.connection is not None:
            await self.connection.close()
            await asyncio.gather(*self._late)

    def _fetch(self, url: str) -> Fetch:
        try:
            with self._http.open(url, timeout=_PATIENCE_S) as answer:
                return Fetch(answer.status, answer.url, answer.headers.get("Content-Type", ""), answer.read())
        except HTTPError as error:
            return Fetch(error.code, url, "", b"")
        except (OSError, HTTPException, ValueError):
            return Fetch(0, url, "", b"")

    async def _done(self, info: pb.URLInfo, fetch: Fetch) -> None:
        """Put the links of a page, and then the page: its lease ends when linkscore has answered."""
        items = []
        if 0 < fetch.status < _FIRST_FAILURE:
            items = await self._links(info, fetch)
        known = pb.KnownURLItem(info=info)
        known.info.metadata[STATUS].values[:] = [str(fetch.status or 503)]
        await self._waiting.put([*items, pb.URLItem(known=known)])

    async def _links(self, info: pb.URLInfo, fetch: Fetch) -> list[pb.URLItem]:
        """Give the links of a page to its own host, with what linkscore says of them if it answers."""
        host = urlsplit(info.url).hostname
        found = (urldefrag(link).url for link in _anchors(fetch))
        links = [link for link in dict.fromkeys(found) if _host(link) == host]
        if self.connection is None:
            return [_discovered(link) for link in links]
        sent = page(
            url=info.url,
            final_url=fetch.final_url if fetch.final_url != info.url else "",
            content_type=fetch.content_type,
            body=fetch.body,
            ticket=ticket_bytes("".join(info.metadata[TICKET].values)),
            outlinks=[common_pb2.Outlink(url=link) for link in links],
        )
        owed = OwedPage(sent, list(zip(links, range(len(links)), strict=True)))
        answer = await self.connection.ingest(owed)
        return [_discovered(link) for link in links] if answer is None else _scored(owed, answer)

    # What linkscore says later, as `Connection` wants it

    def late_page(self, owed: OwedPage, result: scoring_pb2.PageResult) -> None:
        """Put the links of a page again that was sent when linkscore was back."""
        task = asyncio.get_running_loop().create_task(self._waiting.put(_scored(owed, result)))
        self._late.add(task)
        task.add_done_callback(self._late.discard)


def _scored(owed: OwedPage, result: scoring_pb2.PageResult) -> list[pb.URLItem]:
    by_index = {row.index: row for row in rows(result.links) if row.usable}
    return [_discovered(url, by_index.get(index), is_asked=True) for url, index in owed.links]


def _discovered(url: str, row: Row | None = None, *, is_asked: bool = False) -> pb.URLItem:
    item = pb.URLItem(discovered=pb.DiscoveredURLItem(info=pb.URLInfo(url=url)))
    values = {BUCKET: ""} if is_asked else {}
    if row is not None:
        values = {BUCKET: row.bucket, SCORE: str(row.score), VALUE: str(row.bucket_value)}
        values[TICKET] = ticket_text(row.ticket)
    for name, value in values.items():
        item.discovered.info.metadata[name].values.append(value)
    return item


def _anchors(fetch: Fetch) -> list[str]:
    """Return where the anchors of a page lead."""
    try:
        hrefs = lxml.html.document_fromstring(fetch.body).xpath("//a/@href")
    except (etree.ParserError, etree.XMLSyntaxError):
        return []
    return [link for href in hrefs if (link := resolve(fetch.final_url, href))]


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:  # brackets that hold no address
        return None


async def _crawl(start: str, proxy: str, fetches: int, target: str, frontier: str) -> None:
    began = time.monotonic()
    if not frontier:
        crawler = FrontierCrawler(BreadthFirst(), target, proxy)
        await crawler.crawl(start, fetches)
    else:
        async with grpc.aio.insecure_channel(frontier) as channel:
            waiting = InFrontier(channel)
            await waiting.without_delay()
            crawler = FrontierCrawler(waiting, target, proxy)
            await crawler.crawl(start, fetches)
    counts = dict(crawler.connection.counts) if crawler.connection is not None else {}
    click.echo(f"{json.dumps(counts)} {time.monotonic() - began:.1f} s", err=True)


@click.command()
@click.option("--start", required=True, help="Where to start.")
@click.option("--proxy", default="", help="HTTP proxy, for example that of a stored site.")
@click.option("--fetches", default=500, help="Pages to fetch.")
@click.option("--target", default="", help="linkscore server; empty: pages are sent to nobody.")
@click.option("--frontier", default="", help="Where URLs wait; empty: in memory, breadth first.")
def main(start: str, proxy: str, fetches: int, target: str, frontier: str) -> None:
    """Crawl a site, and print what was fetched."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    asyncio.run(_crawl(start, proxy, fetches, target, frontier))


if __name__ == "__main__":
    sys.exit(main())
