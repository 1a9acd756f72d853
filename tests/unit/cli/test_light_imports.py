"""The command line needs the client, click and rich; of the rest it says which extra brings it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import linkscore_cli
from linkscore_cli.extras import install_command
from support.bare_command import run_bare


def test_the_help_lists_what_needs_an_extra_and_which() -> None:
    [got] = run_bare([["--help"]])
    assert got.code == 0
    lines = [line.split(maxsplit=1) for line in got.output.splitlines()]
    said = {line[0]: line[1] for line in lines if len(line) == 2}
    assert said["serve"].endswith("(needs linkscore[server])")
    assert said["replay"].endswith("(needs linkscore[lab])")
    assert said["explain"] == "Say why a URL has its score."


def test_a_command_that_needs_an_extra_says_which() -> None:
    server = [["serve"], ["health", "--listen", "a:1"]]
    lab = [["replay", "site.warc.gz"]]
    extras = ["server"] * len(server) + ["lab"] * len(lab)
    for extra, got in zip(extras, run_bare(server + lab), strict=True):
        assert got.code == 1
        assert f"needs the {extra} extra: {install_command(extra)}" in got.output


def imports_at_module_level(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_modules_of_the_command_line_import_nothing_of_linkscore_but_the_client() -> None:
    files = Path(linkscore_cli.__file__).parent.rglob("*.py")
    tops = {name.partition(".")[0] for file in files for name in imports_at_module_level(file)}
    assert {name for name in tops if name.startswith("linkscore")} == {"linkscore", "linkscore_cli"}
