"""What the lab adds to the `linkscore` command; it needs the extra ``lab``.

The command line finds commands by their entry points (pyproject.toml) and loads this module to list its help,
so it imports click, and everything heavier when a command runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from linkscore_cli.errors import Number, in_options, needing
from linkscore_cli.output import write_json

_MOST = 1_000_000
"""Of what an option counts: a bound."""

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
OUT = click.Path(dir_okay=False, path_type=Path)


@contextmanager
def lab_errors() -> Iterator[None]:
    """Turn errors of the lab into messages that name options, and a missing library into its extra."""
    with needing("lab"):
        from linkscore_scoring.errors import InvalidInput, LinkscoreError

        try:
            yield
        except InvalidInput as exc:
            raise click.ClickException(in_options([(p.field, p.rule) for p in exc.problems])) from exc
        except LinkscoreError as exc:
            raise click.ClickException(str(exc)) from exc


def split(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas."""
    return tuple(part for part in (piece.strip() for piece in text.split(",")) if part)


_REPLAY_OUTPUTS = ("report", "workers", "browse_logs")


@click.command()
@click.argument("archives", nargs=-1, required=True, type=FILE)
@click.option("--labels", type=FILE, help="TSV of url and page_type.")
@click.option("--relevant", default="", help="Types of target pages, separated by commas; needs --labels.")
@click.option("--relevant-url", default="", help="RE2 expression found in the URL of every target page.")
@click.option("--wanted", default="", help="Query for policies that read words, such as topic.")
@click.option(
    "--warm-start",
    type=FILE,
    multiple=True,
    help="File of `export rules --format experience` to start from; repeatable.",
)
@click.option("--target-type", "targets", multiple=True, help="Page type to crawl for; repeatable.")
@click.option("--policy", "policies", multiple=True, help="NAME[:param=value,...]; repeatable.")
@click.option("--budget", default=None, help="Fetches, or share of the reachable pages.  [default: 25%]")
@click.option(
    "--bound",
    "bounds",
    multiple=True,
    metavar="NAME=NUMBER",
    help="Bound of the budget of a crawl, at which it ends: enough_coverage=0.9; repeatable.",
)
@click.option(
    "--seeds", type=click.IntRange(1, _MOST), default=5, show_default=True, help="Runs of each crawl."
)
@click.option(
    "--starts",
    type=click.IntRange(1, _MOST),
    default=1,
    show_default=True,
    help="Start pages: the entry, others drawn.",
)
@click.option(
    "--examples",
    type=click.IntRange(1, _MOST),
    default=None,
    help="Give the policy this many example pages per type.",
)
@click.option("--feedback", is_flag=True, help="Report the reward after each fetch.")
@click.option(
    "--delay", type=click.IntRange(0, _MOST), default=None, help="Fetches by which feedback comes late."
)
@click.option(
    "--in-flight", type=click.IntRange(1, _MOST), default=None, help="Fetches in flight.  [default: 1]"
)
@click.option("--clusterer", default=None, metavar="NAME", help="How templates are found.")
@click.option(
    "--browse-log", "browse_logs", multiple=True, type=FILE, help="Browse log of a site; repeatable."
)
@click.option("--report", type=OUT, help="Write an HTML report.")
@click.option("--json", "json_out", type=OUT, help="Write the figures here.")
@click.option("--workers", type=click.IntRange(0, 1_024), default=0, help="Processes; 0 means one a core.")
def replay(json_out: Path | None, **options: Any) -> None:
    """Crawl a stored site again under each policy, and compare what they would have found.

    Without an option about target pages, those with much text of their own count.
    """
    with lab_errors():
        from linkscore_lab.replay.session import run_replay, session_of

        outputs = {name: options.pop(name) for name in _REPLAY_OUTPUTS}
        run_replay(session_of(options), json_out=json_out, **outputs)


@click.command("try")
@click.argument("site", default="", metavar="[URL|ARCHIVE]")
@click.option("--fetches", type=click.IntRange(1, _MOST), default=100, show_default=True,
              help="Pages that each of the two orders may fetch.")  # fmt: skip
@click.option("--relevant-url", default="", help="RE2 expression found in the URL of every target page.")
@click.option("--delay", "delay_s", type=Number(0, 3_600), default=1.0, show_default=True,
              help="Seconds between two requests; robots.txt may ask for more.")  # fmt: skip
@click.option("--warc", type=OUT, help="Keep what was fetched from a URL here.")
@click.option("--report", type=OUT, help="Write an HTML report.")
@click.option("--json", "json_out", type=OUT, help="Write the figures here.")
def try_(site: str, json_out: Path | None, **options: Any) -> None:
    """Try linkscore on your site: some fetches breadth-first, as many in its order, and which was better.

    A URL is crawled politely, each page once; an archive is replayed offline; without either it is the
    demonstration site. Without --relevant-url, pages with much text of their own count.
    """
    with lab_errors():
        from linkscore_lab.trial import try_site

        try_site(site, json_out=json_out, **options)


@click.command()
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
@click.option("--json", "json_out", type=OUT, help="Write the figures here.")
def demo(policy: str, json_out: Path | None, **options: Any) -> None:
    """Crawl the demonstration site with real Scrapy, breadth-first and with linkscore, and compare."""
    with lab_errors():
        from linkscore_lab.crawls.demo import run_demo

        write_json(json_out, run_demo(policy=split(policy), **options))
