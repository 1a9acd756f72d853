"""The page of the docs that says what of the papers holds: made from the results, never by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from linkscore_lab.report import drawn
from linkscore_research.papers.catalog import CATALOG
from linkscore_research.papers.figures import filled, untrue
from linkscore_research.papers.findings import INTRODUCTION, PAPERS
from linkscore_research.papers.findings.claims import Paper
from linkscore_research.papers.results import RESULTS, ROOT, PaperResult, read_result, shown

PAGE = Path("docs/reference/reproduction.md")
DRAWINGS = Path("docs/reference/reproduction")


def write_page(root: Path = ROOT) -> None:
    """Write the page and its drawings; drawings of no result are removed."""
    files = page_files()
    for old in (root / DRAWINGS).glob("*.svg"):
        if DRAWINGS / old.name not in files:
            old.unlink()
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def stale_files(root: Path = ROOT) -> list[Path]:
    """Return the files that are not what the results give."""
    files = page_files()
    stale = [p for p, text in files.items() if not _says(root / p, text)]
    extra = (DRAWINGS / old.name for old in sorted((root / DRAWINGS).glob("*.svg")))
    return stale + [path for path in extra if path not in files]


def _says(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def page_files(folder: Path = RESULTS) -> dict[Path, str]:
    """Return the text of the page and of every drawing, by path."""
    results = {name: result for name in CATALOG if (result := read_result(name, folder)) is not None}
    files = {
        DRAWINGS / f"{name}-{n}.svg": drawn(chart) + "\n"
        for name, result in results.items()
        for n, chart in enumerate(result.charts, start=1)
    }
    return {PAGE: filled(results, "\n".join(_page(results))), **files}


def _page(results: dict[str, PaperResult]) -> Iterator[str]:
    yield INTRODUCTION
    yield from _table(("Paper", "Claim", "Here", "Why"), list(_claims(results)))
    for paper in PAPERS:
        yield from _section(paper, results)


def _claims(results: dict[str, PaperResult]) -> Iterator[tuple[str, ...]]:
    for paper in PAPERS:
        for claim in paper.claims:
            if refuted := untrue(results, claim.facts):
                raise ValueError(f"{paper.name}, {claim.claim!r}: the results say otherwise, {refuted}")
            yield f"[{paper.name}](#{_anchor(paper.name)})", claim.claim, claim.verdict, claim.why


def _section(paper: Paper, results: dict[str, PaperResult]) -> Iterator[str]:
    yield f"## {paper.name}\n"
    yield f"{paper.about}\n"
    for name, entry in CATALOG.items():
        if entry.paper == paper.title and name in results:
            yield f"### {entry.title}\n"
            yield from _result(results[name], paper.remarks.get(name, ""))
    if paper.not_tried:
        yield "### Not tried\n"
        yield from _table(("Row", "Why"), paper.not_tried)


def _result(result: PaperResult, remark: str) -> Iterator[str]:
    if remark:
        yield f"{remark}\n"
    for table in result.tables:
        if table.title:
            yield f"{table.title}:\n"
        yield from _table(table.columns, [list(map(shown, row)) for row in table.rows])
    for n, chart in enumerate(result.charts, start=1):
        yield f"![{chart.title}]({DRAWINGS.name}/{result.name}-{n}.svg)\n"
    yield from _table(
        ("", ""), [("data", result.data), ("command", f"`{result.command}`"), ("date", result.date)]
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
