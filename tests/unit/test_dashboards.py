"""The dashboards are those of `tools/dashboards.py`, name metrics there are, and keep the linter's rules."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "deploy/grafana").glob("*.json"))
OF_THE_PROCESS = {
    "process_resident_memory_bytes",
    "process_cpu_seconds_total",
    "process_open_fds",
    "process_max_fds",
}


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "tools" / "docs_tables.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def panels(file: Path) -> list[dict]:
    return json.loads(file.read_text(encoding="utf-8"))["panels"]


def test_there_is_a_dashboard_of_each_concern_and_it_is_up_to_date() -> None:
    assert [file.stem for file in FILES] == ["bounds", "learning", "quality", "serving", "workers"]
    command = [sys.executable, str(ROOT / "tools/dashboards.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_queries_name_only_metrics_there_are(file: Path, tables: ModuleType) -> None:
    known = set(re.findall(r"`(linkscore_\w+)`", tables.metrics_table())) | OF_THE_PROCESS
    for panel in panels(file):
        for target in panel["targets"]:
            names = re.findall(r"\b((?:linkscore|process)_\w+)\{", target["expr"])
            used = {name if name in known else re.sub(r"_(bucket|count|sum)$", "", name) for name in names}
            assert used, panel["title"]
            assert used <= known, panel["title"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_rules_of_the_linter_hold(file: Path) -> None:
    board = json.loads(file.read_text(encoding="utf-8"))
    variables = {variable["name"]: variable for variable in board["templating"]["list"]}
    assert list(variables) == ["datasource", "job", "instance"]
    assert all(variables[name]["allValue"] == ".+" for name in ("job", "instance"))
    assert board["uid"].startswith("linkscore-")
    assert not board["editable"]
    for panel in panels(file):
        assert panel["title"]
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"]["uid"] == "${datasource}"
        for target in panel["targets"]:
            selectors = re.findall(r"\{([^}]*)\}", target["expr"])
            assert all('job=~"$job", instance=~"$instance"' in selector for selector in selectors)
            assert target["legendFormat"]
            if "rate(" in target["expr"]:
                assert "$__rate_interval" in target["expr"]


@pytest.mark.skipif(not shutil.which("dashboard-linter"), reason="needs dashboard-linter")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_linter_finds_nothing(file: Path) -> None:
    command = ["dashboard-linter", "lint", "--strict", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_links_to_what_to_do_about_it() -> None:
    rules = (ROOT / "deploy/prometheus/rules.yml").read_text(encoding="utf-8")
    page = (ROOT / "docs/reference/operations.md").read_text(encoding="utf-8")
    alerts = re.findall(r"- alert: (\w+)", rules)
    links = re.findall(r"runbook_url: docs/reference/operations\.md#(\w+)", rules)
    assert [alert.lower() for alert in alerts] == links
    assert all(f"`{alert}` |" in page for alert in alerts)
    assert all(f'<a id="{link}"></a>' in page for link in links)
