"""Figures as JSON: every kind of value, in a file or on standard output."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from linkscore.v1 import site_model_service_pb2 as site_pb
from linkscore_cli.output import figures_to, plain, write_json


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
