"""A crawler of your own in linkscore's order: ``python crawl.py http://127.0.0.1:8800/``."""

from __future__ import annotations

import argparse
import asyncio
import re
from urllib.error import URLError
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.request import urlopen

from linkscore.session import CrawlSession, Found


async def main() -> None:
    """Fetch pages of one site, best first."""
    parser = argparse.ArgumentParser(description="Crawl a site, best pages first.")
    parser.add_argument("start")
    parser.add_argument("--target", default="localhost:7411", help="the linkscore server")
    parser.add_argument("--fetches", type=int, default=200)
    given = parser.parse_args()
    session = CrawlSession(given.target, crawl="own")
    session.frontier.add_seed(given.start)
    for _ in range(given.fetches):
        if (item := await session.take()) is None:
            break
        try:
            code, kind, body = await asyncio.to_thread(fetch, item.url)
        except URLError as error:
            await session.failed(
                item.url, status_code=getattr(error, "code", 0), fetch_error=str(error), ticket=item.ticket
            )
            session.done(item)
            continue
        links = [Found(url) for url in links_of(item.url, body)]
        await session.fetched(item.url, body, links, status_code=code, content_type=kind, ticket=item.ticket)
        await session.reward(item.url, worth(body), ticket=item.ticket)
        session.done(item)
        print(item.url, flush=True)
    print(dict(session.counts))
    await session.close()


def fetch(url: str) -> tuple[int, str, bytes]:
    """Return status, content type and body."""
    with urlopen(url, timeout=10) as answer:
        return answer.status, answer.headers.get("Content-Type", ""), answer.read()


def links_of(url: str, body: bytes) -> list[str]:
    """Return the links of a page that stay on its host, in their order. A real crawler parses the HTML."""
    found = re.findall(r'<a\s[^>]*href="([^"]+)"', body.decode(errors="replace"))
    absolute = [urldefrag(urljoin(url, href)).url for href in found]
    return [link for link in dict.fromkeys(absolute) if urlsplit(link).netloc == urlsplit(url).netloc]


def worth(body: bytes) -> float:
    """Return what a page is worth to you, from 0 to 1: here whether it has posts."""
    return float(b'class="post"' in body)


if __name__ == "__main__":
    asyncio.run(main())
