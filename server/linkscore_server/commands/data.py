"""`linkscore data`: checks a data folder, and moves crawls between folders and machines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from linkscore_server.data_folder import DataFolder
    from linkscore_server.store import Store

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)
data_dir_option = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default="./linkscore-data",
    envvar="LINKSCORE_DATA_DIR",
    show_default=True,
    help="Data folder of a server that is not running.",
)


@click.group()
def data() -> None:
    """Data folders of servers that are not running: check them, move crawls between them."""


@data.command()
@click.argument("folder", metavar="DIR", type=_FOLDER)
@click.option(
    "--replay",
    is_flag=True,
    help="Also apply all events of each crawl and compare with what the server would open; 3 ms an event.",
)
def check(folder: Path, *, replay: bool) -> None:
    """Read everything in a data folder and say what is wrong; exit 0 if nothing is, 1 if something is."""
    with opened(folder) as (store, beside):
        from linkscore_scoring.engine.events import decode
        from linkscore_server.app import annexes
        from linkscore_server.crawls.libraries import registrable_domain
        from linkscore_server.crawls.opening import unlike_their_replay
        from linkscore_server.store.moving import problems_of

        keys, problems = store.shards(), list(problems_of(store, decode))
        for key in keys:
            problems += [found for annex in annexes() for found in annex.problems(beside, key)]
        if replay and not problems:
            problems += unlike_their_replay(store, registrable_domain)
    for problem in problems:
        click.echo(problem)
    click.echo(f"{folder}: {len(keys)} crawls, {len(problems)} problems", err=bool(problems))
    sys.exit(1 if problems else 0)


@data.command("export")
@click.argument("crawl")
@click.argument("file", type=_FILE)
@data_dir_option
def export(crawl: str, file: Path, data_dir: Path) -> None:
    """Write a crawl into a new file: its events and states, with checksums.

    The secret of tickets is not in it: tickets of links that wait count as none elsewhere, and the links go
    by their URL.
    """
    with opened(data_dir) as (store, _):
        from linkscore_server.store.moving import export_crawl

        export_crawl(store, crawl, file)
    click.echo(f"{file}: crawl {crawl}, {file.stat().st_size:,} bytes")


@data.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@data_dir_option
def import_(file: Path, data_dir: Path) -> None:
    """Add the crawl of a file that `linkscore data export` wrote; a damaged file is refused by name.

    A data folder that is not there is made.
    """
    with opened(data_dir, makes=True) as (store, _):
        from linkscore_server.store.moving import import_crawl

        crawl = import_crawl(store, file)
    click.echo(f"{data_dir}: imported crawl {crawl}")


@contextmanager
def opened(folder: Path, *, makes: bool = False) -> Iterator[tuple[Store, DataFolder]]:
    """Open a data folder, which no server may have open; errors end the command with their message.

    A folder that is not there is an error, unless it `makes` it.
    """
    from linkscore_scoring.errors import LinkscoreError
    from linkscore_server.data_folder import DataFolder
    from linkscore_server.store import open_store

    if not makes and not folder.is_dir():
        raise click.BadParameter(f"Directory '{folder}' does not exist.", param_hint="'--data-dir'")
    try:
        with closing(DataFolder(folder)) as beside, closing(open_store(str(folder))) as store:
            yield store, beside
    except (LinkscoreError, OSError) as exc:
        raise click.ClickException(str(exc)) from exc
