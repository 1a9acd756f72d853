"""Crawls by other crawlers: what they print is counted, and somebody may interfere half way."""

from __future__ import annotations

from io import StringIO
from types import SimpleNamespace
from typing import Any

import click
import pytest
from rich.console import Console

from linkscore_lab.experiments.crawlers import Crawler, CrawlFigures, crawl, table

BED: Any = SimpleNamespace(target=SimpleNamespace(entry="http://a/"))
FOUR = 'for n in 1 2 2 3; do printf "200\\thttp://a/$n\\n"; done; echo counters >&2'


def run(script: str, **options: Any) -> CrawlFigures:
    return crawl(Crawler(".", ("sh", "-c", script), ()), BED, "", 4, frozenset({"http://a/1"}), "", **options)


def test_a_crawl_is_what_the_crawler_printed() -> None:
    found = run(f"i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; {FOUR}")
    assert (found.fetched, found.wanted, found.twice, found.said) == (4, 1, 1, "counters")
    assert found.cpu_s > 0
    assert found.seconds > 0


def test_somebody_may_interfere_once_when_half_is_fetched() -> None:
    called: list[int] = []
    run(FOUR, half_way=lambda: called.append(1))
    run("true", half_way=lambda: called.append(2))
    assert called == [1]


def test_a_crawler_that_fails_is_an_error_with_what_it_said() -> None:
    with pytest.raises(click.ClickException, match="out of order"):
        run("echo out of order >&2; exit 3")


def test_the_table_fits_a_narrow_terminal() -> None:
    row = CrawlFigures(1_436, 1_255, 12, 0, 14.36, 2.872, "pages 1438")
    console = Console(width=80, file=StringIO())
    console.print(table("colly, demonstration site", {"server away 10 s": row}))
    assert console.file.getvalue().splitlines()[-2].split() == (
        ["server", "away", "10", "s", "1,436", "1,255", "0.874", "12", "0", "10", "2.0"]
    )
