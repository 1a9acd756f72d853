"""Dashboards name metrics there are, and alerts what to do about them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "deploy/grafana").glob("*.json"))
METRICS = ROOT / "docs/reference/metrics.md"
OF_THE_PROCESS = {
    "process_resident_memory_bytes",
    "process_cpu_seconds_total",
    "process_open_fds",
    "process_max_fds",
}


def panels(file: Path) -> list[dict]:
    return json.loads(file.read_text(encoding="utf-8"))["panels"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_queries_name_only_metrics_there_are(file: Path) -> None:
    known = set(re.findall(r"`(linkscore_\w+)`", METRICS.read_text(encoding="utf-8"))) | OF_THE_PROCESS
    for panel in panels(file):
        for target in panel["targets"]:
            names = re.findall(r"\b((?:linkscore|process)_\w+)\{", target["expr"])
            used = {name if name in known else re.sub(r"_(bucket|count|sum)$", "", name) for name in names}
            assert used, panel["title"]
            assert used <= known, panel["title"]


def test_every_alert_links_to_what_to_do_about_it() -> None:
    rules = (ROOT / "deploy/prometheus/rules.yml").read_text(encoding="utf-8")
    page = (ROOT / "docs/reference/operations.md").read_text(encoding="utf-8")
    alerts = re.findall(r"- alert: (\w+)", rules)
    links = re.findall(r"runbook_url: docs/reference/operations\.md#(\w+)", rules)
    assert [alert.lower() for alert in alerts] == links
    assert all(f"`{alert}` |" in page for alert in alerts)
    assert all(f'<a id="{link}"></a>' in page for link in links)
