"""Links of more sites than fit in memory have the scores that they have where all sites fit."""

from __future__ import annotations

from linkscore import AsyncClient, page
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_server.app import Application
from linkscore_server.settings import Settings

SITES = [f"http://s{n}.test/" for n in range(120)]
LINKS = [f"{site}p/{n}" for n in range(3) for site in SITES]


def body(site: str) -> bytes:
    links = "".join(f"<li><a href='{site}p/{n}'>Part {n} of {site}</a></li>" for n in range(30))
    return f"<h1>{site}</h1><ul>{links}</ul><p>{site * 60}</p>".encode()


async def scored(site_memory_mb: int, links: list[str]) -> tuple[int, pb.ScoreLinksResponse]:
    """Return how many sites were not in memory, and the answer."""
    app = Application(
        Settings(listen="127.0.0.1:0", metrics_listen="", data_dir="memory", site_memory_mb=site_memory_mb)
    )
    await app.start()
    try:
        async with AsyncClient(app.address) as client:
            await client.create_crawl(crawl="c")
            for at in range(0, len(SITES), 10):
                pages = [
                    page(url=site, body=body(site), content_type="text/html") for site in SITES[at : at + 10]
                ]
                await client.ingest_pages(crawl="c", pages=pages)
            away = (await app.registry.open("c")).model.sites.away_count
            return away, await client.score_links(crawl="c", links=links)
    finally:
        await app.stop()


async def test_what_is_scored_some_sites_at_a_time_is_what_is_scored_at_once() -> None:
    links = [*LINKS, "no url", SITES[7]]
    away, found = await scored(1, links)
    none_away, expected = await scored(1_000, links)
    assert away > 80
    assert none_away == 0
    assert found == expected
    assert len(found.links.scores) == len(links)
    assert list(found.links.statuses) == [360]
