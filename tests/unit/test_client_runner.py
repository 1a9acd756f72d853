"""`make test-clients` tests the languages whose tools are there, and says which it skipped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

RUNNER = Path(__file__).resolve().parents[2] / "tools" / "test_clients.py"


def run(*languages: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, RUNNER, *languages],
        env={"PATH": ""},
        check=False,
        capture_output=True,
        text=True,
    )


def test_a_language_without_its_tools_is_skipped_in_one_line() -> None:
    ran = run("go", "java")
    assert ran.stdout.splitlines() == [
        "go: skipped, there is no go",
        "java: skipped, there is no java and no mvn",
    ]
    assert ran.returncode == 0


def test_a_language_that_has_no_client_is_an_error() -> None:
    ran = run("cobol")
    assert "no client in cobol" in ran.stderr
    assert ran.returncode == 2
