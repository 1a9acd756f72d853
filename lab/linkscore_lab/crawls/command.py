"""`linkscore demo`: what linkscore is worth on a site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from linkscore_cli.output import figures_to, json_file_option, write_json
from linkscore_lab.commands.common import FILE, FOLDER, lab_errors, split


@click.command()
@click.option("--warc", type=FILE, help="Stored site instead of the demonstration site.")
@click.option("--labels", type=FILE, help="TSV of url and page_type.")
@click.option("--relevant", default="", help="Types of target pages, separated by commas.")
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
        from linkscore_lab.crawls.demo import run_demo
        from linkscore_lab.crawls.servers import running

        service = running(target) if target else None
        found = run_demo(relevant=split(relevant), policy=split(policy), service=service, **options)
        write_json(file, found.rows)
