"""Runs command lines as where only `linkscore[cli]` is installed: in a process that refuses other imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

# What the extras `server` and `lab` bring, duckdb and grpc_health standing for the rest of it.
FORBIDDEN = (
    "lxml",
    "numpy",
    "duckdb",
    "grpc_health",
    "fastwarc",
    "prometheus_client",
    "linkscore_scoring",
    "linkscore_server",
    "linkscore_lab",
)
ABSENT = ("lxml", "numpy", "duckdb", "fastwarc", "prometheus-client", "starlette")
_DRIVER = f"""
import contextlib, io, json, sys
class Forbid:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {FORBIDDEN!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Forbid())
import importlib.metadata
known = importlib.metadata.version
def version(name):
    if name in {ABSENT!r}:
        raise importlib.metadata.PackageNotFoundError(name)
    return known(name)
importlib.metadata.version = version
from linkscore_cli.__main__ import main
results = []
for arguments in json.load(sys.stdin):
    out = io.StringIO()
    sys.argv = ["linkscore", *arguments]
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main()
        except SystemExit as end:
            code = end.code
    results.append((code, out.getvalue()))
json.dump(results, sys.stdout)
"""


@dataclass(frozen=True)
class Done:
    """Exit code and output, of both kinds, of a command line."""

    code: int
    output: str


def run_bare(command_lines: Sequence[Sequence[str]], **environment: str) -> list[Done]:
    """Run command lines one after the other in one process that cannot import what is forbidden."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LINKSCORE_")}
    got = subprocess.run(
        [sys.executable, "-c", _DRIVER],
        input=json.dumps(command_lines),
        env=clean | {"COLUMNS": "200"} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert got.returncode == 0, got.stderr
    return [Done(code, output) for code, output in json.loads(got.stdout)]
