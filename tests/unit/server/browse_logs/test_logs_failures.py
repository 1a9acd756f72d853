"""`linkscore logs` says in one line what is wrong, and which extra a command needs."""

from __future__ import annotations

from linkscore_cli.extras import install_command
from support.bare_command import run_bare
from support.command_line import run


def test_a_file_that_is_missing_is_one_line_that_names_it() -> None:
    got = run("logs", "import", "/no/such/file")
    assert isinstance(got.exception, SystemExit)
    assert got.output.startswith("Error: ")
    assert got.output.count("\n") == 1
    assert "/no/such/file" in got.output


def test_missing_labels_are_one_line_that_names_them() -> None:
    got = run("logs", "mine", "--labels", "/no/such/file")
    assert isinstance(got.exception, SystemExit)
    assert got.output.startswith("Error: ")
    assert "/no/such/file" in got.output


def test_a_command_that_needs_an_extra_says_which() -> None:
    commands = {
        "server": ["logs", "stats", "--crawl", "c", "--data-dir", "."],
        "logs": ["logs", "import", "x.log", "--crawl", "c"],
    }
    for extra, got in zip(commands, run_bare(list(commands.values())), strict=True):
        assert got.code == 1
        assert f"needs the {extra} extra: {install_command(extra)}" in got.output
