"""Every part imports what its extra declares, and every declared dependency is imported."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients/python/linkscore"
# Adapters of crawlers that are in an environment of their own: `make test-clients`.
CRAWLERS = ("crawl4ai", "crawlee")
ADAPTERS = [CLIENT / f"{name}.py" for name in CRAWLERS]
LEARNERS = [ROOT / "scoring/linkscore_scoring/learners/online.py"]
BROWSE_LOGS = [
    path
    for folder in ("server/linkscore_server/browse_logs", "scoring/linkscore_scoring/browse_logs")
    for path in (ROOT / folder).rglob("*.py")
]
AGENTS = [ROOT / "cli/linkscore_cli/agents.py"]
JSON_PORT = [ROOT / "server/linkscore_server/json.py"]
POSTGRES = [ROOT / "server/linkscore_server/store/postgres.py"]
TABLES = [ROOT / "server/linkscore_server/tables.py"]
PARTS = {
    "base": [
        path
        for path in CLIENT.rglob("*.py")
        if "scrapy" not in path.relative_to(CLIENT).parts and path not in ADAPTERS
    ],
    "scrapy": list((CLIENT / "scrapy").rglob("*.py")),
    "cli": [path for path in (ROOT / "cli").rglob("*.py") if path not in AGENTS],
    "console": list((ROOT / "console").rglob("*.py")),
    "server": [
        path
        for part in ("scoring", "server")
        for path in (ROOT / part).rglob("*.py")
        if path not in (*BROWSE_LOGS, *LEARNERS, *JSON_PORT, *POSTGRES, *TABLES)
    ],
    "learners": LEARNERS,
    "logs": BROWSE_LOGS,
    "http": JSON_PORT,
    "postgres": POSTGRES,
    "mcp": AGENTS,
    "tables": TABLES,
    "frontier": list((ROOT / "frontier").rglob("*.py")),
    "lab": list((ROOT / "lab").rglob("*.py")),
}
OWN = {
    "linkscore",
    "linkscore_cli",
    "linkscore_console",
    "linkscore_frontier",
    "linkscore_lab",
    "linkscore_native",
    "linkscore_scoring",
    "linkscore_server",
}
# Packages that several distributions share, by the first part of a name below them.
SHARED = {
    "google": {"protobuf": "protobuf", "rpc": "googleapis-common-protos"},
}


def imported(paths: list[Path]) -> Iterator[str]:
    """Distributions that files import, by normalised name."""
    homes = packages_distributions()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in modules(node):
                top, _, rest = name.partition(".")
                if top in SHARED:
                    yield SHARED[top][rest.partition(".")[0]]
                elif top not in sys.stdlib_module_names and top not in OWN:
                    yield normal(homes.get(top, [top])[0])  # one module alone is not among them


def modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level and node.module:
        return [node.module]
    return []


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared() -> dict[str, set[str]]:
    """Distributions that the base and each extra declare themselves."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {"base": project["dependencies"], **project["optional-dependencies"]}
    return {
        extra: {normal(re.match(r"[\w.-]+", line)[0]) for line in lines} - {"linkscore"}
        for extra, lines in extras.items()
    }


@pytest.mark.parametrize(
    ("part", "extras"),
    [
        ("base", ["base"]),
        ("scrapy", ["base", "scrapy"]),
        ("cli", ["base", "cli"]),
        ("console", ["base", "cli", "console"]),
        ("server", ["base", "cli", "server"]),
        ("learners", ["base", "cli", "server", "learners"]),
        ("logs", ["base", "cli", "server", "logs"]),
        ("http", ["base", "cli", "server", "http"]),
        ("postgres", ["base", "cli", "server", "postgres"]),
        ("mcp", ["base", "cli", "mcp"]),
        ("tables", ["base", "cli", "server", "tables"]),
        ("frontier", ["base", "cli", "frontier"]),
        ("lab", ["base", "cli", "scrapy", "server", "logs", "lab"]),
    ],
)
def test_a_part_imports_only_what_its_extras_declare(part: str, extras: list[str]) -> None:
    allowed = set().union(*(declared()[extra] for extra in extras))
    assert set(imported(PARTS[part])) - allowed == set()


@pytest.mark.parametrize(
    ("locks", "extras"),
    [
        (["server"], ["base", "cli", "server"]),
        (["server", "server-console"], ["base", "cli", "server", "console"]),
        (["server", "server-http"], ["base", "cli", "server", "http"]),
        (["server", "server-learners"], ["base", "cli", "server", "learners"]),
        (["server", "server-logs"], ["base", "cli", "server", "logs"]),
        (["server", "server-lab", "server-logs"], ["base", "cli", "server", "logs", "scrapy", "lab"]),
        (["dev"], ["base", *PARTS, "dev"]),
    ],
    ids=lambda names: names[-1],
)
def test_every_declared_dependency_is_locked(locks: list[str], extras: list[str]) -> None:
    text = "".join((ROOT / "requirements" / f"{lock}.lock").read_text(encoding="utf-8") for lock in locks)
    locked = set(re.findall(r"^([a-z0-9.-]+)==", text, re.MULTILINE))
    assert set().union(*(declared()[extra] for extra in extras)) - locked == set()
