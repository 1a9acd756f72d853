"""`linkscore data`: checks a data folder, and moves crawls between folders and machines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from importlib.metadata import entry_points
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from linkscore_cli.plugins import CommandGroup
from linkscore_server.settings import ENVIRONMENT_PREFIX, SETTINGS, SNAPSHOTS, STORES, Settings, all_settings

if TYPE_CHECKING:
    from linkscore_server.storage.base import Store
    from linkscore_server.storage.files import FileStore
    from linkscore_server.storage.remote import RemoteLogs

COMMANDS = "linkscore.commands.data"
"""Group of the entry points of commands below `linkscore data`."""

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


def store_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a log that is not in files, as `linkscore serve` has them."""
    stores = entry_points(group=STORES).names | entry_points(group=SNAPSHOTS).names
    found = [entry.load() for entry in sorted(entry_points(group=SETTINGS)) if entry.name in stores]
    own = {one.name: one for more in found for one in fields(more)}
    for setting in (own[name] for name in sorted(own.keys() - {one.name for one in fields(Settings)})):
        command = click.option(
            "--" + setting.name.replace("_", "-"),
            default=setting.default,
            envvar=ENVIRONMENT_PREFIX + setting.name.upper(),
            show_default=True,
            help=setting.metadata["doc"],
        )(command)
    return click.option(
        "--log",
        default="file",
        envvar=f"{ENVIRONMENT_PREFIX}LOG",
        help="SCHEME://HOST:PORT,...: of a server with this log, instead of a data folder.",
    )(command)


@click.group(cls=CommandGroup, entry_group=COMMANDS)
def data() -> None:
    """Data folders of servers that are not running: check them, move crawls between them and other stores."""


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
@store_options
def export(crawl: str, file: Path, data_dir: Path, **log: Any) -> None:
    """Write a crawl into a new file: log, snapshot and browse logs, with checksums.

    The secret of tickets (`ticket.key`) is not in it. Copy that beside if the target folder is new and links
    wait that have tickets; without it they go by their URL. From another store (`--log SCHEME://...`) servers
    may be running, and browse logs stay behind: they are in no log.
    """
    with elsewhere(log) as other, opened(data_dir, beside=file if other else None) as store:
        from linkscore_server.storage.archive import export_crawl

        if other is not None:
            remote, there = other
            remote.to_files(there, crawl, store)
        size = export_crawl(store, crawl, file)
        _tell_cut(store, crawl)
    click.echo(f"{file}: crawl {crawl}, {size:,} bytes")


@data.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@data_dir_option
@store_options
def import_(file: Path, data_dir: Path, **log: Any) -> None:
    """Add the crawl of a file that `linkscore data export` wrote; a damaged file is refused by name.

    A data folder that is not there is made.
    To another store (`--log SCHEME://...`) browse logs stay behind, and what was mined from them goes along.
    Servers that run find the crawl when they are started again.
    """
    with (
        elsewhere(log) as other,
        opened(data_dir, beside=file if other else None, makes=True) as store,
    ):
        from linkscore_server.storage.archive import import_crawl
        from linkscore_server.storage.check import events_of_crawl

        crawl = import_crawl(store, file)
        events = events_of_crawl(store.crawl_folder(crawl), crawl)
        _tell_cut(store, crawl)
        if other is not None:
            remote, there = other
            remote.from_files(store, crawl, there)
    place = log["log"] if other else data_dir
    click.echo(f"{place}: imported crawl {crawl} ({events:,} event{'s' if events != 1 else ''})")


def _tell_cut(store: FileStore, crawl: str) -> None:
    from linkscore_server.storage.check import cut_of_crawl

    if said := cut_of_crawl(store.crawl_folder(crawl)):
        click.echo(f"crawl {crawl}: {said}")


@contextmanager
def opened(folder: Path, *, beside: Path | None = None, makes: bool = False) -> Iterator[FileStore]:
    """Open a data folder, which no server may have open; errors end the command with their message.

    Given a file, the folder is one of the moment beside it: of a crawl on its way from or to another store. A
    folder that is not there is an error, unless it `makes` it.
    """
    from linkscore_server.storage.files import FileStore

    if beside is not None:
        with (
            TemporaryDirectory(prefix="linkscore-", dir=beside.parent) as between,
            opened(Path(between)) as store,
        ):
            yield store
        return
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


@contextmanager
def elsewhere(given: dict[str, Any]) -> Iterator[tuple[RemoteLogs, Store] | None]:
    """Give the store that options name and what opened it, None if they name none."""
    if given["log"] == "file":
        yield None
        return
    from linkscore_scoring.errors import InvalidInput
    from linkscore_server.storage.remote import remote_logs

    with TemporaryDirectory(prefix="linkscore-") as folder:
        settings = all_settings()(data_dir=folder, **given)
        if problems := settings.problems():
            raise click.ClickException(str(InvalidInput(problems)))
        remote = remote_logs(settings)
        assert remote is not None, "log is not file"
        store = remote.open(settings, "linkscore data")
        try:
            yield remote, store
        finally:
            store.close()
