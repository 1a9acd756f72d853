"""What one table or figure of a paper came to here: tables and curves, kept as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from linkscore_lab.report import CurveChart

Cell = str | float | int | None
Point = tuple[float, float]

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "research" / "papers" / "results"
_DIGITS = 4
"""Digits of a figure that are kept: one more than the page shows."""


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table: each row has a cell for each column."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperResult:
    """What was measured for one table or figure."""

    name: str  # Of the table, as on the command line
    command: str  # What measured it, folders by their last name
    date: str  # When, ISO 8601
    data: str  # What it was measured on, in a sentence
    tables: Sequence[PaperTable]  # What came of it
    charts: Sequence[CurveChart] = field(default_factory=tuple)


def write_result(result: PaperResult, folder: Path = RESULTS) -> Path:
    """Write a result, replacing what was measured before; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.name}.json"
    text = json.dumps(_rounded(asdict(result)), ensure_ascii=False, allow_nan=False)
    path.write_text(_one_row_a_line(text) + "\n", encoding="utf-8")
    return path


def read_result(name: str, folder: Path = RESULTS) -> PaperResult | None:
    """Return what was measured, None if nobody did."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    plain = json.loads(path.read_text(encoding="utf-8"))
    tables = tuple(PaperTable(**table) for table in plain.pop("tables"))
    charts = tuple(CurveChart(**chart) for chart in plain.pop("charts"))
    return PaperResult(**plain, tables=tables, charts=charts)


def shown(cell: Cell) -> str:
    """Return a cell as the page shows it: shares without their 0, a dash for nothing.

    >>> [shown(cell) for cell in (0.5, 1.0, 12.34567, 1200, "BFS", None)]
    ['.500', '1.000', '12.35', '1,200', 'BFS', '-']
    """
    if cell is None:
        return "-"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:.3f}".removeprefix("0") if abs(cell) < 2 else f"{cell:,.2f}"
    return cell


def thinned(curve: Sequence[float], points: int = 60) -> list[Point]:
    """Return at most so many points of a curve, evenly spaced, the last one among them; x counts from 1."""
    step = max(1, -(-len(curve) // points))
    kept = sorted({*range(step - 1, len(curve), step), len(curve) - 1}) if curve else []
    return [(n + 1, curve[n]) for n in kept]


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, Mapping):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    return value


def _one_row_a_line(text: str) -> str:
    """Return JSON with a line for each row and curve, so that changes can be read."""
    return text.replace("], [", "],\n[").replace('"tables"', '\n"tables"').replace('"charts"', '\n"charts"')
