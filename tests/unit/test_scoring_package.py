"""The names a policy is written with: all there; importing them loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from linkscore_scoring import policies

HEAVY = {
    "linkscore_scoring": ("numpy", "lxml"),
    "linkscore_scoring.policies": ("sklearn", "scipy", "river", "duckdb"),
}


@pytest.mark.parametrize("name", policies.__all__)
def test_every_name_a_policy_is_written_with_is_there(name: str) -> None:
    assert getattr(policies, name) is not None


@pytest.mark.parametrize("package", HEAVY)
def test_importing_a_package_loads_nothing_heavy(package: str) -> None:
    loaded = f"[name for name in {HEAVY[package]} if name in sys.modules]"
    code = f"import {package}, sys; print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
