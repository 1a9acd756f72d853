"""Questions about more sites than fit in memory have the answers that they have where all sites fit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from linkscore import AsyncClient, page
from linkscore.v1 import common_pb2
from linkscore_server.app import Application
from linkscore_server.settings import Settings

SITES = [f"http://s{n}.test/" for n in range(120)]
LINKS = [*(f"{site}p/{n}" for n in range(3) for site in SITES), "no url", SITES[7]]
START = datetime(2026, 1, 1, tzinfo=UTC)


def fetched(site: str, n: int, day: int) -> common_pb2.Page:
    """A page as it is on a day: each third site has other text then."""
    links = "".join(f"<li><a href='{site}p/{i}'>Part {i} of {site}</a></li>" for i in range(30))
    text = f"{site} of {day if n % 3 else 0} " * 40
    body = f"<h1>{site}</h1><ul>{links}</ul><p>{text}</p>".encode()
    time = START + timedelta(days=day, minutes=n)
    return page(url=site, body=body, content_type="text/html", fetch_time=time)


async def answered(site_memory_mb: int) -> tuple[int, list[Any]]:
    """How many sites a server had not in memory after two fetches of each, and its answers."""
    app = Application(
        Settings(listen="127.0.0.1:0", metrics_listen="", data_dir="memory", site_memory_mb=site_memory_mb)
    )
    await app.start()
    try:
        async with AsyncClient(app.address) as client:
            await client.create_crawl(crawl="c", revisit={})
            for day in (0, 5):
                pages = [fetched(site, n, day) for n, site in enumerate(SITES)]
                await client.ingest_pages(crawl="c", pages=pages)
            away = (await app.registry.open("c")).model.sites.away_count
            answers = [
                await client.rank_revisits(crawl="c", now=START + timedelta(days=days), max_results=8)
                for days in (5, 6, 200, 999)  # at last all pages have waited too long
            ]
            return away, [await client.score_links(crawl="c", links=LINKS), *answers]
    finally:
        await app.stop()


async def test_questions_about_more_sites_than_fit_in_memory_have_the_same_answers() -> None:
    away, found = await answered(1)
    none_away, expected = await answered(1_000)
    assert away > 80
    assert none_away == 0
    assert found == expected
    scored, *due = found
    assert len(scored.links.scores) == len(LINKS)
    assert list(scored.links.statuses) == [360]
    assert [len(answer.pages) for answer in due] == [0, 8, 8, 8]
