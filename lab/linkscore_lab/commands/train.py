"""`linkscore train`: data that the package ships."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

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
def page_types(corpora: tuple[Path, ...], **options: Any) -> None:
    """Train index and thread page classifiers on labelled archives, or folders of them."""
    with lab_errors():
        from linkscore_lab.experiments.page_types.command import run_training

        run_training(corpora, **options)
