"""Faults of crawls that people met elsewhere: what comes in the place of a page or of a site file."""

from __future__ import annotations

from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest

from linkscore.v1 import common_pb2, crawl_service_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from support.crawl_calls import described, ingest, score
from support.server_process import Stubs

IN_GROUPS_TOO = True
NewCrawl = Callable[..., str]
DAY_S, START_S, HOST = 86_400, 1_700_000_000, "http://a.test"
FEED = common_pb2.PAGE_KIND_FEED
ROBOTS = "User-agent: *\nContent-Signal: ai-train=no\n"
RESERVING = {
    "/robots.txt": ROBOTS,
    "/.well-known/tdmrep.json": '[{"location": "/", "tdm-reservation": 1}]',
}


def page(url: str, day: float = 0, body: str = "", **said: Any) -> common_pb2.Page:
    made = common_pb2.Page(url=url, status_code=said.pop("status", 200), **said)
    if body:
        made.body = body.encode()
    made.fetch_time.FromSeconds(START_S + int(day * DAY_S))
    return made


def text(number: int, version: int = 0, links: str = "") -> str:
    words = f"w{number}x{version} " * (20 + version)
    return f"<html><body><p>Page {number}, version {version}: {words}</p>{links}</body></html>"


def due(server: Stubs, crawl: str, day: float) -> list[str]:
    request = pb.RankRevisitsRequest(crawl=crawl)
    request.now.FromSeconds(START_S + int(day * DAY_S))
    return [each.url for each in server.links.RankRevisits(request).pages]


@pytest.fixture
def living(server: Stubs, new_crawl: NewCrawl) -> str:
    """Return a crawl that has fetched two pages on three days."""
    crawl = new_crawl(revisit=crawl_service_pb2.Revisit(fetches_per_day=2.0))
    for day in range(3):
        ingest(server, crawl, *(page(f"{HOST}/{n}", day, text(n)) for n in range(2)))
    return crawl


REDIRECT = {"body": text(9), "final_url": f"{HOST}/maintenance"}
HOURS, DAYS = (4.0, 4.2), (4.0, 5.5)


@pytest.mark.parametrize(
    ("then", "on", "asked_on"),
    [
        (REDIRECT, (4.0,), (5, 60, 371)),
        (REDIRECT, HOURS, (5, 60, 371)),
        (REDIRECT, DAYS, (371,)),
        (REDIRECT, (*DAYS, 404.0), ()),
        ({**REDIRECT, "final_url": "http://b.test/login"}, (4.0,), (5, 60, 371)),
        ({**REDIRECT, "final_url": "http://b.test/login"}, DAYS, (371,)),
        ({"status": 301}, DAYS, (371,)),
        ({"status": 404}, (4.0,), (371,)),
        ({"status": 410}, (4.0, 404.0), ()),
        ({"status": 503}, DAYS, (60, 371)),
        ({"fetch_error": "timeout"}, DAYS, (60, 371)),
        ({"body": "x" * 11_000_000}, DAYS, (60, 371)),  # larger than pages may be
        ({"body": "\x0b\1", "content_encoding": "br"}, DAYS, (60, 371)),  # cut
        ({"body": "x", "content_encoding": "gzip,br,br,br,br"}, DAYS, (60, 371)),
    ],
)
def test_a_page_is_asked_for_again_unless_it_has_moved_for_a_day_or_is_gone(
    server: Stubs, living: str, then: dict[str, Any], on: tuple[float, ...], asked_on: tuple[int, ...]
) -> None:
    for day in on:
        ingest(server, living, page(f"{HOST}/0", day, **then))
        assert f"{HOST}/0" not in due(server, living, day)
    days = [day for day in (5, 60, 371, 800) if day > on[-1]]
    assert [day for day in days if f"{HOST}/0" in due(server, living, day)] == [
        day for day in days if day in asked_on or (day == 800 and asked_on)
    ]


@pytest.mark.parametrize(
    ("host", "place"),
    [("feeds.h.example.com", 1), ("feeds.example.net", 20)],
)
def test_dates_of_a_feed_reach_pages_of_all_hosts_of_its_domain(
    server: Stubs, new_crawl: NewCrawl, host: str, place: int
) -> None:
    crawl = new_crawl(revisit=crawl_service_pb2.Revisit(fetches_per_day=2.0), groups=1)
    urls = [f"http://www.h.example.com/{n}" for n in range(20)]
    versions, dates = [0] * 20, [-5] * 20

    def feed(day: float) -> common_pb2.Page:
        items = (
            f"<item><link>{url}</link><pubDate>{formatdate(START_S + date * DAY_S)}</pubDate></item>"
            for url, date in zip(urls, dates, strict=True)
        )
        return page(f"http://{host}/feed", day, f"<rss><channel>{''.join(items)}</channel></rss>", kind=FEED)

    for day in range(0, 40, 2):
        for n in range(20):
            if day and (7 * n + day) % 20 < 3:
                versions[n], dates[n] = versions[n] + 1, day - 1
        ingest(server, crawl, feed(day - 0.01))
        ingest(server, crawl, *(page(url, day, text(n, versions[n])) for n, url in enumerate(urls)))
    dates[3] = 39
    ingest(server, crawl, feed(39.5))
    assert due(server, crawl, 40).index(urls[3]) == place - 1


