"""Write the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from linkscore_lab.replay.results_records import Meta, RunResult
from linkscore_lab.report.page import report_page
from linkscore_scoring.errors import InvalidInput


def write_report(path: Path, runs: Sequence[RunResult], meta: Meta) -> None:
    """Write one HTML file about `runs`; a file of that name is replaced, folders are made.

    It needs no network and no other file, shows everything without JavaScript (with it, tables sort, policies
    can be hidden and curves be read off), and escapes whatever came from a site.

    Raises
    ------
    InvalidInput
        If there is no run.
    """
    if not runs:
        raise InvalidInput("must have at least one run", field="runs")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report_page(runs, meta), encoding="utf-8", errors="replace")
