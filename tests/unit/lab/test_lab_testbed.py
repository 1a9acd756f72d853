"""Budgets and wanted pages of a site, and how a comparison is shown."""

from __future__ import annotations

import threading
from io import StringIO
from urllib.request import urlopen

import pytest
from rich.console import Console

from linkscore_lab.crawls import servers
from linkscore_lab.crawls.crawl import Target
from linkscore_lab.crawls.report import CrawlRow, print_rows
from linkscore_lab.crawls.servers import SiteServer
from linkscore_lab.crawls.testbed import Testbed
from linkscore_lab.datasets.demo_site import DemoSite
from linkscore_lab.datasets.survey import PageFacts, Survey
from linkscore_scoring.errors import InvalidInput

PAGES = {f"u{n}": PageFacts((), (), f"c{n}") for n in range(10)}
TESTBED = Testbed(
    "s", Target("http://s.test/"), Survey(PAGES, {"u0": "home", "u1": "thread", "u2": "thread"})
)


@pytest.mark.parametrize(("text", "budget"), [("25%", 2), ("100%", 10), ("7", 7), ("12.5%", 1)])
def test_a_budget_is_a_share_rounded_down_or_a_number(text: str, budget: int) -> None:
    assert TESTBED.budget(text) == budget


@pytest.mark.parametrize("text", ["", "0", "-3", "5%", "many", "%", "nan%", "1e400%"])
def test_a_budget_of_no_page_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="budget: must be a share"):
        TESTBED.budget(text)


def test_wanted_pages_are_those_of_the_types() -> None:
    assert TESTBED.wanted(["thread"]) == {"u1", "u2"}


def test_a_type_without_reachable_page_is_left_out_and_named() -> None:
    assert TESTBED.wanted(["thread", "post"]) == {"u1", "u2"}
    assert TESTBED.unreachable(["thread", "post"]) == ["post"]


@pytest.mark.parametrize("types", [[], ["post"]])
def test_types_the_site_has_not_are_refused(types: list[str]) -> None:
    with pytest.raises(InvalidInput, match=r"relevant: must be page types of s \(home, thread\)"):
        TESTBED.wanted(types)


def metrics(**known: float) -> dict[str, float]:
    names = ("fetched", "valid_ratio", "recall", "area_5pct", "duplicates")
    return {**dict.fromkeys(names, 1), **known}


def rendered(*rows: CrawlRow) -> str:
    console = Console(file=StringIO(), width=80)
    print_rows(console, rows, "title")
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_table_fits_a_terminal_of_80_columns() -> None:
    row = CrawlRow(
        "breadth_first",
        metrics(fetched=12345, valid_ratio=0.6981, recall=0.3456, area_5pct=0.6412, duplicates=2930),
        102.4,
        14239,
    )
    text = rendered(row, row)
    for cell in ("12,345", "0.698", "0.346", "0.641", "2,930", "102", "14,239"):
        assert cell in text


def test_drops_are_left_out_where_there_were_none() -> None:
    assert "dropped" not in rendered(CrawlRow("x", metrics(), 1.0, 0))


def test_a_row_without_scores_is_pointed_out() -> None:
    row = CrawlRow("harvest", metrics(), 1.0, 0, unscored=1234)
    assert "harvest: 1,234 links came without a score" in rendered(row)


def test_a_site_that_is_served_with_latency_waits_before_each_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(servers.time, "sleep", waits.append)
    with SiteServer(DemoSite(1), latency_s=0.2) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with urlopen(f"{server.address}/") as reply:
            assert reply.read()
        server.shutdown()
    assert waits == [0.2]
