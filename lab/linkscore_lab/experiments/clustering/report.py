"""`linkscore cluster`: page clusterers measured on labelled sites."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

from linkscore_lab.datasets.labels import read_templates
from linkscore_lab.experiments.clustering.quality import fold_precision, large_classes, quality
from linkscore_lab.experiments.clustering.sample import LabelledSample, draw_sample, site_name
from linkscore_lab.experiments.clustering.table import FOLDS, Figures, as_json, print_figures
from linkscore_scoring.clustering.base import MAX_PAGES
from linkscore_scoring.clustering.registry import CLUSTERERS, Clusterer, clusterer_named
from linkscore_scoring.errors import InvalidInput


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
