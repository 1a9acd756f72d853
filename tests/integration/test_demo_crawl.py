"""Real Scrapy crawls of a stored site on loopback: order, budget, drops, identity, feedback."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from linkscore_lab.crawls import crawl as modes
from linkscore_lab.crawls import demo
from linkscore_lab.crawls.child import Child, ChildFailed
from linkscore_lab.crawls.crawl import Crawl, Mode, run_crawl
from linkscore_lab.crawls.servers import running
from linkscore_lab.crawls.testbed import Testbed, warc_testbed
from linkscore_lab.datasets.demo_site import DemoSite
from linkscore_lab.datasets.survey import PageFacts, Survey, read_page
from support.command_line import run

SITE = DemoSite(5, "https://demo.test", n_threads=12, n_members=6)
LAST_IN_FIRST_OUT = Mode(
    "last_in_first_out", {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
)


def record(url: str, body: bytes) -> bytes:
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n")


def stored(folder: Path) -> tuple[Path, Path]:
    """Store the site without its calendar and permalinks: links that lead nowhere."""
    kept = {url: kind for url, kind in SITE.labels().items() if kind not in ("calendar", "thread_permalink")}
    warc, labels = folder / "demo.warc.gz", folder / "demo.labels.tsv.gz"
    warc.write_bytes(b"".join(record(url, SITE.respond(url).body) for url in kept))
    lines = ["url\tpage_type", *(f"{url}\t{kind}" for url, kind in kept.items())]
    labels.write_bytes(gzip.compress("\n".join(lines).encode()))
    return warc, labels


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return stored(tmp_path_factory.mktemp("stored"))


@pytest.fixture(scope="module")
def site_server(archive: tuple[Path, Path]) -> Iterator[Testbed]:
    with warc_testbed(*archive) as opened:
        yield opened


def crawl(site_server: Testbed, mode: Mode, budget: int, folder: Path, **wanted: frozenset[str]) -> Crawl:
    return run_crawl(site_server.target, mode, budget, log=folder / "crawl.log", **wanted)


def order(result: Crawl) -> list[str]:
    return [fetch.identity for fetch in result.fetches]


def test_breadth_first_is_the_surveys_order_and_stops_at_the_budget(
    site_server: Testbed, tmp_path: Path
) -> None:
    result = crawl(site_server, modes.breadth_first(), 40, tmp_path)
    assert order(result) == list(site_server.survey.pages)[:40]
    assert {fetch.status for fetch in result.fetches} == {200}


def test_links_without_a_record_are_dropped_and_counted(site_server: Testbed, tmp_path: Path) -> None:
    result = crawl(site_server, modes.breadth_first(), 10**6, tmp_path)
    assert sorted(order(result)) == sorted(site_server.survey.pages)
    assert 0 < result.dropped < result.stats["lab/links"]


def test_one_request_at_a_time_waits_for_the_links_of_the_page_before(
    site_server: Testbed, tmp_path: Path
) -> None:
    seen, stack, expected = {site_server.target.entry}, [site_server.target.entry], []
    while stack and len(expected) < 30:
        url = stack.pop()
        expected.append(url)
        for link in read_page(url, SITE.respond(url).body).links:
            if link in site_server.survey.pages and link not in seen:
                seen.add(link)
                stack.append(link)
    assert order(crawl(site_server, LAST_IN_FIRST_OUT, 30, tmp_path)) == expected


def test_many_requests_at_a_time_keep_the_budget(site_server: Testbed, tmp_path: Path) -> None:
    mode = modes.with_settings(modes.breadth_first(), {"CONCURRENT_REQUESTS": 8})
    result = crawl(site_server, mode, 25, tmp_path)
    assert len(set(order(result))) == 25
    assert result.stats["downloader/request_count"] == 25


def test_feedback_yields_an_item_for_each_wanted_page_fetched(site_server: Testbed, tmp_path: Path) -> None:
    breadth_first = modes.breadth_first()
    mode = Mode("told", breadth_first.settings, feedback=True)
    wanted = site_server.survey.of_types(["thread"])
    result = crawl(site_server, mode, 30, tmp_path, wanted=wanted)
    assert result.stats["item_scraped_count"] == len(wanted & set(order(result))) > 0


def test_a_crawl_that_cannot_start_says_why(site_server: Testbed, tmp_path: Path) -> None:
    with pytest.raises(ChildFailed, match="no_such_module"):
        crawl(site_server, Mode("broken", {"SCHEDULER": "no_such_module.Scheduler"}), 5, tmp_path)


def test_a_child_without_greeting_says_why(tmp_path: Path) -> None:
    with pytest.raises(ChildFailed, match="No module named"):
        Child.start("linkscore_lab.no_such_module", [], tmp_path / "log")


def test_the_demonstration_ends_with_a_table_and_a_report(
    archive: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(modes, "scored", lambda policy, *_, **__: Mode(policy, LAST_IN_FIRST_OUT.settings))
    console = Console(file=StringIO(), width=80)
    result = demo.run_demo(
        *archive, ["thread"], "20", "stand_in", tmp_path, service=running("127.0.0.1:1"), console=console
    )
    assert [row.name for row in result.rows] == ["breadth_first", "stand_in"]
    assert [row.metrics["fetched"] for row in result.rows] == [20, 20]
    report = result.report.read_text()
    assert "20 fetches" in report
    assert report.count('fill="none" stroke=') == 2
    assert str(result.report) in console.file.getvalue()  # type: ignore[attr-defined]


def test_the_demonstration_scores_by_a_server_that_runs_already(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def ran(**options: Any) -> SimpleNamespace:
        given.update(options)
        return SimpleNamespace(rows=[])

    monkeypatch.setattr(demo, "run_demo", ran)
    assert run("demo", "--target", "linkscore:7411").exit_code == 0
    with given["service"]() as address:
        assert address == "linkscore:7411"
    assert run("demo").exit_code == 0
    assert given["service"] is None


@pytest.mark.long
def test_the_bundled_site_is_crawled_at_its_own_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def labels_only(site: DemoSite, seen_page: object) -> Survey:
        """Stand in for reading thousands of pages."""
        return Survey({url: PageFacts((), (), url) for url in site.labels()}, site.labels())

    monkeypatch.setattr("linkscore_lab.crawls.testbed.survey_site", labels_only)
    result = demo.run_demo(
        budget="30", policy=(), out=tmp_path, service=running("127.0.0.1:1"), console=Console(file=StringIO())
    )
    (row,) = result.rows
    assert (row.name, row.metrics["fetched"], row.metrics["duplicates"], row.dropped) == (
        "breadth_first",
        30,
        0,
        0,
    )
    assert row.metrics["recall"] > 0
