"""Modules of tests are found by their names alone; what several share has a package."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]
PACKAGES = {"campaigns", "simulation", "support"}


def test_no_two_modules_of_tests_share_a_name() -> None:
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_what_tests_share_is_in_a_package() -> None:
    paths = (path.relative_to(TESTS) for path in TESTS.rglob("*.py"))
    loose = [path for path in paths if path.parts[0] not in {*PACKAGES, "fixtures"}]
    assert [path for path in loose if not path.name.startswith(("test_", "conftest."))] == []
