"""`npm ci` works from a clean folder: it refuses a lock that does not name all it may install."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROJECTS = ("clients/node", "console/bundle")


def read(project: str, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / project / name).read_text(encoding="utf-8"))
    return content


def lacking(packages: dict[str, Any]) -> Iterator[str]:
    """Dependencies that no folder above the package which asks for them has; optional ones count."""
    for place, package in packages.items():
        asked = {**package.get("dependencies", {}), **package.get("optionalDependencies", {})}
        folders = place.split("node_modules/")
        above = ["node_modules/".join(folders[:depth]) for depth in range(1, len(folders))]
        reached = [*above, f"{place}/" if place else ""]
        yield from (
            f"{name} of {place}"
            for name in asked
            if not any(f"{folder}node_modules/{name}" in packages for folder in reached)
        )


@pytest.mark.parametrize("project", PROJECTS)
def test_a_lock_has_every_package_that_any_platform_installs(project: str) -> None:
    assert list(lacking(read(project, "package-lock.json")["packages"])) == []


@pytest.mark.parametrize("project", PROJECTS)
def test_a_lock_is_of_its_package_json(project: str) -> None:
    locked, declared = read(project, "package-lock.json")["packages"][""], read(project, "package.json")
    for kind in ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"):
        assert locked.get(kind, {}) == declared.get(kind, {}), kind


@pytest.mark.parametrize("project", PROJECTS)
def test_every_locked_package_has_its_digest(project: str) -> None:
    packages = read(project, "package-lock.json")["packages"]
    assert [place for place, package in packages.items() if place and "integrity" not in package] == []


@pytest.mark.parametrize("file", ["Makefile", "tools/test_clients.py", "clients/node/README.md"])
def test_what_is_locked_is_installed_by_npm_ci(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    bare = ("npm install --silent", "npm install &&", '"npm", "install"')
    assert [command for command in bare if command in text] == []
