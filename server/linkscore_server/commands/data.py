"""`linkscore data`: checks a data folder, and moves crawls between folders and machines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from linkscore_server.storage.files import FileStore

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)
_data_dir = click.option(
    "--data-dir",
    type=_FOLDER,
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
def check(folder: Path) -> None:
    """Read everything in a data folder and say what is wrong; exit 0 if nothing is, 1 if something is.

    Nothing is changed. A torn end of a log is what a crash leaves and no damage.
    """
    with _opened(folder) as store:
        from linkscore_server.storage.check import problems_of_store

        crawls, problems = store.crawls(), 0
        for problem in problems_of_store(store):
            click.echo(problem)
            problems += 1
        if not problems:
            for crawl in crawls:
                _tell_cut(store, crawl)
    click.echo(f"{folder}: {len(crawls)} crawls, {problems} problems", err=bool(problems))
    sys.exit(1 if problems else 0)


@data.command("export")
@click.argument("crawl")
@click.argument("file", type=_FILE)
@_data_dir
def export(crawl: str, file: Path, data_dir: Path) -> None:
    """Write a crawl into a new file: log, snapshot and browse logs, with checksums.

    The secret of tickets (`ticket.key`) is not in it. Copy that beside if the target folder is new and links
    wait that have tickets; without it they go by their URL.
    """
    with _opened(data_dir) as store:
        from linkscore_server.storage.archive import export_crawl

        size = export_crawl(store, crawl, file)
        _tell_cut(store, crawl)
    click.echo(f"{file}: crawl {crawl}, {size:,} bytes")


@data.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@_data_dir
def import_(file: Path, data_dir: Path) -> None:
    """Add the crawl of a file that `linkscore data export` wrote; a damaged file is refused by name."""
    with _opened(data_dir) as store:
        from linkscore_server.storage.archive import import_crawl

        crawl = import_crawl(store, file)
        _tell_cut(store, crawl)
    click.echo(f"{data_dir}: crawl {crawl} is there")


def _tell_cut(store: FileStore, crawl: str) -> None:
    from linkscore_server.storage.check import cut_of_crawl

    if said := cut_of_crawl(store.crawl_folder(crawl)):
        click.echo(f"crawl {crawl}: {said}")


@contextmanager
def _opened(folder: Path) -> Iterator[FileStore]:
    """Open a data folder, which no server may have open; errors end the command with their message."""
    from linkscore_scoring.errors import LinkscoreError
    from linkscore_server.storage.files import FileStore

    try:
        store = FileStore(folder)
        try:
            yield store
        finally:
            store.close()
    except (LinkscoreError, OSError) as exc:
        raise click.ClickException(str(exc)) from exc
