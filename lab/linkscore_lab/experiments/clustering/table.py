"""The figures of `linkscore cluster` as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import nan

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkscore_lab.experiments.clustering.quality import MIN_CLASS, Precision, Quality

FOLDS = 4
_HEADINGS = (
    "purity",
    "micro F",
    "macro F",
    "outliers",
    "clusters",
    "classes",
    "micro F,\nall",
    "macro F,\nall",
    "precision\nmicro",
    "precision\nmacro",
    "seconds",
)


@dataclass(frozen=True, slots=True)
class Figures:
    """One clusterer on one site.

    Attributes
    ----------
    clusterer, site
        What was measured on what.
    pages
        Pages of the sample.
    large
        Agreement with the classes of `MIN_CLASS` sampled pages and more; the pages of others are left out.
    every
        Agreement with all classes.
    outliers
        Share of the sample that is in no cluster.
    precision
        Of pages left out by cross validation, small classes left out; None if it was not asked for.
    seconds
        Of one clustering of the sample.
    """

    clusterer: str
    site: str
    pages: int
    large: Quality
    every: Quality
    outliers: float
    precision: Precision | None
    seconds: float


def print_figures(console: Console, rows: Sequence[Figures]) -> None:
    """Print a table, for each clusterer a row a site and the mean of several sites."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("clusterer", no_wrap=True)
    table.add_column("site", no_wrap=True)
    for heading in _HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for name in dict.fromkeys(row.clusterer for row in rows):
        mine = [row for row in rows if row.clusterer == name]
        for row in mine:
            table.add_row(name, row.site, *_cells([row]))
        if len(mine) > 1:
            table.add_row(name, "mean", *_cells(mine), style="bold", end_section=True)
    console.print(table)
    console.print(
        f"Purity, F and precision leave classes of fewer than {MIN_CLASS} sampled pages out; "
        f'"all" has them in. Outliers are clusters of one page. Precision: {FOLDS} folds.',
        style="dim",
    )


def as_json(rows: Sequence[Figures], *, pages: int, seed: int) -> str:
    """Return the figures as JSON, with how they were made."""
    made = {"pages": pages, "seed": seed, "folds": FOLDS, "min_class": MIN_CLASS}
    return json.dumps({**made, "figures": [asdict(row) for row in rows]}, indent=2) + "\n"


def _cells(rows: Sequence[Figures]) -> list[str]:
    """Return the cells of the mean of rows."""
    columns: list[list[float]] = [
        [row.large.purity for row in rows],
        [row.large.micro_f for row in rows],
        [row.large.macro_f for row in rows],
        [row.outliers for row in rows],
        [row.large.clusters for row in rows],
        [row.large.classes for row in rows],
        [row.every.micro_f for row in rows],
        [row.every.macro_f for row in rows],
        [row.precision.micro if row.precision else nan for row in rows],
        [row.precision.macro if row.precision else nan for row in rows],
        [row.seconds for row in rows],
    ]
    formats = (*[".3f"] * 4, *[".3g"] * 2, *[".3f"] * 4, ".2f")
    means = [sum(column) / len(column) for column in columns]
    return ["" if mean != mean else format(mean, how) for mean, how in zip(means, formats, strict=True)]
