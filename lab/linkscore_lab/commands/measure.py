"""`linkscore demo`, `cluster`, `flips`, `regexes` and `logs report`: experiments on stored sites and logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from linkscore_cli.output import figures_to, json_file_option, write_json
from linkscore_lab.commands.common import FILE, FOLDER, lab_errors, split
from linkscore_lab.commands.replay import CLUSTERERS


@click.command()
@click.option("--warc", type=FILE, help="Stored site instead of the demonstration site.")
@click.option("--labels", type=FILE, help="TSV of url and page_type.")
@click.option("--relevant", default="", help="Wanted page types, separated by commas.")
@click.option("--budget", default="25%", show_default=True, help="Pages, or share of the reachable pages.")
@click.option(
    "--policy",
    default="harvest",
    show_default=True,
    help="Policies to compare with breadth-first, separated by commas.",
)
@click.option("--out", type=FOLDER, default=Path("out"), show_default=True, help="Folder to write to.")
@click.option(
    "--target", default="", help="host:port of a running server to score with, instead of one of its own."
)
@click.option("--watch", is_flag=True, help="Open the web console meanwhile (needs linkscore[console]).")
@json_file_option
def demo(relevant: str, policy: str, target: str, json_file: Path | None, **options: Any) -> None:
    """Crawl a site with real Scrapy, breadth-first and with linkscore, and compare."""
    with lab_errors(), figures_to(json_file) as file:
        from linkscore_lab.experiments.scrapy.demo import run_demo
        from linkscore_lab.experiments.scrapy.servers import running

        service = running(target) if target else None
        found = run_demo(relevant=split(relevant), policy=split(policy), service=service, **options)
        write_json(file, found.rows)


@click.command()
@click.argument("sites", metavar="SITE...", nargs=-1, required=True, type=FILE)
@click.option(
    "--labels",
    multiple=True,
    required=True,
    type=FILE,
    help="TSV of url and page_type; one for all sites, or repeated, one for each.",
)
@click.option(
    "--clusterer",
    "clusterers",
    multiple=True,
    type=click.Choice(CLUSTERERS),
    help="Name of a clusterer; repeatable. [default: all]",
)
@click.option("--page-types", type=FILE, help="TSV of site, page_type and template: templates are classes.")
@click.option(
    "--pages", type=click.IntRange(1), default=1_000, show_default=True, help="Pages sampled of each site."
)
@click.option("--seed", default=1, show_default=True, help="Seed of sample and folds.")
@json_file_option
def cluster(
    sites: tuple[Path, ...], labels: tuple[Path, ...], json_file: Path | None, **options: Any
) -> None:
    """Measure how well page clusterers find the templates of stored, labelled sites (WARC files)."""
    with lab_errors(), figures_to(json_file) as file:
        from linkscore_lab.experiments.clustering.report import run_cluster_report

        run_cluster_report(sites, labels, json_file=file, **options)


@click.command()
@click.argument("archive", type=FILE)
@click.option("--links", type=FILE, help="TSV of page_url, href, label and anchor_text of page flips.")
@click.option("--labels", type=FILE, help="TSV of url and page_type, later pages named like thread_page.")
@json_file_option
def flips(archive: Path, links: Path | None, labels: Path | None, json_file: Path | None) -> None:
    """Measure how well page flips are told, in stored pages with labelled links or page types (WARC file)."""
    if (links is None) == (labels is None):
        raise click.UsageError("name either --links or --labels")
    with lab_errors(), figures_to(json_file) as file:
        from linkscore_lab.experiments.pagination.command import run_by_type, run_page_links

        if links is not None:
            run_page_links(archive, links, file)
        elif labels is not None:
            write_json(file, run_by_type(archive, labels))


@click.command()
@click.argument("labels", metavar="LABELS...", nargs=-1, required=True, type=FILE)
@click.option(
    "--sample",
    type=click.IntRange(1),
    default=30,
    show_default=True,
    help="URLs of each page type to learn from.",
)
@click.option("--paper", is_flag=True, help="Learn by the letter of Jiang 2013.")
@json_file_option
def regexes(labels: tuple[Path, ...], sample: int, paper: bool, json_file: Path | None) -> None:
    """Learn URL expressions of each page type of a site (TSV of url and page_type), and match all URLs."""
    with lab_errors(), figures_to(json_file) as file:
        from linkscore_lab.experiments.page_types.url_regexes import run_regexes

        write_json(file, run_regexes(labels, sample=sample, paper=paper))


@click.command("report")
@click.argument("log", type=FILE)
@click.option("--warc", "archives", multiple=True, type=FILE, help="The site as stored; repeatable.")
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
@click.option("--fit", type=FILE, help="TSV of url and is_news that mining may read.")
@click.option("--judge", type=FILE, help="TSV of url and is_news that mining is judged on.")
@click.option("--labels", type=FILE, help="TSV of url and page_type of the stored site.")
@click.option("--page-types", type=FILE, help="TSV of site, page_type and kind, for hubs of news.")
@click.option("--site", default="", help="Name of the site in that table.  [default: of the archive]")
@json_file_option
@click.option(
    "--workers", type=click.IntRange(0), default=0, help="Processes that read archives; 0 means one a core."
)
def logs_report(log: Path, json_file: Path | None, **options: Any) -> None:
    """Mine the first days of a browse log, and measure on the rest what it foretells.

    With --warc: pages to fetch and to visit for 80 % of the later visits, by each order, and the quality of
    the URL patterns. With --fit and --judge: how well news is found.
    """
    with lab_errors(), figures_to(json_file) as file:
        from linkscore_lab.experiments.browse_logs.report import run_logs_report

        run_logs_report(log, json_file=file, **options)
