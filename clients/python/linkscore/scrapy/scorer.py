"""Asks the server for scores and writes them into Requests."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

from linkscore.messages import Row, rows
from linkscore.scrapy.links import META, Answer, bucket_values, mark
from linkscore.scrapy.session import Session
from linkscore.scrapy.visits import is_web
from linkscore.v1 import common_pb2

_MAX_TICKETS = 200_000


class Scorer:
    """Turns pages into answers and answers into priorities."""

    def __init__(self, session: Session) -> None:
        self._session = session
        watching = session.config.observe_only
        self._encoding = (
            common_pb2.PRIORITY_ENCODING_UNSPECIFIED if watching else common_pb2.PRIORITY_ENCODING_SCRAPY
        )
        self._tickets: OrderedDict[str, bytes] | None = OrderedDict() if watching else None

    async def ingest(self, page: common_pb2.Page) -> Answer | None:
        """Send one page; None if the server does not answer or does not take the page."""
        config = self._session.config
        answer = await self._session.call(
            lambda client: client.ingest_pages(crawl=config.crawl, pages=[page], encoding=self._encoding)
        )
        if answer is None:
            return None
        self._session.count("pages")
        result = answer.results[0]
        if result.status.code == common_pb2.ITEM_CODE_INVALID:
            self._session.count("errors/INVALID_PAGE")
            return None
        found = Answer(result.links, page_type=result.page_type, thread_id=result.thread_id)
        self._keep_tickets(found)
        return found

    def ticket(self, url: str) -> bytes:
        """Give the ticket of a URL when only watching, where Requests carry none."""
        return self._tickets.pop(url, b"") if self._tickets else b""

    def _keep_tickets(self, found: Answer) -> None:
        if self._tickets is None:
            return
        for url, ticket in found.tickets():
            self._tickets.setdefault(url, ticket)
        while len(self._tickets) > _MAX_TICKETS:
            self._tickets.popitem(last=False)

    async def score(self, pending: asyncio.Task[Answer | None] | None, requests: list[Any]) -> list[Any]:
        """Write score, ticket, buckets and priority into Requests; on an outage give them as they are."""
        for request in requests:
            request.meta.pop(META, None)  # what a spider copied from the page before
        found = await asyncio.shield(pending) if pending is not None else None
        if found is None:
            self._session.count("fallback", len(requests))
            return requests
        pairs = await self._rows(found, requests)
        await self._session.rank_if_due(found.buckets)
        return [request for request, rows_, values in pairs if self._keep(request, rows_, values)]

    async def _rows(
        self, found: Answer, requests: list[Any]
    ) -> list[tuple[Any, list[Row], dict[str, float]]]:
        pairs = [(request, found.of(request.url), found.values) for request in requests]
        unknown = [request for request, rows_, _ in pairs if not rows_ and is_web(request.url)]
        if not unknown:
            return pairs
        asked = await self._ask(unknown)
        return [asked.get(id(request), (request, rows_, values)) for request, rows_, values in pairs]

    async def _ask(self, requests: list[Any]) -> dict[int, tuple[Any, list[Row], dict[str, float]]]:
        """Score the links the spider made itself, which stand in no anchor of the page."""
        config, urls = self._session.config, [request.url for request in requests]
        answer = await self._session.call(
            lambda client: client.score_links(crawl=config.crawl, links=urls, encoding=self._encoding)
        )
        if answer is None:
            return {}
        values = bucket_values(answer.links)
        return {
            id(requests[row.index]): (requests[row.index], [row], values)
            for row in rows(answer.links)
            if row.usable
        }

    def _keep(self, request: Any, found: list[Row], values: dict[str, float]) -> bool:
        if not found:
            self._session.count("fallback")
            return True
        if found[0].verdict == common_pb2.VERDICT_SKIP and self._session.config.obey_skip:
            self._session.count("skipped")
            return False
        mark(request, found, values)
        self._session.count("scored")
        return True
