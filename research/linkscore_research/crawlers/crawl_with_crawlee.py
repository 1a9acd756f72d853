"""Crawls a site with Crawlee for Python, plain or in the order of a server, and prints what it fetched.

python crawl_with_crawlee.py --start http://shop.example/ --fetches 500 --target localhost:7411
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from datetime import timedelta
from typing import Any

from crawlee import ConcurrencySettings
from crawlee.crawlers import BeautifulSoupCrawler
from crawlee.proxy_configuration import ProxyConfiguration
from crawlee.storage_clients import MemoryStorageClient

from linkscore.crawlee import LinkscoreRequestManager


async def main() -> None:
    """Crawl as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--start", required=True, help="where to start")
    parser.add_argument("--target", default="", help="linkscore server; empty crawls in Crawlee's own order")
    parser.add_argument("--proxy", help="HTTP proxy, for example that of a stored site")
    parser.add_argument("--fetches", type=int, default=500, help="pages to fetch")
    parser.add_argument("--crawl", default="crawlee", help="name of the crawl on the server")
    given = parser.parse_args()
    manager = LinkscoreRequestManager(given.target, crawl=given.crawl) if given.target else None
    crawler = BeautifulSoupCrawler(
        request_manager=manager,
        storage_client=MemoryStorageClient(),
        max_requests_per_crawl=given.fetches,
        max_request_retries=0,
        concurrency_settings=ConcurrencySettings(desired_concurrency=1, max_concurrency=1),
        proxy_configuration=ProxyConfiguration(proxy_urls=[given.proxy]) if given.proxy else None,
        request_handler_timeout=timedelta(seconds=60),
        configure_logging=False,
    )
    if manager is not None:
        manager.attach(crawler)

    @crawler.post_navigation_hook  # type: ignore[untyped-decorator]
    async def fetched(context: Any) -> None:
        print(f"{context.http_response.status_code}\t{context.request.url}", flush=True)

    @crawler.router.default_handler  # type: ignore[untyped-decorator]
    async def handle(context: Any) -> None:
        await context.enqueue_links(strategy="same-hostname")

    began = time.monotonic()
    await crawler.run([given.start])
    counts = dict(manager.session.counts) if manager is not None else {}
    print(f"{counts} {time.monotonic() - began:.1f} s", file=sys.stderr)
    if manager is not None:
        await manager.close()


if __name__ == "__main__":
    asyncio.run(main())
