"""The tables of the docs are made from the code and are never stale."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

from linkscore.v1 import errors_pb2
from linkscore_scoring.engine.events import Event
from linkscore_scoring.policies.registry import builtin
from linkscore_server.grpc.access import RPCS
from linkscore_server.grpc.errors import STATUS_TABLE
from linkscore_server.settings import all_settings
from linkscore_server.storage.formats import FORMATS

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[2]
PAGES = (
    "find-your-way.md",
    *(
        f"reference/policies/{page}.md"
        for page in (
            *("index", "harvest", "topic", "auto", "anthelion", "tag_path_bandit", "focus", "news_prefix"),
            *("tpm", "irobot", "experiment", "source", "behavior", "link_graph", "baselines"),
        )
    ),
    *(f"reference/{name}.md" for name in ("errors", "formats", "metrics", "settings", "wire")),
)


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "tools" / "docs_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def column(table: str, number: int) -> list[str]:
    """Return the texts in backticks of a column."""
    return [line.split(" | ")[number].strip("| ").strip("`") for line in table.splitlines()[2:]]


def test_the_pages_with_tables_are_these(tables: ModuleType) -> None:
    assert sorted(tables.PAGES) == sorted(PAGES)


@pytest.mark.parametrize("name", PAGES[1:])  # `make check` has the first too: it counts all code
def test_a_page_holds_fresh_tables(tables: ModuleType, name: str) -> None:
    page = (tables.DOCS / name).read_text(encoding="utf-8")
    assert tables.is_fresh(name, page, tables.with_tables(name, page))


@pytest.mark.parametrize(
    ("name", "now", "fresh"),
    [
        ("find-your-way.md", "| `grpc` | 31 | 5,700 | gRPC |", True),
        ("find-your-way.md", "| `grpc` | 34 | 5,400 | gRPC |", False),
        ("find-your-way.md", "| `grpc` | 30 | 6,200 | gRPC |", False),
        ("find-your-way.md", "| `gone` | 30 | 5,400 | gRPC |", False),
        ("reference/errors.md", "| `grpc` | 30 | 5,401 | gRPC |", False),
    ],
)
def test_counts_of_files_and_lines_may_be_a_tenth_off(
    tables: ModuleType, name: str, now: str, fresh: bool
) -> None:
    assert tables.is_fresh(name, "| `grpc` | 30 | 5,400 | gRPC |", now) == fresh


@pytest.mark.parametrize("name", PAGES)
def test_what_says_that_it_is_made_is_made(tables: ModuleType, name: str) -> None:
    page = (tables.DOCS / name).read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- (\w+): made by `make gen` -->", page)) == set(tables.PAGES[name])


def test_a_stale_table_is_replaced_and_the_text_around_it_stays(tables: ModuleType) -> None:
    fresh = (tables.DOCS / "reference/settings.md").read_text(encoding="utf-8")
    stale = fresh.replace("| `drain_s` |", "| `drian_s` |")
    assert stale != fresh
    assert tables.with_tables("reference/settings.md", stale) == fresh


def test_a_page_without_markers_is_refused(tables: ModuleType) -> None:
    with pytest.raises(ValueError, match=r"settings.*0 times"):
        tables.with_tables("reference/settings.md", "no markers here")


def test_every_setting_has_a_row_with_its_default(tables: ModuleType) -> None:
    table = tables.settings_table()
    named = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    assert sorted(named) == sorted(setting.name for setting in fields(all_settings()))
    assert any(line.startswith("| `drain_s` | `15.0` |") for line in table.splitlines())


def test_a_setting_without_a_group_is_refused(tables: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tables.SETTING_GROUPS, "Durability", ())
    with pytest.raises(ValueError, match="drain_s"):
        tables.settings_table()


def test_every_call_has_a_row_with_what_the_contract_says_of_it(tables: ModuleType) -> None:
    table = tables.rpcs_table()
    assert "| `CrawlService/DeleteCrawl` | `admin` | yes | Deletes a crawl, its models and its log |" in table
    assert column(table, 0) == list(RPCS)


def test_every_event_has_a_row_by_its_number(tables: ModuleType) -> None:
    table = tables.events_table()
    assert column(table, 0) == [str(number) for number in range(1, len(Event.__args__) + 1)]
    assert set(column(table, 1)) == {kind.__name__ for kind in Event.__args__}


def test_every_kind_of_file_has_a_row(tables: ModuleType) -> None:
    assert column(tables.formats_table(), 1) == [kind.path for kind in FORMATS]


def test_every_error_and_every_reason_has_a_row(tables: ModuleType) -> None:
    assert column(tables.errors_table(), 0) == [kind.__name__ for kind, _, _ in STATUS_TABLE]
    reasons = {f"ERROR_REASON_{reason}" for reason in column(tables.reasons_table(), 0)}
    assert reasons == {name for name, number in errors_pb2.ErrorReason.items() if number}


def test_an_error_has_the_status_that_the_contract_says_of_its_reason(tables: ModuleType) -> None:
    errors, reasons = tables.errors_table(), tables.reasons_table()
    said = dict(zip(column(reasons, 0), column(reasons, 1), strict=True))
    for reason, status in zip(column(errors, 2), column(errors, 1), strict=True):
        assert said[reason] == status


def test_every_policy_and_every_parameter_has_a_row(tables: ModuleType) -> None:
    table = tables.parameters_table(*builtin())
    rows = list(zip(column(table, 0), column(table, 1), strict=True))
    assert column(tables.policies_table(), 0) == sorted(builtin())
    assert sorted(rows) == sorted(
        (name, param.name) for name, policy in builtin().items() for param in fields(policy.Params)
    )
    assert "| `pagerank` | `damping` | `0.85` | Share of its rank" in table
    assert all(line.count(" | ") == 3 and not line.endswith("|  |") for line in table.splitlines()[2:])


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
