"""What is lost with many fetches under way, by their number."""

from __future__ import annotations

from click.testing import CliRunner
from rich.console import Console

from linkscore_research.tuning.in_flight import POLICIES, Row, crowded, rows_of, table_of
from linkscore_research.tuning.sites import wanted_on
from linkscore_research.zoo import CHOOSING


def test_each_number_under_way_has_its_means_and_what_harvest_loses() -> None:
    """Regret of the early area: .9 - .8 with one, .7 - .4 with sixteen, three times as much."""
    figures = {1: [(0.9, 0.8), (0.5, 0.2), (1.0, 0.9)], 16: [(0.85, 0.4), (0.5, 0.2), (0.95, 0.7)]}
    rows = [
        Row("a", n, policy, *both)
        for n, of_policies in figures.items()
        for policy, both in zip(POLICIES, of_policies, strict=True)
    ]
    console = Console(width=160, record=True)
    console.print(table_of(rows))
    lines = [" ".join(line.replace("│", " ").split()) for line in console.export_text().splitlines()]
    assert "1 0.900 / 0.800 0.500 / 0.200 1.000 / 0.900 0.000 1.00" in lines
    assert "16 0.850 / 0.400 0.500 / 0.200 0.950 / 0.700 0.050 3.00" in lines


def test_answers_come_late_where_more_is_under_way() -> None:
    """With the whole first level under way breadth-first goes as before, and the oracle finds no more."""
    experiment, task = next(sites := wanted_on([], CHOOSING[:1]))
    rows = {(row.in_flight, row.policy): row for row in rows_of(experiment, task, (1, 64))}
    sites.close()
    assert rows[64, "oracle_greedy"].area <= rows[1, "oracle_greedy"].area
    assert rows[64, "breadth_first"].valid == rows[1, "breadth_first"].valid
    assert len(rows) == 6


def test_the_command_judges_on_sites_nothing_was_chosen_on() -> None:
    result = CliRunner().invoke(crowded, ["--judge", "--synthetic", "1"])
    assert result.exit_code == 0
    assert "256" in result.output


def test_without_sites_there_is_nothing_to_say() -> None:
    assert "no site" in CliRunner().invoke(crowded, ["--synthetic", "0"]).output
