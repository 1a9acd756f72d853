"""Real Scrapy crawls of the demonstration site on loopback: order, budget, failures, the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkscore_lab.crawls import demo as modes
from linkscore_lab.crawls.demo import ChildFailed, Mode, SiteServer, Testbed
from linkscore_lab.datasets.demo_site import DemoSite
from linkscore_lab.replay.prepare import prepare_generated
from support.command_line import run


@pytest.fixture(scope="module")
def small() -> Iterator[Testbed]:
    server = SiteServer(DemoSite(5))
    server.site = site = DemoSite(5, server.address, n_threads=12, n_members=6)
    with prepare_generated(site) as stored, server.running():
        yield Testbed.of(stored, site)


def test_breadth_first_is_the_surveys_order_and_stops_at_the_budget(small: Testbed, tmp_path: Path) -> None:
    result = modes.run_crawl(small.site.entry, modes.breadth_first(), 40, log=tmp_path / "crawl.log")
    assert [fetch.identity for fetch in result.fetches] == list(small.pages)[:40]
    assert {fetch.status for fetch in result.fetches} == {200}


def test_a_crawl_that_cannot_start_says_why(small: Testbed, tmp_path: Path) -> None:
    broken = Mode("broken", {"SCHEDULER": "no_such_module.Scheduler"})
    with pytest.raises(ChildFailed, match="no_such_module"):
        modes.run_crawl(small.site.entry, broken, 5, log=tmp_path / "crawl.log")


@pytest.mark.long
def test_the_command_crawls_the_bundled_site_and_writes_its_figures(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    head = ("demo", "--budget", "30", "--policy", "", "--out", str(tmp_path), "--target", "127.0.0.1:1")
    assert run(*head, "--json", str(figures)).exit_code == 0
    (row,) = json.loads(figures.read_text())
    assert (row["policy"], row["fetched"], row["links_out_of_archive"]) == ("breadth_first", 30, 0)
    assert row["metrics"]["recall"] > 0
