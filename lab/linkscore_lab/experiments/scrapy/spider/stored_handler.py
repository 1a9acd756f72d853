"""Ask one loopback server for every URL, while the crawl sees the original ones, https included."""

from __future__ import annotations

from urllib.parse import urlsplit

from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.http import Response


class StoredSiteHandler(HTTP11DownloadHandler):  # type: ignore[misc]
    """Download handler that sends ``https://host/path`` to the server of a stored site, named in the plan.

    The original host and scheme travel in ``Host`` and ``X-Forwarded-Proto``, as behind a reverse proxy; the
    response carries the original URL.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._via = urlsplit(crawler.spider.plan.via).netloc

    async def download_request(self, request: Request) -> Response:
        """Return the stored answer under the URL that was asked for."""
        response: Response = await super().download_request(self._redirected(request))
        return response.replace(url=request.url)

    def _redirected(self, request: Request) -> Request:
        parts = urlsplit(request.url)
        stored = request.replace(url=parts._replace(scheme="http", netloc=self._via).geturl())
        stored.headers["Host"] = parts.netloc
        stored.headers["X-Forwarded-Proto"] = parts.scheme
        return stored
