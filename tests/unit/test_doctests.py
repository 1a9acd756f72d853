"""Examples in docstrings run: every module that shows one is a test of its own."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "clients/python/linkscore",
    "scoring/linkscore_scoring",
    "server/linkscore_server",
    "cli/linkscore_cli",
    "console/linkscore_console",
    "lab/linkscore_lab",
    "research/linkscore_research",
)
# Their examples call a server: tests/unit/client/test_client_twins.py runs them against a small one.
CALL_A_SERVER = {"linkscore.client", "linkscore.aio"}


def modules_with_examples() -> list[str]:
    """Names of the modules that hold a prompt; only these are imported."""
    found = {
        module_name(path, (ROOT / package).parent)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if ">>> " in path.read_text(encoding="utf-8")
    }
    return sorted(found - CALL_A_SERVER)


def module_name(path: Path, source: Path) -> str:
    """Dotted name of a file below a source folder; an `__init__` is its package."""
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_of_a_module_run(name: str) -> None:
    failed, tried = doctest.testmod(
        importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    )
    assert tried, f"{name}: its prompts are in no docstring of a public name, so that nothing runs them"
    assert not failed, f"{name}: {failed} of {tried} examples fail, see the output"
