"""Revisits of a crawl of several groups are those of one group: what a page is worth needs no other page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from linkscore import Client, page
from linkscore.v1 import common_pb2 as common
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.server_process import ServerProcess, serving

pytestmark = pytest.mark.long

GROUPS = 5
SITES = [f"living{n}.test" for n in range(9)]
PAGES = 6
START = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: float) -> datetime:
    return START + timedelta(days=number)


def url(site: str, n: int) -> str:
    return f"http://{site}/page/{n}"


def page_at(site: str, n: int, number: int) -> common.Page:
    """Return a page as it is on a day: each has an interval of its own, one in three has none."""
    version = number // (2 + n) if n % 3 else 0
    text = f"Page {n} of {site}, version {version}, says this. " + f"word{version * 7} " * (9 + version)
    made = page(url=url(site, n), body=f"<p>{text}</p>".encode(), content_type="text/html")
    made.fetch_time.FromDatetime(day(number))
    made.event_id = f"{site} {n} {number}"
    return made


class Living:
    """Fetches, hears and asks the same of a crawl whatever its groups."""

    def __init__(self, client: Client, crawl: str, groups: int) -> None:
        self.client, self.crawl = client, crawl
        client.create_crawl(crawl=crawl, groups=groups, revisit={"fetches_per_day": 3.0})

    def live(self, days: range) -> list[Any]:
        """Fetch for some days; returns what was said of each page, and of each notice."""
        said: list[Any] = []
        for number in days:
            pages = [page_at(site, n, number) for n in range(PAGES) for site in SITES]
            said += [
                (result.changed_share, result.change_rate, result.next_fetch_time.seconds)
                for result in self.client.ingest_pages(crawl=self.crawl, pages=pages).results
            ]
        return said

    def hear(self, number: float) -> list[Any]:
        """Pass on notices, some about nothing, and sitemaps with dates; returns what was said of each."""
        urls = [url(site, n) for n in (1, PAGES) for site in SITES]
        urls[3:3] = ["ftp://x.test/", url(SITES[0], 1), "no url"]
        statuses = self.client.notify_changed(crawl=self.crawl, urls=urls, change_time=day(number)).statuses
        sent = [
            page(url=asked, body=sitemap(asked, number), kind=common.PAGE_KIND_SITEMAP)
            for asked in (f"http://{site}/{name}.xml" for name in ("index", "map") for site in SITES)
        ]
        results = self.client.ingest_pages(crawl=self.crawl, pages=sent).results
        return [
            *((each.outcome, [problem.field for problem in each.problems]) for each in statuses),
            *(list(each.links.urls) for each in results),
        ]

    def due(self, number: float, most: int, site: str = "") -> pb.RankRevisitsResponse:
        return self.client.rank_revisits(crawl=self.crawl, site=site, max_results=most, now=day(number))


def sitemap(asked: str, number: float) -> bytes:
    site = asked.split("/")[2]
    if asked.endswith("index.xml"):
        return f"<sitemapindex><sitemap><loc>http://{site}/map.xml</loc></sitemap></sitemapindex>".encode()
    date = day(number).strftime("%Y-%m-%d")
    entries = (f"<url><loc>{url(site, n)}</loc><lastmod>{date}</lastmod></url>" for n in range(3))
    return f"<urlset>{''.join(entries)}</urlset>".encode()


def told(answer: pb.RankRevisitsResponse, crawl: str) -> list[str]:
    return [str(due).replace(f"crawls/{crawl}/", "") for due in answer.pages]


@pytest.fixture(scope="module", params=[1, 2], ids=["one_process", "two_processes"])
def process(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    workers = ("--workers", str(request.param)) if request.param > 1 else ()
    with serving(tmp_path_factory.mktemp("living"), *workers) as running:
        yield running


def test_several_groups_answer_as_one(process: ServerProcess) -> None:
    with Client(process.target) as client:
        one, many = (Living(client, f"living-{groups}", groups) for groups in (1, GROUPS))
        assert one.live(range(0, 12, 2)) == many.live(range(0, 12, 2))
        assert one.hear(11.5) == many.hear(11.5)
        assert one.live(range(12, 16, 2)) == many.live(range(12, 16, 2))
        assert one.hear(16.0) == many.hear(16.0)
        for size in (7, 10_000):
            whole, merged = one.due(20.0, size), many.due(20.0, size)
            assert told(merged, many.crawl) == told(whole, one.crawl)
        alone = [living.due(20.0, 4, site=SITES[4]) for living in (one, many)]
        assert told(alone[1], many.crawl) == told(alone[0], one.crawl)
