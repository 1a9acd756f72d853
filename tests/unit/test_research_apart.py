"""The product stands without research: nothing of it, and none of its tests, imports an experiment."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRODUCT = (
    "clients/python",
    "scoring",
    "server",
    "frontier",
    "cli",
    "console",
    "lab",
    "native",
    "tools",
    "tests",
)


def imports_research(file: Path) -> bool:
    """Whether a file imports `linkscore_research` or a module of it, at its head or later."""
    names = [
        name
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    ]
    return any(name.partition(".")[0] == "linkscore_research" for name in names)


@pytest.mark.parametrize("part", PRODUCT)
def test_nothing_of_the_product_imports_research(part: str) -> None:
    files = (path for path in (ROOT / part).rglob("*.py") if ROOT / "tests/research" not in path.parents)
    assert [str(path.relative_to(ROOT)) for path in files if imports_research(path)] == []


def test_no_wheel_holds_research() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    wheel = text.partition("[tool.hatch.build.targets.wheel]")[2].partition("\n[")[0]
    entries = text.partition("[project.scripts]")[2].partition("[tool.")[0]
    assert "lab/linkscore_lab" in wheel
    assert "research" not in wheel + entries
