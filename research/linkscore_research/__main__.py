"""``python -m linkscore_research COMMAND``: measurements on labelled data, and training of page types.

Other experiments are modules of their own; research/README.md lists them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from linkscore_cli.output import figures_to, json_file_option, write_json
from linkscore_lab.commands.common import ARCHIVE, FILE, OUT, lab_errors


@click.group()
def main() -> None:
    """Measure on labelled data what linkscore's parts do, and train what its package ships."""


@main.command("train-page-types")
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
def train_page_types(corpora: tuple[Path, ...], json_file: Path | None, **options: Any) -> None:
    """Train index and thread page classifiers on labelled archives, or folders of them."""
    if json_file is not None and not options["report"]:
        raise click.UsageError("--json needs --report: it writes its figures.")
    with lab_errors(), figures_to(json_file) as file:
        from linkscore_research.page_types.command import run_training

        run_training(corpora, json_file=file, **options)


@main.command()
@click.argument("log", type=FILE)
@click.option("--warc", "archives", multiple=True, required=True, type=FILE, help="The site; repeatable.")
@click.option("--days", type=click.IntRange(1), default=30, show_default=True, help="First days, mined.")
@click.option("--judged", type=click.IntRange(0), default=0, help="Days judged after them; 0: all.")
@json_file_option
@click.option("--workers", type=click.IntRange(0), default=0, help="Processes; 0 means one a core.")
def visits(log: Path, archives: tuple[Path, ...], json_file: Path | None, **options: Any) -> None:
    """Mine the first days of a browse log, and measure on the rest what it foretells."""
    with lab_errors(), figures_to(json_file) as file:
        from linkscore_research.behavior.report import behavior_report, print_behavior

        report = behavior_report(log, archives, **options)
        print_behavior(Console(), report)
        write_json(file, {"behavior": report})


@main.command()
@click.argument("log", type=FILE)
@click.option("--warc", type=FILE, help="The site as stored, for hubs of news.")
@click.option("--fit", required=True, type=FILE, help="TSV of url and is_news that mining may read.")
@click.option("--judge", required=True, type=FILE, help="TSV of url and is_news that mining is judged on.")
@click.option("--labels", type=FILE, help="TSV of url and page_type of the stored site.")
@click.option("--page-types", type=FILE, help="TSV of site, page_type and kind, for hubs of news.")
@click.option("--site", default="", help="Name of the site in that table.  [default: of the archive]")
@json_file_option
def news(log: Path, fit: Path, judge: Path, json_file: Path | None, **stored: Any) -> None:
    """Measure how well news is found from a browse log.

    With --warc, --labels and --page-types also hubs of news, beside the menu of the site.
    """
    with lab_errors(), figures_to(json_file) as file:
        from linkscore_research.news.report import run_news

        write_json(file, run_news(log, fit, judge, **stored))


if __name__ == "__main__":
    main()
