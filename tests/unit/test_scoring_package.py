"""The public names of the library: all there, and loaded only when asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import linkscore_scoring
from linkscore_scoring import policies

HEAVY = ("numpy", "sklearn", "scipy", "river", "duckdb", "lxml")


@pytest.mark.parametrize("name", linkscore_scoring.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(linkscore_scoring, name) is not None


@pytest.mark.parametrize("name", policies.__all__)
def test_every_name_a_policy_is_written_with_is_there(name: str) -> None:
    assert getattr(policies, name) is not None


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = f"[name for name in {HEAVY} if name in sys.modules]"
    code = f"import linkscore_scoring, linkscore_scoring.policies, sys; print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
