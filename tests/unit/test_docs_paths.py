"""Files that the documentation names are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "research").rglob("*.md")),
]
SCORING, SERVER = ROOT / "scoring/linkscore_scoring", ROOT / "server/linkscore_server"
_PATH = re.compile(
    r"`((?:scoring|server|cli|clients|lab|research|tests|tools|docs|proto|deploy|requirements)/[\w./-]+)`"
)
_MODULE = re.compile(r"^\| \d+ \| `([\w/.]+)`", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_of_the_repository_is_there(page: Path) -> None:
    named = set(_PATH.findall(page.read_text(encoding="utf-8"))) - ABSENT
    assert [name for name in sorted(named) if "..." not in name and not (ROOT / name).exists()] == []


# The policy that CONTRIBUTING.md walks through.
ABSENT = {"scoring/linkscore_scoring/policies/short_urls.py", "tests/unit/policies/test_short_urls.py"}


def test_the_way_of_a_page_names_files_that_are_there_and_at_most_twenty() -> None:
    files = _MODULE.findall((ROOT / "docs/find-your-way.md").read_text(encoding="utf-8"))
    assert 10 < len(files) <= 20
    assert [name for name in files if not any((room / name).exists() for room in (SCORING, SERVER))] == []
