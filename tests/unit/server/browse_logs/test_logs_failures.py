"""`linkscore logs` says in one line what is wrong, and which extra a command needs."""

from __future__ import annotations

from linkscore_cli.extras import install_command
from support.bare_command import run_bare


def test_a_command_that_needs_an_extra_says_which() -> None:
    commands = {
        "server": ["logs", "stats", "--crawl", "c", "--data-dir", "."],
        "logs": ["logs", "import", "x.log", "--crawl", "c"],
    }
    for extra, got in zip(commands, run_bare(list(commands.values())), strict=True):
        assert got.code == 1
        assert f"needs the {extra} extra: {install_command(extra)}" in got.output
