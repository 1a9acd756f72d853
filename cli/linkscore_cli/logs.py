"""`linkscore logs`: browse logs in, what was mined from them out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from linkscore_cli.logs_report import report
from linkscore_scoring.errors import LinkscoreError

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FORMATS = ("csv", "tsv", "json", "combined", "vhost_combined", "parquet")
_Command = Callable[..., None]


@click.group()
def logs() -> None:
    """Browse logs: what people visit on a site, for policies that learn from it."""


logs.add_command(report)


def _server_options(command: _Command) -> _Command:
    """Give a command the options that name a crawl and its server."""
    folder = click.option("--data-dir", type=_FOLDER, help="Data folder of a server that is not running.")
    target = click.option(
        "--target", default="127.0.0.1:7411", show_default=True, help="Address of the server."
    )
    crawl = click.option("--crawl", required=True, help="Name of the crawl.")
    return crawl(target(folder(command)))


@logs.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@_server_options
@click.option("--format", "format_", type=click.Choice(_FORMATS), help="Format; found out if not given.")
@click.option(
    "--column", "columns", multiple=True, metavar="FIELD=NAME", help="Column of a field; repeatable."
)
@click.option(
    "--columns", "names", default="", help="Names of all columns in order, for files without a header."
)
@click.option("--host", default="", help="Host of paths in access logs: https://example.org.")
@click.option("--only", "hosts", multiple=True, help="Keep this host and no other; repeatable.")
@click.option("--bots", default=None, help="Regular expression of user agents to leave out; empty: none.")
@click.option("--batch-records", default=50_000, show_default=True, help="Lines of a file in one batch.")
def import_(
    files: tuple[Path, ...],
    crawl: str,
    target: str,
    data_dir: Path | None,
    format_: str | None,
    columns: tuple[str, ...],
    names: str,
    host: str,
    hosts: tuple[str, ...],
    bots: str | None,
    batch_records: int,
) -> None:
    """Take browse logs into a crawl.

    CSV, TSV, JSON lines, Parquet, access logs of Apache and nginx; plain, gzip or zstd. A command that was
    cut short goes on where it was when it is given again.
    """
    with _messages(), _address(target, data_dir) as address:
        from linkscore_cli.browse_import import import_logs
        from linkscore_server.browse_logs.batching import Cleaning
        from linkscore_server.browse_logs.cleaning import BOT_AGENTS
        from linkscore_server.browse_logs.log_files import log_file

        order = tuple(name for name in names.split(",") if name)
        how = [
            log_file(path, format=format_ or "", columns=_pairs(columns), names=order, host=host)
            for path in files
        ]
        cleaning = Cleaning(hosts, BOT_AGENTS if bots is None else bots)
        code = import_logs(how, crawl=crawl, target=address, cleaning=cleaning, batch_records=batch_records)
    sys.exit(code)


@logs.command()
@_server_options
@click.option("--site", "sites", multiple=True, help="Host or domain; repeatable. Default: all.")
@click.option("--window", default=0, help="Days to look back from the last; 0: the server's setting.")
@click.option("--labels", type=_FILE, help="Table of url and is_news, to fit the threshold of news on.")
@click.option("--threshold", default=0.0, help="Threshold of news, instead of a fitted one.")
def mine(
    crawl: str,
    target: str,
    data_dir: Path | None,
    sites: tuple[str, ...],
    window: int,
    labels: Path | None,
    threshold: float,
) -> None:
    """Mine browse logs now, and say what policies learned."""
    with _messages(), _address(target, data_dir) as address:
        from linkscore_cli.browse_mine import mine_sites, read_labels

        known = read_labels(labels) if labels else {}
        code = mine_sites(
            sites, crawl=crawl, target=address, window_days=window, labels=known, threshold=threshold
        )
    sys.exit(code)


@logs.command()
@_server_options
def stats(crawl: str, target: str, data_dir: Path | None) -> None:
    """Say what a crawl holds of browse logs."""
    with _messages(), _address(target, data_dir) as address:
        from linkscore_cli.browse_mine import show_stats

        code = show_stats(crawl=crawl, target=address)
    sys.exit(code)


@contextmanager
def _messages() -> Iterator[None]:
    """Turn errors into messages of the command line."""
    try:
        yield
    except (LinkscoreError, OSError) as exc:
        raise click.ClickException(str(exc)) from exc


@contextmanager
def _address(target: str, data_dir: Path | None) -> Iterator[str]:
    if data_dir is None:
        yield target
        return
    from linkscore_server.app import private_server

    with private_server(data_dir) as address:
        yield address


def _pairs(columns: tuple[str, ...]) -> dict[str, str]:
    pairs = [column.partition("=") for column in columns]
    for field, _, name in pairs:
        if not field or not name:
            raise click.BadParameter("must have the form FIELD=NAME", param_hint="--column")
    return {field: name for field, _, name in pairs}
