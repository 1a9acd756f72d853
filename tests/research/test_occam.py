"""What each mechanism of harvest is worth: taken away alone, on stored sites."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from linkscore_lab.archives import write_warc
from linkscore_lab.datasets.site import identity
from linkscore_research.tuning import occam
from linkscore_research.tuning.occam import WITHOUT, Row, rows_of, table_of
from linkscore_research.tuning.regret import with_numbers
from linkscore_research.tuning.sites import opened
from linkscore_research.zoo import SyntheticSite
from linkscore_scoring.policies.harvest import Tunables

WAITING, BULK, TRIALS = "links that wait for better ones", "bulk", "kinds nobody opened"


@pytest.mark.parametrize("name", WITHOUT)
def test_each_mechanism_has_numbers_of_harvest_that_take_it_away(name: str) -> None:
    assert with_numbers(Tunables(), WITHOUT[name]) != Tunables()


def settings_of(*names: str) -> list[tuple[str, str, int]]:
    with opened(SyntheticSite(1_000)) as (experiment, task):
        rows = rows_of(experiment, task, {name: WITHOUT[name] for name in names}, in_flight=4, starts=1)
        return [(row.without, row.told, row.in_flight) for row in rows]


def test_mechanisms_are_tried_where_a_crawl_comes_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occam, "MUCH", 1.0)
    assert settings_of(WAITING, TRIALS) == [
        (WAITING, "none", 4),
        (TRIALS, "examples", 1),
        (WAITING, "examples", 4),
        (TRIALS, "examples", 4),
    ]


def test_what_costs_too_much_is_tried_no_further(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occam, "MUCH", -1.0)
    assert settings_of(BULK) == [(BULK, "none", 1)]


ROW = Row("a", BULK, "none", 1, valid=0.5, area=0.5, valid_lost=0.004, area_lost=0.0)


@pytest.mark.parametrize(
    ("lost", "may_go"), [((0.004, 0.0), True), ((0.004, 0.003), False), ((-0.02, 0.011), False)]
)
def test_what_is_worth_little_in_the_mean_and_nowhere_much_may_go(
    lost: tuple[float, ...], may_go: bool
) -> None:
    (cell,) = table_of([replace(ROW, valid_lost=each) for each in lost]).columns[-1].cells
    assert (cell == "yes") == may_go


@pytest.mark.long
def test_the_command_takes_several_away_at_once(tmp_path: Path) -> None:
    site, out = SyntheticSite(1_000), tmp_path / "rows.jsonl"
    write_warc(tmp_path / "small.warc.gz", {url: site.respond(url).body for url in site.urls()})
    rows = "".join(f"{url}\t{site.labels()[identity(url)]}\n" for url in site.urls())
    (tmp_path / "small.labels.tsv.gz").write_bytes(gzip.compress(f"url\tpage_type\n{rows}".encode()))
    types = "site\tpage_type\tuser_content\ttarget\nsmall\titem\t1\t1\n"
    (tmp_path / "page_types.tsv").write_text(types)
    asked = ["--corpora", str(tmp_path), "--starts", "1", "--together", "--out", str(out)]
    result = CliRunner().invoke(occam.occam, [*asked, "--without", WAITING, "--without", TRIALS])
    assert result.exit_code == 0
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert found
    assert {row["without"] for row in found} == {f"{WAITING} + {TRIALS}"}


def test_without_a_site_there_is_nothing_to_measure(tmp_path: Path) -> None:
    assert "no site" in CliRunner().invoke(occam.occam, ["--corpora", str(tmp_path)]).output
