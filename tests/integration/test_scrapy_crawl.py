"""Real Scrapy crawls, each in a process of its own, of a small site on loopback."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest

from support.crawlers import scrapy_run
from support.crawlers.page_server import serving_pages
from support.crawlers.scrapy_run import Run
from support.fake_linkscore import FakeLinkscore, serve
from support.forked import Script

PAGES = {
    "/home": ["/tag/1", "/thread/1", "/tag/2", "/thread/2", "/user/1", "/thread/drop"],
    "/thread/1": ["/thread/3", "/user/2"],
    "/tag/1": ["/thread/4"],
}


class Site:
    base: str
    seen: list[str]
    delay_s = 0.0

    def __init__(self) -> None:
        self.pages = deepcopy(PAGES)
        self.at: dict[int, Callable[[], object]] = {}

    def body_of(self, path: str) -> str | None:
        self.at.pop(len(self.seen), int)()
        time.sleep(self.delay_s)
        if path.startswith("/cut"):
            raise ConnectionAbortedError
        links = "".join(f'<p><a href="{href}">{href}</a></p>' for href in self.pages.get(path, []))
        return None if path.startswith("/missing") else f"<html><body>{links}</body></html>"


def headers_of(path: str) -> list[tuple[str, str]]:
    return [("Location", "/thread/new")] if path.startswith("/old") else []


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    with serving_pages(made.body_of, headers_of) as (host, made.seen):
        made.base = f"http://{host}"
        yield made


@pytest.fixture
def fake() -> Iterator[FakeLinkscore]:
    yield from serve(FakeLinkscore({"home": 0.5, "thread": 0.9, "user": 0.5, "tag": 0.1}))


NO_PROBES = {"PROBE_FIRST_S": 600, "PROBE_LONGEST_S": 600}
"""How many there are says how long a crawl takes, not what it does."""


def start(site: Site, **settings: Any) -> Script:
    one = {"CONCURRENT_REQUESTS": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}
    return scrapy_run.start(site.base, START=["/home"], **{**one, **settings})


def finish(process: Script) -> Run:
    run = scrapy_run.finish(process)
    assert "python/linkscore/" not in run.log, run.log
    return run


def crawl(site: Site, fake: FakeLinkscore, **settings: Any) -> dict[str, Any]:
    return finish(start(site, LINKSCORE_TARGET=f"127.0.0.1:{fake.port}", **settings)).stats


def kinds(site: Site) -> list[str]:
    return [path.split("/")[1] for path in site.seen]


def test_the_crawl_follows_the_buckets(site, fake) -> None:
    stats = crawl(site, fake)
    assert site.seen == [
        "/home",
        "/thread/1",
        "/thread/2",
        "/thread/drop",
        "/thread/3",
        "/user/1",
        "/user/2",
        "/tag/1",
        "/thread/4",
        "/tag/2",
    ]
    assert stats["linkscore/pages"] == 10
    assert stats["linkscore/scored"] == 9
    assert "linkscore/fallback" not in stats
    assert fake.crawls.keys() == {"crawls/site-spider"}


def test_a_crawl_without_the_queue_is_warned_of(site, fake) -> None:
    plain = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
    settings = plain | {"LINKSCORE_TARGET": f"127.0.0.1:{fake.port}"}
    assert "set SCHEDULER_PRIORITY_QUEUE" in finish(start(site, **settings))[1]
    watched = finish(start(site, **settings, LINKSCORE_OBSERVE_ONLY=True))[1]
    assert "set SCHEDULER_PRIORITY_QUEUE" not in watched


def test_new_values_reorder_the_frontier(site, fake) -> None:
    first = fake.value

    def after_two_threads(bucket: str) -> float:
        threads = sum("/thread/" in page.url for page in fake.pages)
        return {"tag": 0.95}.get(bucket, first(bucket)) if threads >= 2 else first(bucket)

    fake.value = after_two_threads
    crawl(site, fake)
    assert kinds(site)[:5] == ["home", "thread", "thread", "tag", "tag"]


def test_items_are_feedback(site, fake) -> None:
    stats = crawl(site, fake, LINKSCORE_REPORT_EMPTY=False)
    told = {f.url.removeprefix(site.base): f.item_count for f in fake.feedback}
    assert told == {"/thread/1": 1, "/thread/2": 1, "/thread/3": 1, "/thread/4": 1, "/thread/drop": 0}
    assert stats["linkscore/feedback"] == 5
    assert stats["item_scraped_count"] == 4
    assert all(f.ticket for f in fake.feedback)


def test_pages_without_items_count_once_there_are_items_and_tickets_travel_back(site, fake) -> None:
    crawl(site, fake)
    told = {f.url.removeprefix(site.base): f.item_count for f in fake.feedback}
    assert told["/tag/2"] == told["/user/1"] == 0
    assert "/home" not in told
    by_url = {page.url: page for page in fake.pages}
    assert by_url[f"{site.base}/home"].ticket == b""
    assert by_url[f"{site.base}/tag/2"].ticket == f"t:{site.base}/tag/2".encode()
    assert len({page.event_id for page in fake.pages}) == 10


def test_links_the_spider_made_are_scored_in_one_call(site, fake) -> None:
    crawl(site, fake, BUILT=["/thread/made", "/tag/made"])
    assert [u.removeprefix(site.base) for u in fake.scored] == ["/thread/made", "/tag/made"]
    assert fake.calls["ScoreLinks"] == 1
    assert kinds(site).index("user") > site.seen.index("/thread/made")


def test_a_link_found_again_in_a_better_bucket_waits_there_too(site, fake) -> None:
    site.pages["/thread/1"] = ["/tag/2"]
    fake.buckets_on = {("/thread/1", f"{site.base}/tag/2"): "best"}
    fake.values["best"] = 1.0
    stats = crawl(site, fake)
    assert site.seen[:3] == ["/home", "/thread/1", "/tag/2"]
    assert site.seen.count("/tag/2") == 1
    assert stats["linkscore/also_waits"] == 1


def test_failed_fetches_are_reported(site, fake) -> None:
    site.pages["/home"] += ["/missing/1", "/cut/1", "/old/1"]
    stats = crawl(site, fake)
    by_path = {page.url.removeprefix(site.base): page for page in fake.pages}
    assert by_path["/missing/1"].status_code == 404
    assert by_path["/cut/1"].fetch_error == "ResponseNeverReceived"
    assert by_path["/cut/1"].status_code == 0
    assert by_path["/cut/1"].ticket
    assert by_path["/old/1"].final_url == f"{site.base}/thread/new"
    assert stats["linkscore/failed"] == 1


def test_without_a_server_the_crawl_goes_on_in_scrapys_own_order(site) -> None:
    stats, err = finish(start(site, LINKSCORE_TARGET="127.0.0.1:1", **NO_PROBES))
    seen, site.seen[:] = list(site.seen), []
    finish(
        start(
            site,
            SPIDER_MIDDLEWARES={},
            SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.DownloaderAwarePriorityQueue",
            LINKSCORE_TARGET="127.0.0.1:1",
        )
    )
    assert seen == site.seen
    assert stats["linkscore/fallback"] == 9
    assert "linkscore/scored" not in stats
    assert stats["linkscore/errors/UNAVAILABLE"] <= 3  # the greeting, the page that waits for it, the end
    assert "the crawler's own order" in err
    assert stats["finish_reason"] == "finished"


@pytest.mark.long
def test_a_server_that_hangs_costs_one_deadline(site, fake) -> None:
    fake.hang.set()
    stats = crawl(site, fake, LINKSCORE_TIMEOUT=0.3, **NO_PROBES)
    assert len(site.seen) == 10
    assert fake.calls.keys() <= {"CreateCrawl"}
    # Settings are checked, the crawl is greeted, a page may come meanwhile, the end tries once more.
    assert fake.calls["CreateCrawl"] <= 4
    assert stats["linkscore/fallback"] == 9


@pytest.mark.long
def test_observing_changes_nothing(site, fake) -> None:
    stats = crawl(site, fake, LINKSCORE_OBSERVE_ONLY=True)
    seen, site.seen[:] = list(site.seen), []
    crawl(
        site,
        fake,
        SPIDER_MIDDLEWARES={},
        SCHEDULER_PRIORITY_QUEUE="scrapy.pqueues.DownloaderAwarePriorityQueue",
    )
    assert seen == site.seen
    assert stats["linkscore/pages"] == 10
    assert stats["linkscore/feedback"] >= 5
    assert "linkscore/scored" not in stats


@pytest.mark.long
def test_another_reactor_leaves_the_crawl_as_it_was(site, fake) -> None:
    settings = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}
    stats, err = finish(start(site, LINKSCORE_TARGET=f"127.0.0.1:{fake.port}", **settings))
    assert "linkscore needs Scrapy's asyncio reactor" in err
    assert len(site.seen) == 10
    assert not fake.calls
    assert stats["finish_reason"] == "finished"


def big_site(site: Site) -> None:
    site.pages = {"/home": [f"/{kind}/{i}" for i in range(20) for kind in ("tag", "user", "thread")]}
    site.delay_s = 0.02


@pytest.mark.long
@pytest.mark.parametrize("how", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL])
def test_a_stopped_crawl_resumes_in_bucket_order(site, fake, tmp_path, how) -> None:
    big_site(site)
    settings = {"JOBDIR": str(tmp_path / "job"), "LINKSCORE_TARGET": f"127.0.0.1:{fake.port}"}
    site.at[10] = lambda: process.send_signal(how)
    process = start(site, **settings)
    process.finish()
    before, site.seen[:] = list(site.seen), []
    assert 10 <= len(before) < 30
    stats, _ = finish(start(site, **settings))
    after = [path for path in site.seen if path != "/home"]
    fresh = [path for path in after if path not in before]
    assert sorted({*before, *after}) == sorted({"/home", *site.pages["/home"]})
    again = len(after) - len(fresh)
    assert again == 0 if how is signal.SIGINT else again <= 3
    expected = [p for kind in ("thread", "user", "tag") for p in site.pages["/home"] if f"/{kind}/" in p]
    assert fresh == [p for p in expected if p not in before]
    assert stats["finish_reason"] == "finished"
