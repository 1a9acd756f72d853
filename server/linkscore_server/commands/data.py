"""`linkscore data`: checks a store, backs it up, moves crawls between stores; `linkscore export tables`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linkscore_server.settings import is_database

if TYPE_CHECKING:
    from linkscore_server.store import Store

_FILE = click.Path(dir_okay=False, path_type=Path)
_GIVEN_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
store_option = click.option(
    "--data-dir",
    default="./linkscore-data",
    envvar="LINKSCORE_DATA_DIR",
    show_default=True,
    help="Data folder, or postgresql://USER@HOST/DATABASE.",
)


@click.group()
def data() -> None:
    """Stores of servers: check them, back them up, move crawls between them."""


@data.command()
@click.argument("data_dir", metavar="DIR", default="./linkscore-data", envvar="LINKSCORE_DATA_DIR")
@click.option(
    "--replay",
    is_flag=True,
    help="Also apply all events anew and compare with the states that are kept; takes 3 ms an event.",
)
def check(data_dir: str, *, replay: bool) -> None:
    """Read everything in a store and say what is wrong; exit 0 if nothing is, 1 if something is.

    DIR is a data folder, or postgresql://USER@HOST/DATABASE. Nothing is changed. A server may be running.
    """
    with opened_store(data_dir) as store:
        from linkscore_scoring.engine.events import decode
        from linkscore_server.crawls.opening import registrable_domain, unlike_their_replay
        from linkscore_server.data_folder import DataFolder
        from linkscore_server.store.moving import problems_of

        beside = DataFolder(None)  # without its lock: a server may have it
        beside.path = None if is_database(data_dir) else Path(data_dir)
        problems = _told(problems_of(store, decode))
        if find_spec("duckdb") is not None:
            from linkscore_server.browse_logs.manager import problems_in

            problems += sum(_told(problems_in(beside, key)) for key in store.shards())
        if replay and not problems:
            problems = _told(unlike_their_replay(store, registrable_domain))
        crawls = {key.partition("@")[0] for key in store.shards()}
        place = _place(store, data_dir)
    click.echo(f"{place}: {len(crawls)} crawls, {problems} problems", err=bool(problems))
    sys.exit(1 if problems else 0)


@data.command()
@click.argument("file", type=_FILE)
@store_option
def backup(file: Path, data_dir: str) -> None:
    """Write all crawls and secrets of a data folder, as of one moment, into a new file.

    A server may be running. Browse logs (`browse` in the folder) are files of their own: copy them too. A
    database in PostgreSQL is backed up by pg_dump.
    """
    with opened_store(data_dir) as store:
        from linkscore_server.store import moving

        size = moving.backup(store, file)
    click.echo(f"{file}: {size:,} bytes")


@data.command()
@click.argument("file", type=_GIVEN_FILE)
@store_option
def restore(file: Path, data_dir: str) -> None:
    """Make a data folder of a backup; one that has crawls already is left as it is."""
    with plain_failures():
        from linkscore_server.store import moving

        moving.restore(file, Path(data_dir))
    click.echo(f"{data_dir}: restored from {file}")


@data.command("export")
@click.argument("crawl")
@click.argument("file", type=_FILE)
@store_option
def export(crawl: str, file: Path, data_dir: str) -> None:
    """Write a crawl into a new file, as a backup with this crawl alone. A server may be running.

    Neither browse logs nor the secret of tickets are in it: links that wait with tickets go by their URL
    where it is imported.
    """
    with opened_store(data_dir) as store:
        from linkscore_server.store.moving import export_crawl

        events = export_crawl(store, crawl, file)
    click.echo(f"{file}: crawl {crawl} ({events:,} events), {file.stat().st_size:,} bytes")


@data.command("import")
@click.argument("file", type=_GIVEN_FILE)
@store_option
def import_(file: Path, data_dir: str) -> None:
    """Add the crawls of a file that `data export` or `data backup` wrote; a damaged one is refused by name.

    A data folder that is not there is made. A server that runs finds the crawl when it is asked for.
    """
    with opened_store(data_dir, makes=True) as store:
        from linkscore_server.store.moving import import_crawls

        for crawl, events in import_crawls(store, file).items():
            click.echo(f"{_place(store, data_dir)}: imported crawl {crawl} ({events:,} events)")


def _place(store: Store, data_dir: str) -> str:
    """Return where a store is as it was named, but for a password."""
    return store.engine.place if store.engine.is_shared else data_dir


def _told(problems: Iterator[str]) -> int:
    count = 0
    for problem in problems:
        click.echo(problem)
        count += 1
    return count


@contextmanager
def opened_store(data_dir: str, *, makes: bool = False) -> Iterator[Store]:
    """Open a store; errors end the command with their message, and so does a folder without one, mostly."""
    with plain_failures():
        from linkscore_server.store import open_store
        from linkscore_server.store.store import FILE

        if not makes and not is_database(data_dir) and not Path(data_dir, FILE).exists():
            raise click.BadParameter(f"'{data_dir}' has no store of linkscore ({FILE}).", param_hint="DIR")
        with closing(open_store(data_dir)) as store:
            yield store


@contextmanager
def plain_failures() -> Iterator[None]:
    """End the command with the message of an error."""
    from linkscore_scoring.errors import LinkscoreError

    try:
        yield
    except (LinkscoreError, OSError, ImportError) as exc:
        raise click.ClickException(str(exc)) from exc


@click.command("tables")
@click.option("--crawl", envvar="LINKSCORE_CRAWL", required=True, show_envvar=True, help="Id of the crawl.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder to write to; tables there are replaced.",
)
@store_option
@click.option("--events-only", is_flag=True, help="Only what came in, nothing of what was learned.")
def export_tables(crawl: str, out: Path, data_dir: str, *, events_only: bool) -> None:
    """Write a crawl as tables in Parquet: fetches, pages, links, rewards, arms, templates, decisions, judged.

    A server may be running; nothing is changed. Events that no state has yet are applied, 3 ms each.
    """
    from linkscore_server.tables import write_tables

    with opened_store(data_dir) as store:
        for name, count in write_tables(store, crawl, out, events_only=events_only).items():
            click.echo(f"{out / name}.parquet: {count:,} rows")
