"""The public names of the library: all there, and loaded only when asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import linkscore_scoring
from linkscore_scoring import policies

HEAVY = {
    "linkscore_scoring": ("numpy", "lxml"),
    "linkscore_scoring.policies": ("sklearn", "scipy", "river", "duckdb"),
}


@pytest.mark.parametrize("name", linkscore_scoring.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(linkscore_scoring, name) is not None


@pytest.mark.parametrize("name", policies.__all__)
def test_every_name_a_policy_is_written_with_is_there(name: str) -> None:
    assert getattr(policies, name) is not None


@pytest.mark.parametrize("package", HEAVY)
def test_importing_a_package_loads_nothing_heavy(package: str) -> None:
    loaded = f"[name for name in {HEAVY[package]} if name in sys.modules]"
    code = f"import {package}, sys; print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