@pytest.mark.parametrize("name", RESERVING)
@pytest.mark.parametrize(
    ("then", "is_lifted"),
    [
        *(({"status": status}, False) for status in (0, 302, 304, 408, 425, 429, 500, 503, 599)),
        *(({"status": status}, True) for status in (401, 403, 404, 410)),
        ({"body": "oops", "status": 500}, False),
        ({"fetch_error": "timeout"}, False),
        ({"body": "<!doctype html><p>Maintenance"}, False),
        ({"body": "<p>Log in", "final_url": f"{HOST}/login"}, False),
        ({"body": "<p>Log in", "final_url": "http://b.test/login"}, False),
        ({"body": "\x1f\x8b\x08 packed, it says"}, False),
        ({"body": " ", "status": 302}, False),
        *(({"body": body}, False) for body in ("null", '{"error": 1}', "Back soon", "7")),
    ],
)
def test_only_a_file_that_is_gone_lifts_what_it_reserved(
    server: Stubs, new_crawl: NewCrawl, name: str, then: dict[str, Any], is_lifted: bool
) -> None:
    crawl = new_crawl(respect=["ai-train"])
    ingest(server, crawl, page(HOST + name, 0, RESERVING[name]), page(HOST + name, 1, **then))
    assert list(score(server, crawl, f"{HOST}/1").links.skip_reasons) == (
        [] if is_lifted else [common_pb2.SKIP_REASON_RESPECT]
    )


@pytest.mark.parametrize(
    "final", ["https://a.test/robots.txt", "https://www.a.test/robots.txt", "http://b.test/r"]
)
def test_rules_found_behind_a_redirect_are_those_of_the_host_that_was_asked(
    server: Stubs, new_crawl: NewCrawl, final: str
) -> None:
    crawl = new_crawl(respect=["ai-train"])
    ingest(server, crawl, page(f"{HOST}/robots.txt", 0, ROBOTS, final_url=final))
    reserved = [common_pb2.SKIP_REASON_RESPECT]
    assert list(score(server, crawl, f"{HOST}/1").links.skip_reasons) == reserved
    https = score(server, crawl, "https://a.test/1").links.skip_reasons
    assert list(https) == (reserved if final.startswith("https://a.test") else [])
    assert not score(server, crawl, "http://b.test/1").links.skip_reasons


def test_redirects_to_another_site_spend_what_the_asked_one_has(server: Stubs, new_crawl: NewCrawl) -> None:
    crawl = new_crawl(budget=crawl_service_pb2.Budget(max_site_fetches=5))
    for n in range(8):
        ingest(server, crawl, page(f"{HOST}/out?{n}", n, text(n), final_url=f"http://b.test/{n}"))
    link = '<a href="/more">more</a>'
    pages = [page(f"http://{host}.test/own", 9, text(20, links=link)) for host in ("a", "b")]
    found = [list(each.links.skip_reasons) for each in ingest(server, crawl, *pages)]
    assert found == [[common_pb2.SKIP_REASON_SITE_STOPPED], []]
    there = described(server, crawl)
    assert there.page_count == 10


@pytest.mark.parametrize("scope", [crawl_service_pb2.CRAWL_SCOPE_HOST, crawl_service_pb2.CRAWL_SCOPE_DOMAIN])
@pytest.mark.parametrize(
    ("final", "by_link", "is_inside"),
    [("http://b.test", True, False), ("http://www.a.test", True, True), ("http://b.test", False, True)],
)
def test_a_redirect_behind_a_link_brings_no_other_domain_into_the_crawl(
    server: Stubs, new_crawl: NewCrawl, scope: int, final: str, by_link: bool, is_inside: bool
) -> None:
    """Of a seed it does; links back to the site that was asked are in the crawl."""
    crawl = new_crawl(scope=scope)
    (found,) = ingest(server, crawl, page(f"{HOST}/", 0, text(0, links='<a href="/out">out</a>')))
    ticket = found.links.ticket_values[0] if by_link else b""
    links = f'<a href="/more">more</a><a href="{HOST}/back">back</a>'
    there = page(f"{HOST}/out", 0, text(1, links=links), final_url=f"{final}/", ticket=ticket)
    (behind,) = ingest(server, crawl, there)
    assert (list(behind.links.in_scope) or [True] * 2) == [is_inside, True]


@pytest.mark.parametrize(("scheme", "port"), [("http", ":80"), ("http", ":0080"), ("https", ":443")])
def test_a_default_port_is_no_part_of_a_url(
    server: Stubs, new_crawl: NewCrawl, scheme: str, port: str
) -> None:
    crawl = new_crawl(revisit=crawl_service_pb2.Revisit(), respect=["ai-train"])
    plain, with_port = f"{scheme}://h.test", f"{scheme}://H.test{port}"
    links = "".join(f'<a href="{host}{path}">x</a>' for host in (plain, with_port) for path in ("/a", "/x/1"))
    rule = "User-agent: *\nContent-Signal: /x/ ai-train=no\n"
    _, one, again = ingest(
        server,
        crawl,
        page(f"{with_port}/robots.txt", 0, rule),
        page(f"{with_port}/a", 0, text(1, links=links)),
        page(f"{plain}/a", 1, text(1)),
    )
    assert list(one.links.urls) == [f"{plain}/a", f"{plain}/x/1"] * 2
    assert list(one.links.skip_reasons) == [0, common_pb2.SKIP_REASON_RESPECT] * 2
    assert (one.site, again.changed_share) == (f"{crawl}/sites/h.test", 0.0)
    assert len(due(server, crawl, 400)) == 1
    notices = pb.NotifyChangedRequest(crawl=crawl, urls=[f"{with_port}/a", f"{plain}/a"])
    outcomes = [each.outcome for each in server.links.NotifyChanged(notices).statuses]
    assert outcomes == [pb.NOTICE_OUTCOME_NOTED, pb.NOTICE_OUTCOME_REPEATED]
    request = pb.RankRevisitsRequest(crawl=crawl, site="H.test:80")
    assert len(server.links.RankRevisits(request).pages) == 1
