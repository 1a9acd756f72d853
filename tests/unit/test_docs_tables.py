"""The tables of docs/operations.md are made from the code and are never stale."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

from linkscore_server.settings import Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "tools" / "docs_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_holds_fresh_tables(tables: ModuleType) -> None:
    page = tables.PAGE.read_text(encoding="utf-8")
    assert tables.with_tables(page) == page


def test_a_stale_table_is_replaced_and_the_text_around_it_stays(tables: ModuleType) -> None:
    fresh = tables.PAGE.read_text(encoding="utf-8")
    stale = fresh.replace("| `listen` |", "| `listne` |")
    assert stale != fresh
    assert tables.with_tables(stale) == fresh


def test_a_page_without_markers_is_refused(tables: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"settings.*0 times"):
        tables.with_tables("no markers here")


def test_every_setting_has_a_row_with_its_default(tables: ModuleType) -> None:
    lines = tables.settings_table().splitlines()[2:]
    assert [line.split("`")[1] for line in lines] == [setting.name for setting in fields(Settings)]
    assert any(line.startswith("| `drain_s` | `15.0` |") for line in lines)


def test_metrics_are_named_as_prometheus_shows_them(tables: ModuleType) -> None:
    table = tables.metrics_table()
    assert "| `linkscore_pages_total` | counter | outcome |" in table
    assert "| `linkscore_rpc_duration_seconds` | histogram | method, code |" in table
    assert "| `linkscore_bound_used` | gauge | bound |" in table


def test_the_alert_rules_name_only_metrics_there_are(tables: ModuleType) -> None:
    known = set(re.findall(r"`(linkscore_\w+)`", tables.metrics_table()))
    rules = (ROOT / "deploy" / "prometheus" / "rules.yml").read_text(encoding="utf-8")
    expressions = "\n".join(re.findall(r"expr: (.*?)\n\s+(?:for|labels):", rules, re.DOTALL))
    used = {re.sub(r"_(bucket|count|sum)$", "", name) for name in re.findall(r"linkscore_\w+", expressions)}
    assert used
    assert used <= known
