"""The tables of the docs are made from the code and are never stale."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "tools" / "docs_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_stale_table_is_replaced_and_the_text_around_it_stays(tables: ModuleType) -> None:
    fresh = (tables.DOCS / "reference/settings.md").read_text(encoding="utf-8")
    stale = fresh.replace("| `drain_s` |", "| `drian_s` |")
    assert stale != fresh
    assert tables.with_tables("reference/settings.md", stale) == fresh


def test_a_page_without_markers_is_refused(tables: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"settings.*0 times"):
        tables.with_tables("reference/settings.md", "no markers here")


def test_the_alert_rules_name_only_metrics_there_are(tables: ModuleType) -> None:
    known = set(re.findall(r"`(linkscore_\w+)`", tables.metrics_table()))
    rules = (ROOT / "deploy" / "prometheus" / "rules.yml").read_text(encoding="utf-8")
    expressions = "\n".join(re.findall(r"expr: (.*?)\n\s+(?:for|labels):", rules, re.DOTALL))
    used = {re.sub(r"_(bucket|count|sum)$", "", name) for name in re.findall(r"linkscore_\w+", expressions)}
    assert used
    assert used <= known
