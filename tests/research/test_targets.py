"""What is found of kinds of pages that somebody names."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner
from rich.console import Console

from linkscore_research.tuning.sites import opened
from linkscore_research.tuning.targets import Row, rows_of, table_of, targets
from linkscore_research.zoo import SyntheticSite

BEHIND_ONE_LIST = 1008
"""A synthetic site with 20 pages that one list alone leads to, which a page about the site alone names."""


def test_what_one_list_leads_to_is_found_with_examples_and_with_feedback() -> None:
    with opened(SyntheticSite(BEHIND_ONE_LIST)) as (experiment, _):
        rows = list(rows_of(experiment, "hidden", seeds=2, starts=1, as_share=True))
    assert [row.told for row in rows] == ["examples", "examples", "feedback", "oracle_greedy"]
    assert min(row.recall for row in rows) > 0.5


def test_a_site_with_few_pages_of_a_kind_is_left_out() -> None:
    with opened(SyntheticSite(BEHIND_ONE_LIST)) as (experiment, _):
        assert list(rows_of(experiment, "home", seeds=1, starts=1)) == []


def test_the_table_has_means_of_sites_and_how_much_the_crawls_of_one_differ() -> None:
    found = {"a": (0.0, 1.0), "b": (0.0, 0.0)}
    rows = [
        Row(site, "user", "examples", "", n, r) for site, both in found.items() for n, r in enumerate(both)
    ]
    console = Console(width=120)
    with console.capture() as captured:
        console.print(table_of(rows))
    assert all(text in captured.get() for text in ("0.250", "0.500"))


def test_the_command_writes_a_line_for_each_crawl(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    options = ["--kind", "item", "--synthetic", "1", "--seeds", "1", "--share", "--out", str(out)]
    assert CliRunner().invoke(targets, options).exit_code == 0
    told = [json.loads(line)["told"] for line in out.read_text().splitlines()]
    assert told == ["examples", "feedback", "oracle_greedy"]


def test_without_sites_there_is_nothing_to_find() -> None:
    assert "no site" in CliRunner().invoke(targets, ["--kind", "item"]).output
