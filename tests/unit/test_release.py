"""A release has notes: the first section of the changelog is of its version, dated, and says something."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("release", Path(__file__).parents[2] / "tools" / "release.py")
assert SPEC is not None
assert SPEC.loader is not None
release = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(release)

DATED = """# Changelog

## 0.2.0 - 2026-01-31

More.

- **One**: it works.

## 0.1.0 - 2025-12-31

- Two.
"""


def test_the_notes_are_the_section_of_the_version_and_nothing_of_the_next() -> None:
    assert release.section_of(DATED, "0.2.0") == "More.\n\n- **One**: it works."


@pytest.mark.parametrize(
    ("changelog", "rule"),
    [
        (DATED.replace("0.2.0", "0.3.0"), "first section must be of version 0.2.0"),
        (DATED.replace("2026-01-31", "unreleased"), "must have a date like 2026-01-31, got 'unreleased'"),
        (DATED.replace("- **One**: it works.\n", ""), "has no entry"),
        ("# Changelog\n", "first section must be of version 0.2.0"),
    ],
)
def test_a_changelog_that_is_not_ready_says_what_to_change(changelog: str, rule: str) -> None:
    with pytest.raises(release.NotReady, match=rule):
        release.section_of(changelog, "0.2.0")


def test_a_rehearsal_needs_no_date() -> None:
    undated = DATED.replace("2026-01-31", "unreleased")
    assert release.section_of(undated, "0.2.0", is_dated=False) == release.section_of(DATED, "0.2.0")


def test_a_version_that_deployments_do_not_name_is_refused() -> None:
    with pytest.raises(release.NotReady, match=r"kubernetes-sidecar\.yaml does not name version 99\.0\.0"):
        release.check_named("99.0.0")
