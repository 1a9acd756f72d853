"""Page clusterers measured on labelled sites, as a table and as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import nan
from pathlib import Path

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table

from linkscore_lab.datasets.labels import read_templates
from linkscore_research.clustering.quality import (
    MIN_CLASS,
    Precision,
    Quality,
    fold_precision,
    large_classes,
    quality,
)
from linkscore_research.clustering.sample import LabelledSample, draw_sample, site_name
from linkscore_scoring.clustering.base import MAX_PAGES, Clusterer
from linkscore_scoring.clustering.registry import CLUSTERERS, clusterer_named
from linkscore_scoring.errors import InvalidInput

# Xu 2018, section 5.2.
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


def run_cluster_report(
    sites: Sequence[Path],
    labels: Sequence[Path],
    *,
    clusterers: Sequence[str] = (),
    page_types: Path | None = None,
    pages: int = 1_000,
    seed: int = 1,
    json_file: Path | None = None,
    console: Console | None = None,
) -> list[Figures]:
    """Measure clusterers on stored sites; print a table and write it to a file.

    Parameters
    ----------
    sites, labels
        Archives, and one label file for each, or one for all.
    clusterers
        Names; none means all.
    page_types
        Table of site, page_type and template; None if classes are page types.
    pages, seed
        Pages sampled of each site, at most 2,000, and seed of sample and folds.
    json_file
        Where to write the figures; None: nowhere.
    console
        Where to print; None: standard output.

    Raises
    ------
    InvalidInput
        If the arguments do not go together or a file cannot be read; the message names the field.
    """
    if not 1 <= pages <= MAX_PAGES:
        raise InvalidInput(f"must be in [1, {MAX_PAGES}], got {pages}", field="pages")
    kinds = [clusterer_named(name) for name in clusterers or CLUSTERERS]
    templates = _templates(page_types, sites)
    console = console or Console()
    found: list[Figures] = []
    with _progress(console) as progress:
        for warc, file in _paired(sites, labels):
            name = site_name(warc)
            task = progress.add_task(f"{name}: reading", total=pages)
            sample = draw_sample(
                warc,
                file,
                pages=pages,
                seed=seed,
                templates=templates.get(name),
                seen_page=lambda task=task: progress.advance(task),  # type: ignore[misc]
            )
            progress.update(task, completed=0, total=len(kinds))
            for kind in kinds:
                progress.update(task, description=f"{name}: {kind.name}")
                found.append(measure(kind.name, kind(), sample, seed=seed))
                progress.advance(task)
            progress.remove_task(task)
    print_figures(console, found)
    if json_file is not None:
        json_file.write_text(as_json(found, pages=pages, seed=seed), encoding="utf-8")
    return found


def measure(
    name: str,
    clusterer: Clusterer,
    sample: LabelledSample,
    *,
    folds: int = FOLDS,
    seed: int = 1,
    now: Callable[[], float] = time.perf_counter,
) -> Figures:
    """Return the figures of one clusterer on one sample; without folds, no precision."""
    started = now()
    labels = clusterer.fit(sample.pages).labels
    seconds = now() - started
    kept = large_classes(sample.classes)
    classes = [sample.classes[i] for i in kept]
    pages = [sample.pages[i] for i in kept]
    return Figures(
        clusterer=name,
        site=sample.site,
        pages=len(sample.pages),
        large=quality(classes, [int(labels[i]) for i in kept]),
        every=quality(sample.classes, labels.tolist()),
        outliers=float(np.mean(labels < 0)) if len(labels) else 0.0,
        precision=fold_precision(pages, classes, clusterer, folds=folds, seed=seed) if folds else None,
        seconds=seconds,
    )


def _templates(page_types: Path | None, sites: Sequence[Path]) -> Mapping[str, Mapping[str, str]]:
    if page_types is None:
        return {}
    templates = read_templates(page_types)
    for name in map(site_name, sites):
        if name not in templates:
            rule = f"must have rows of every site, got none of {name} in {page_types}"
            raise InvalidInput(rule, field="page_types")
    return templates


def _paired(sites: Sequence[Path], labels: Sequence[Path]) -> list[tuple[Path, Path]]:
    if len(labels) == 1:
        labels = [*labels] * len(sites)
    if len(labels) != len(sites):
        rule = f"must be one file, or one for each of {len(sites)} sites, got {len(labels)}"
        raise InvalidInput(rule, field="labels")
    return list(zip(sites, labels, strict=True))


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
