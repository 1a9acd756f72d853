"""Sites told apart by what the advice says of them."""

from __future__ import annotations

from click.testing import CliRunner
from rich.console import Console

from linkscore_research.tuning.unsure import Row, table_of, unsure


def test_both_kinds_of_sites_have_their_means() -> None:
    rows = [Row("a", True, 0.3, 0.1), Row("b", True, 0.1, 0.1), Row("c", False, 0.05, 0.04)]
    console = Console(width=100, record=True)
    console.print(table_of(rows))
    lines = [line.replace("│", " ").split() for line in console.export_text().splitlines()]
    assert ["asks", "for", "examples", "2", "0.200", "0.100"] in lines
    assert ["does", "not", "1", "0.050", "0.040"] in lines


def test_the_command_crawls_sites_nothing_was_chosen_on() -> None:
    result = CliRunner().invoke(unsure, ["--judge", "--synthetic", "2"])
    assert result.exit_code == 0
    assert "asks for examples" in result.output


def test_without_sites_there_is_nothing_to_say() -> None:
    assert "no site" in CliRunner().invoke(unsure, ["--synthetic", "0"]).output
