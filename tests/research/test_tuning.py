"""Regret by choice of constants, and what leaving one site out says of it."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from linkscore_research.tuning.__main__ import tune
from linkscore_research.tuning.paired import gains, paired
from linkscore_research.tuning.regret import (
    GRID,
    Row,
    best,
    choices,
    left_out,
    loss,
    tuned,
    with_numbers,
    worst,
)
from linkscore_scoring.policies.harvest import Harvest, Tunables
from linkscore_scoring.policies.registry import policy_class

DEFAULT, OTHER = (), (("bulk", 0.5),)


def test_every_value_tried_is_another_than_the_default() -> None:
    for choice in choices(GRID)[1:]:
        assert with_numbers(Tunables(), choice) != Tunables()
    assert choices({"bulk": (0.0, 0.5)}) == [(), (("bulk", 0.0),), (("bulk", 0.5),)]


def test_a_choice_is_a_policy_of_its_own() -> None:
    assert tuned(DEFAULT) is Harvest
    made = policy_class(tuned(OTHER).name)(Harvest.Params())
    assert isinstance(made, Harvest)
    assert (made.tunables.bulk, Harvest(Harvest.Params()).tunables) == (0.5, Tunables())


def test_the_worst_tenth_is_one_site_at_least() -> None:
    assert (worst([0.1, 0.5]), loss([0.1, 0.5])) == (0.5, 0.4)


def test_what_is_chosen_without_a_site_is_judged_on_it() -> None:
    """With all three the other is best; without the last one the default is, and has .9 there."""
    table = {DEFAULT: {"a": 0.1, "b": 0.1, "c": 0.9}, OTHER: {"a": 0.2, "b": 0.2, "c": 0.0}}
    assert best(table) == OTHER
    assert best(table, without="c") == DEFAULT
    assert left_out(table) == [0.2, 0.2, 0.9]


def test_the_command_judges_on_sites_nothing_was_chosen_on() -> None:
    result = CliRunner().invoke(tune, ["--judge", "--synthetic", "1"])
    assert result.exit_code == 0
    assert "as they are" in result.output


def test_without_sites_there_is_nothing_to_choose_on() -> None:
    assert "no site" in CliRunner().invoke(tune, ["--synthetic", "0"]).output


@pytest.mark.parametrize(
    ("options", "site"), [(["--as-they-are"], "zoo_1000"), (["--judge", "--first", "2400"], "zoo_2400")]
)
def test_the_command_takes_sites_that_were_not_used(tmp_path: Path, options: list[str], site: str) -> None:
    out = tmp_path / "rows.jsonl"
    result = CliRunner().invoke(tune, [*options, "--synthetic", "1", "--out", str(out)])
    assert result.exit_code == 0
    assert [json.loads(line)["site"] for line in out.read_text().splitlines()] == [site]


def row(site: str, valid: float) -> Row:
    return Row(site, DEFAULT, valid, area=0.5, regret=1.0 - valid, below=0.7 - valid)


BEFORE = [row("a", 0.5), row("b", 0.6), row("c", 0.9), row("only before", 0.0)]
AFTER = [row("a", 0.8), row("b", 0.7), row("c", 0.8), replace(row("c", 0.0), choice=OTHER)]


def test_a_change_is_compared_site_by_site_by_hand() -> None:
    """Changes .3, .1, -.1: mean .1, deviation .2, t(2) = 4.3027, so 4.3027 x .2 / sqrt(3) either way."""
    valid, area, regret = gains({r.site: r for r in BEFORE}, {r.site: r for r in AFTER[:3]})
    assert (valid.before, valid.after) == pytest.approx((2.0 / 3.0, 2.3 / 3.0))
    assert (valid.change.mean, valid.change.half_width) == pytest.approx((0.1, 0.49683), abs=1e-4)
    assert (valid.more, valid.less, area.more, regret.more, regret.less) == (2, 1, 0, 1, 2)


def test_two_files_of_rows_are_compared_and_other_choices_left_out(tmp_path: Path) -> None:
    files = []
    for name, rows in (("before", BEFORE), ("after", AFTER)):
        files.append(tmp_path / name)
        files[-1].write_text("".join(json.dumps(asdict(each)) + "\n" for each in rows))
    result = CliRunner().invoke(paired, [str(file) for file in files])
    assert result.exit_code == 0
    assert "+0.1000" in result.output
    assert "3 sites; in one file only: 1" in result.output


def test_a_file_that_holds_no_rows_is_refused_by_name(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"site": "a"}\n')
    result = CliRunner().invoke(paired, [str(bad), str(bad)])
    assert result.exit_code == 2
    assert "bad.jsonl" in result.output
