"""What a site says about uses of its pages, in files that no spider asks for."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, signals
from scrapy.http.request import NO_CALLBACK

from linkscore.messages import failed_page, page
from linkscore.outages import OwedPage
from linkscore.scrapy.engine import download
from linkscore.scrapy.session import Session
from linkscore.session import FIRST_FAILURE
from linkscore.v1 import common_pb2

logger = logging.getLogger("linkscore")

FILES = ("/robots.txt", "/.well-known/tdmrep.json")

_MAX_AGE_S = 86_400.0
"""Files older than a day are fetched again, as RFC 9309, section 2.4, has it for `robots.txt`."""
_MAX_KEPT = 1_000  # files of hosts none of whose pages came yet: a bound
_MAX_BYTES = 500 * 1024  # the server reads no more


class SiteFiles:
    """Sends `robots.txt` and `tdmrep.json` of each host before the first of its pages.

    What Scrapy fetched for `ROBOTSTXT_OBEY` is not fetched again. A file that cannot be had says nothing.
    """

    def __init__(self, crawler: Any, session: Session) -> None:
        self._crawler, self._session = crawler, session
        self._hosts: dict[str, tuple[float, asyncio.Task[None]]] = {}
        self._there: dict[str, common_pb2.Page] = {}
        crawler.signals.connect(self._received, signals.response_received)

    async def before(self, url: str) -> None:
        """Wait until the server has the files of the host of a URL."""
        parts = urlsplit(url)
        host = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        since, sending = self._hosts.get(host, (0.0, None))
        if sending is None or time.monotonic() - since > _MAX_AGE_S:
            sending = self._session.start(self._send(host))
            self._hosts[host] = time.monotonic(), sending
        await asyncio.shield(sending)

    def _received(self, response: Any, request: Any, spider: Any = None) -> None:
        asked = (request.meta.get("redirect_urls") or [request.url])[0]
        if request.callback is NO_CALLBACK and urlsplit(asked).path in FILES:
            self._there[asked] = _message(asked, response)
            if len(self._there) > _MAX_KEPT:
                del self._there[next(iter(self._there))]

    async def _send(self, host: str) -> None:
        for path in FILES:
            url = host + path
            try:
                if url not in self._there:
                    await download(self._crawler, _request(url))
            except Exception as error:
                logger.debug("linkscore: %s cannot be had: %r", url, error)
            if (found := self._there.pop(url, None)) is not None:
                await self._session.connection.ingest(OwedPage(found))


def _request(url: str) -> Any:
    meta = {"dont_obey_robotstxt": True, "allow_offsite": True}
    return Request(url, callback=NO_CALLBACK, dont_filter=True, meta=meta)


def _message(url: str, response: Any) -> common_pb2.Page:
    if response.status >= FIRST_FAILURE:
        return failed_page(url=url, status_code=response.status)
    return page(url=url, body=response.body[:_MAX_BYTES], content_type="text/plain")
