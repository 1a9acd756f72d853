"""Who runs `make run` for the first time is told what it takes, before it is taken, and how far it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_an_installation_says_what_it_takes_first_and_then_every_step(tmp_path: Path) -> None:
    python, uv, asked = tmp_path / "venv/bin/python", tmp_path / "bin/uv", tmp_path / "asked"
    python.parent.mkdir(parents=True)
    uv.parent.mkdir()
    python.touch()
    uv.write_text(f'#!/bin/sh\necho "$@" >> {asked}\necho "uv: progress" >&2\n')
    uv.chmod(0o755)
    command = [sys.executable, "tools/make_venv.py", str(tmp_path / "venv"), "requirements/dev.lock"]
    path = f"{uv.parent}{os.pathsep}{os.environ['PATH']}"
    got = subprocess.run(
        [*command, "--editable"],
        cwd=ROOT,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    first, *steps = got.stderr.splitlines()
    assert " packages of requirements/dev.lock; takes some 640 MB on disk" in first
    packages = int(first.rpartition(" packages of")[0].split()[-1])
    assert packages > 100
    assert steps == [
        f"2 of 3: {packages} packages",
        "uv: progress",
        "3 of 3: linkscore itself",
        "uv: progress",
        f"{tmp_path / 'venv'} is ready",
    ]
    locked, own = asked.read_text().splitlines()
    assert "--require-hashes -r requirements/dev.lock" in locked
    assert "--quiet" not in locked, "uv shows its progress"
    assert own.endswith("--no-deps -e . -e research")


def test_make_run_says_so_before_it_installs() -> None:
    said = subprocess.run(
        ["make", "-n", "run", "VENV=.venv-none"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    told, installs = said.stdout.index("640 MB on disk"), said.stdout.index("tools/make_venv.py")
    assert told < installs
    assert "about a minute" in said.stdout[:installs]
