"""Imports go one way: clients -> contract <- server -> scoring, and inside scoring too."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READS = {
    "clients/python/linkscore": set(),
    "scoring/linkscore_scoring": {"linkscore_native"},
    "server/linkscore_server": {"linkscore", "linkscore_scoring", "linkscore_cli"},
    "frontier/linkscore_frontier": {"linkscore", "linkscore_cli", "linkscore_server"},
    "cli/linkscore_cli": {"linkscore", "linkscore_scoring", "linkscore_server"},
    "console/linkscore_console": {"linkscore", "linkscore_cli"},
    "lab/linkscore_lab": {
        *("linkscore", "linkscore_cli", "linkscore_frontier", "linkscore_scoring", "linkscore_server"),
    },
}
"""Packages of ours that each may read besides itself; nothing of the product reads research."""

ORDER = (
    *("errors", "bounded", "columns", "hashing", "sums", "state", "kernels", "urls", "features", "types"),
    *("wanted", "browse_logs", "pagination", "clustering", "site", "learners", "policies"),
    *("engine", "revisits", "limits", "respect", "copies", "exporters", "testing"),
)
"""Rooms of scoring: each reads those before it. A room that is not here may read and be read as it likes."""

MEMBERS = {"revisits", "limits", "respect", "copies"}
"""What a crawl is made of besides policies: `engine` names them in one place, and they read its events."""


def imports(file: Path) -> set[str]:
    """Return the full names of the modules that a file imports, at its head or later."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("package", READS)
def test_a_package_reads_only_those_below_it(package: str) -> None:
    wrong = {
        f"{file.relative_to(ROOT)} -> {name}"
        for file in (ROOT / package).rglob("*.py")
        for name in imports(file)
        if name.startswith("linkscore") and name.split(".")[0] not in {*READS[package], Path(package).name}
    }
    assert wrong == set()


def test_a_room_of_scoring_reads_only_those_before_it() -> None:
    library = ROOT / "scoring/linkscore_scoring"
    wrong = {
        f"{file.relative_to(ROOT)} -> {name}"
        for at, room in enumerate(ORDER)
        for file in (*(library / room).rglob("*.py"), library / f"{room}.py")
        if file.exists()
        for name in imports(file)
        if name.startswith("linkscore_scoring.")
        and name.split(".")[1] in ORDER[at + 1 :]
        and not (room == "engine" and name.split(".")[1] in MEMBERS)
    }
    assert wrong == set()
