"""`linkscore logs report`: what a browse log is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from linkscore_cli.output import figures_to, json_file_option, write_json
from linkscore_lab.commands.common import FILE, lab_errors


@click.command("report")
@click.argument("log", type=FILE)
@click.option(
    "--warc", "archives", multiple=True, required=True, type=FILE, help="The site as stored; repeatable."
)
@click.option(
    "--days",
    type=click.IntRange(1),
    default=30,
    show_default=True,
    help="Days mined, from the first of the log.",
)
@click.option(
    "--judged",
    type=click.IntRange(0),
    default=0,
    help="Days judged after them; 0 means to the end of the log.",
)
@json_file_option
@click.option(
    "--workers", type=click.IntRange(0), default=0, help="Processes that read archives; 0 means one a core."
)
def logs_report(log: Path, archives: tuple[Path, ...], json_file: Path | None, **options: Any) -> None:
    """Mine the first days of a browse log, and measure on the rest what it foretells.

    Prints pages to fetch and to visit for 80 % of the later visits, by each order, and the quality of the URL
    patterns.
    """
    with lab_errors(), figures_to(json_file) as file:
        from linkscore_lab.browse_logs.report import behavior_report, print_behavior

        report = behavior_report(log, archives, **options)
        print_behavior(Console(), report)
        write_json(file, {"behavior": report})
