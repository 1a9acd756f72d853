"""`linkscore logs report`: what a browse log is worth. It needs the extra ``lab``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from linkscore_scoring.errors import LinkscoreError

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_OUT = click.Path(dir_okay=False, path_type=Path)


@click.command()
@click.argument("log", type=_FILE)
@click.option("--warc", "archives", multiple=True, type=_FILE, help="The site as stored; repeatable.")
@click.option("--days", default=30, show_default=True, help="Days mined, from the first of the log.")
@click.option("--judged", default=0, help="Days judged after them; 0 means to the end of the log.")
@click.option("--fit", type=_FILE, help="TSV of url and is_news that mining may read.")
@click.option("--judge", type=_FILE, help="TSV of url and is_news that mining is judged on.")
@click.option("--labels", type=_FILE, help="TSV of url and page_type of the stored site.")
@click.option("--page-types", type=_FILE, help="TSV of site, page_type and kind, for hubs of news.")
@click.option("--site", default="", help="Name of the site in that table.  [default: of the archive]")
@click.option("--json", "json_file", type=_OUT, help="Write the figures.")
@click.option("--workers", default=0, help="Processes that read archives; 0 means one a core.")
def report(log: Path, **options: Any) -> None:
    """Mine the first days of a browse log, and measure on the rest what it foretells.

    With --warc: pages to fetch and to visit for 80 % of the later visits, by each order, and the quality of
    the URL patterns. With --fit and --judge: how well news is found.
    """
    try:
        from linkscore_lab.experiments.browse_logs.report import run_logs_report

        run_logs_report(log, **options)
    except ImportError as exc:
        raise click.ClickException(f"needs the lab extra: pip install 'linkscore[lab]' ({exc})") from exc
    except LinkscoreError as exc:
        raise click.ClickException(str(exc)) from exc
