"""`linkscore train`: data that the package ships."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from linkscore_cli.output import figures_to, json_file_option
from linkscore_lab.commands.common import ARCHIVE, OUT, lab_errors


@click.group()
def train() -> None:
    """Train what the package ships as data."""


@train.command("page-types")
@click.argument("corpora", metavar="CORPUS...", nargs=-1, required=True, type=ARCHIVE)
@click.option("--out", type=OUT, help="Write the weights here.")
@click.option("--report", is_flag=True, help="Classify pages of each site by the model without it.")
@click.option(
    "--report-pages",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Pages of each type for that; 0: all.",
)
@click.option(
    "--per-type",
    type=click.IntRange(0),
    default=60,
    show_default=True,
    help="Pages of each type to train on; 0: all.",
)
@click.option("--workers", type=click.IntRange(0), default=0, help="Processes; 0 means one a core.")
@json_file_option
def page_types(corpora: tuple[Path, ...], json_file: Path | None, **options: Any) -> None:
    """Train index and thread page classifiers on labelled archives, or folders of them."""
    if json_file is not None and not options["report"]:
        raise click.UsageError("--json needs --report: it writes its figures.")
    with lab_errors(), figures_to(json_file) as file:
        from linkscore_lab.experiments.page_types.command import run_training

        run_training(corpora, json_file=file, **options)
