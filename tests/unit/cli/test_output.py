"""Every command that prints a table prints JSON too, and no table cuts what identifies a row."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from linkscore.v1 import link_scoring_service_pb2 as scoring_pb
from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_cli.output import figures_to, plain, write_json
from linkscore_cli.score import _explanation
from linkscore_cli.sites import _outlook
from support.command_tree import TREE

NO_TABLES = {
    ("serve",),
    ("check-config",),
    ("health",),
    ("console",),
    ("mcp",),
    ("frontier",),
    ("conformance",),
    ("export", "rules"),
    ("export", "tables"),
    ("export", "experience"),
    ("data", "backup"),
    ("data", "check"),
    ("data", "export"),
    ("data", "import"),
    ("data", "restore"),
    ("token",),
    ("crawls", "delete"),
}
"""Commands that run, write files, or say a line or two."""

SHAPE = "forum.example.org/viewtopic.php?f=#&t=#&sid=*&start=#&view=unread&highlight=*&hilit=*&sort=*"
PATH = "/html/body/div[@id=wrap]/div[@class=page-body]/ul[@class=topics]/li/dl/dt/a[@class=topictitle]"


def test_every_command_that_prints_a_table_prints_json() -> None:
    flags = {
        path: {flag for param in command.params for flag in param.opts} for path, command in TREE.items()
    }
    assert {path for path in TREE if "--json" not in flags[path]} == NO_TABLES


def printed(table: Any, width: int) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def cells(text: str, column: int) -> str:
    """What stands in a column of a table, its folded lines put together again."""
    rows = [line.strip("│").split("│") for line in text.splitlines() if line.startswith("│")]
    return "".join(row[column].strip() for row in rows)


@pytest.mark.parametrize("width", [60, 80])
def test_an_outlook_and_an_explanation_are_not_cut_either(width: int) -> None:
    host = f"{'h' * 60}.{'i' * 60}.example"
    outlook = printed(_outlook(site_pb.Site(host=host), site_pb.SiteAdvice()), width)
    assert host in outlook.replace("\n", "").replace(" ", "")
    found = scoring_pb.LinkExplanation(bucket=f"{host}/h1.2", tag_path=PATH, source_cluster="c1")
    text = printed(_explanation(found), width)
    assert "…" not in text
    assert f"{host}/h1.2" in cells(text, 1)
    assert PATH.replace(" ", "") in cells(text, 2).replace(" ", "")


@dataclass
class Figures:
    path: Path
    share: float


def test_values_of_every_kind_become_json() -> None:
    found = plain({"rows": (Figures(Path("a"), float("nan")), Figures(Path("b"), 0.5)), "names": {"x"}})
    assert found == {"rows": [{"path": "a", "share": None}, {"path": "b", "share": 0.5}], "names": ["x"]}
    assert plain([site_pb.SiteAdvice(policy_estimate=True)]) == [{"policy_estimate": True}]


def test_a_dash_prints_figures_alone_and_tables_to_the_error_output(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with figures_to(Path("-")) as file:
        Console().print("a table")
        write_json(file, [1, 2])
    out, err = capsys.readouterr()
    assert (json.loads(out), err) == ([1, 2], "a table\n")
    with figures_to(tmp_path / "f.json") as file:
        print("a table", file=sys.stdout)
        write_json(file, [1, 2])
    assert json.loads((tmp_path / "f.json").read_text()) == [1, 2]
    with figures_to(None) as file:
        assert file is None
