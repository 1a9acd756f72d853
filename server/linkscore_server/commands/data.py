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
    help="Also replay each log and compare the state with that of its snapshot; takes 3 ms an event.",
)
def check(folder: Path, *, replay: bool) -> None:
    """Read everything in a data folder and say what is wrong; exit 0 if nothing is, 1 if something is.

    Nothing is changed. A torn end of a log is what a crash leaves and no damage.
    """
    with opened(folder) as store:
        from linkscore_server.crawls.libraries import registrable_domain
        from linkscore_server.storage.check import problems_of_store
        from linkscore_server.storage.replays import unlike_their_replay

        crawls, problems = store.crawls(), 0
        for problem in problems_of_store(store):
            click.echo(problem)
            problems += 1
        if replay and not problems:
            for problem in unlike_their_replay(store, registrable_domain):
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
@data_dir_option
def export(crawl: str, file: Path, data_dir: Path) -> None:
    """Write a crawl into a new file: log, snapshot and browse logs, with checksums.

    The secret of tickets (`ticket.key`) is not in it. Copy that beside if the target folder is new and links
    wait that have tickets; without it they go by their URL.
    """
    with opened(data_dir) as store:
        from linkscore_server.storage.archive import export_crawl

        size = export_crawl(store, crawl, file)
        _tell_cut(store, crawl)
    click.echo(f"{file}: crawl {crawl}, {size:,} bytes")


@data.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@data_dir_option
def import_(file: Path, data_dir: Path) -> None:
    """Add the crawl of a file that `linkscore data export` wrote; a damaged file is refused by name.

    A data folder that is not there is made.
    Servers that run find the crawl when they are started again.
    """
    with opened(data_dir, makes=True) as store:
        from linkscore_server.storage.archive import import_crawl
        from linkscore_server.storage.check import events_of_crawl

        crawl = import_crawl(store, file)
        events = events_of_crawl(store.crawl_folder(crawl), crawl)
        _tell_cut(store, crawl)
    click.echo(f"{data_dir}: imported crawl {crawl} ({events:,} event{'s' if events != 1 else ''})")


def _tell_cut(store: FileStore, crawl: str) -> None:
    from linkscore_server.storage.check import cut_of_crawl

    if said := cut_of_crawl(store.crawl_folder(crawl)):
        click.echo(f"crawl {crawl}: {said}")


@contextmanager
def opened(folder: Path, *, makes: bool = False) -> Iterator[FileStore]:
    """Open a data folder, which no server may have open; errors end the command with their message.

    A folder that is not there is an error, unless it `makes` it.
    """
    from linkscore_server.storage.files import FileStore

    if not makes and not folder.is_dir():
        raise click.BadParameter(f"Directory '{folder}' does not exist.", param_hint="'--data-dir'")
    with plain_failures():
        store = FileStore(folder)
        try:
            yield store
        finally:
            store.close()


@contextmanager
def plain_failures() -> Iterator[None]:
    """End the command with the message of an error."""
    from linkscore_scoring.errors import LinkscoreError

    try:
        yield
    except (LinkscoreError, OSError) as exc:
        raise click.ClickException(str(exc)) from exc
