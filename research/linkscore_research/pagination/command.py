"""Figures of page link detection as a table, and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkscore_research.pagination.measure import (
    Counts,
    PageLinkFigures,
    labelled_pages,
    measure_by_type,
    measure_page_links,
)


def run_page_links(archive: Path, links: Path, json_file: Path | None = None) -> PageLinkFigures:
    """Measure, print the table and write the figures if a file is named."""
    figures = measure_page_links(labelled_pages(archive, links))
    console = _console()
    same = figures.same_kind / max(1, figures.rows["all links"].right)
    console.print(
        f"{figures.pages} pages of {figures.hosts} hosts, less {figures.lost} links that nothing can fetch; "
        f"{same:.3f} of the page links found are of the labelled kind"
    )
    console.print(_table("links", figures.rows))
    console.print(_table("links whose destination is stored", figures.stored))
    if json_file is not None:
        json_file.write_text(json.dumps(as_json(figures), indent=2) + "\n", encoding="utf-8")
    return figures


def run_by_type(archive: Path, labels: Path) -> dict[str, Counts]:
    """Measure a site with labelled pages, and print the table."""
    counts = measure_by_type(archive, labels)
    _console().print(_table(f"pages of {archive.name.partition('.')[0]} that link to later pages", counts))
    return counts


def as_json(figures: PageLinkFigures) -> dict[str, Any]:
    """Return the figures as plain values."""
    rows = {**figures.rows, **{f"stored: {name}": counts for name, counts in figures.stored.items()}}
    return {
        "pages": figures.pages,
        "hosts": figures.hosts,
        "lost": figures.lost,
        "same_kind": figures.same_kind,
        "rows": {
            name: {
                "right": counts.right,
                "wrong": counts.wrong,
                "missed": counts.missed,
                "precision": counts.precision,
                "recall": counts.recall,
            }
            for name, counts in rows.items()
        },
    }


def _console() -> Console:
    """Return a console that does not fold tables in files and pipes."""
    console = Console()
    return console if console.is_terminal else Console(width=110)


def _table(title: str, rows: dict[str, Counts]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for heading in ("", "right", "wrong", "missed", "precision, 95 %", "recall, 95 %"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name, counts in sorted(rows.items(), key=lambda row: (row[0].isupper(), row[0])):
        numbers = map(str, (counts.right, counts.wrong, counts.missed))
        precision = "" if name.isupper() else _share(counts.precision)
        table.add_row(name, *numbers, precision, _share(counts.recall))
    return table


def _share(share: tuple[float, float, float]) -> str:
    value, low, high = share
    return "" if value != value else f"{value:.3f} {low:.3f}-{high:.3f}"
