"""The policy that CONTRIBUTING.md walks through works as written: its three edits are applied to a copy."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PROTO = "proto/linkscore/v1/policy.proto"
PACKAGES = ("clients/python", "scoring", "server", "frontier", "cli", "console", "lab")
_EDIT = re.compile(r"^\*\*\d\.\*\* `([^`]+)`.*?^```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Numbers from here on are of policies from outside.

EDITS = dict(_EDIT.findall(PAGE))
(POLICY,) = (path for path in EDITS if path.startswith("scoring/"))
(TEST,) = (path for path in EDITS if path.startswith("tests/"))


def run(command: list[str], folder: Path, packages: tuple[str, ...] = PACKAGES) -> str:
    """Run a command in a copy whose packages go before those of this checkout; returns what it printed."""
    paths = os.pathsep.join(str(folder / package) for package in packages)
    got = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert got.returncode == 0, got.stdout[-4_000:] + got.stderr[-4_000:]
    return got.stdout


def written(folder: Path, path: str) -> None:
    """Write the file of one edit."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(EDITS[path], encoding="utf-8")


def asked_for() -> list[str]:
    """The command that the page says to look at a new policy with."""
    found = re.search(r"`\.venv/bin/python (-m pytest [^`]+)`, then replay", PAGE)
    assert found is not None
    return [sys.executable, *found[1].split(), "-q", "-p", "no:cacheprovider"]


@pytest.mark.slow
def test_the_three_edits_and_what_the_page_says_to_run_pass_in_a_copy(tmp_path: Path) -> None:
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, files.decode().split("\0")):
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    written(tmp_path, POLICY)
    written(tmp_path, TEST)
    (found,) = re.findall(r"`(\"short_urls\": .*,)`", PAGE)
    registry = tmp_path / "scoring/linkscore_scoring/policies/registry.py"
    registry.write_text(
        registry.read_text(encoding="utf-8").replace("_HOMES = {\n", f"_HOMES = {{\n    {found}\n")
    )
    line, _, message = EDITS[PROTO].partition("\n\n")
    text = (ROOT / PROTO).read_text(encoding="utf-8")
    before = "    ExternalPolicy external"
    at = text.rindex("\n    //", 0, text.index(before)) + 1
    (tmp_path / PROTO).write_text(f"{text[:at]}{line}\n{text[at:]}\n{message}", encoding="utf-8")
    for step in (["init", "--quiet"], ["add", "--all"]):  # tables of the docs count the files that git knows
        run(["git", *step], tmp_path)
    generator = ROOT / ".venv-gen"
    if not (generator / ".installed").exists():
        generator = tmp_path / ".venv-gen"
        lock = ROOT / "requirements/gen.lock"
        run([sys.executable, "tools/make_venv.py", str(generator), str(lock)], tmp_path)
    for step in (["tools/generate_stubs.py", str(generator / "bin/python")], ["tools/docs_tables.py"]):
        run([sys.executable, *step], tmp_path)
    assert "passed" in run(asked_for(), tmp_path)
    run([sys.executable, "-m", "ruff", "check", POLICY, TEST], tmp_path)
    run([sys.executable, "-m", "ruff", "format", "--check", POLICY, TEST], tmp_path)
