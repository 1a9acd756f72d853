"""Real Scrapy crawls of a stored site on loopback: order, budget, drops, identity, feedback."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscore_lab.archives import write_warc
from linkscore_lab.crawls import crawl as modes
from linkscore_lab.crawls.crawl import Crawl, Mode, run_crawl
from linkscore_lab.crawls.demo import Testbed, warc_testbed
from linkscore_lab.crawls.servers import ChildFailed
from linkscore_lab.datasets.demo_site import DemoSite
from support.command_line import run

SITE = DemoSite(5, "https://demo.test", n_threads=12, n_members=6)


def stored(folder: Path) -> tuple[Path, Path]:
    """Store the site without its calendar and permalinks: links that lead nowhere."""
    kept = {url: kind for url, kind in SITE.labels().items() if kind not in ("calendar", "thread_permalink")}
    warc, labels = folder / "demo.warc.gz", folder / "demo.labels.tsv.gz"
    write_warc(warc, {url: SITE.respond(url) for url in kept})
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
    assert order(result) == list(site_server.pages)[:40]
    assert {fetch.status for fetch in result.fetches} == {200}


def test_links_without_a_record_are_dropped_and_counted(site_server: Testbed, tmp_path: Path) -> None:
    result = crawl(site_server, modes.breadth_first(), 10**6, tmp_path)
    assert sorted(order(result)) == sorted(site_server.pages)
    assert 0 < result.dropped < result.stats["lab/links"]


def test_feedback_yields_an_item_for_each_wanted_page_fetched(site_server: Testbed, tmp_path: Path) -> None:
    breadth_first = modes.breadth_first()
    mode = Mode("told", breadth_first.settings, feedback=True)
    wanted = site_server.wanted(["thread"])
    result = crawl(site_server, mode, 30, tmp_path, wanted=wanted)
    assert result.stats["item_scraped_count"] == len(wanted & set(order(result))) > 0


def test_a_crawl_that_cannot_start_says_why(site_server: Testbed, tmp_path: Path) -> None:
    with pytest.raises(ChildFailed, match="no_such_module"):
        crawl(site_server, Mode("broken", {"SCHEDULER": "no_such_module.Scheduler"}), 5, tmp_path)


@pytest.mark.long
def test_the_command_crawls_the_bundled_site_and_writes_its_figures(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    head = ("demo", "--budget", "30", "--policy", "", "--out", str(tmp_path), "--target", "127.0.0.1:1")
    assert run(*head, "--json", str(figures)).exit_code == 0
    (row,) = json.loads(figures.read_text())
    assert (row["policy"], row["fetched"], row["links_out_of_archive"]) == ("breadth_first", 30, 0)
    assert row["metrics"]["recall"] > 0
