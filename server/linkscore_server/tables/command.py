"""`linkscore export tables`: a crawl as Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from linkscore_server.store import Store

# Imported when tables are made. Whoever has no DuckDB is told now.
if find_spec("duckdb") is None:
    raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")

_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("tables")
@click.option("--crawl", envvar="LINKSCORE_CRAWL", required=True, show_envvar=True, help="Id of the crawl.")
@click.option("--out", type=_FOLDER, required=True, help="Folder to write to; tables there are replaced.")
@click.option(
    "--data-dir",
    type=_FOLDER,
    default="./linkscore-data",
    envvar="LINKSCORE_DATA_DIR",
    show_default=True,
    help="Data folder of a server that is not running.",
)
@click.option("--events-only", is_flag=True, help="Only what came in, nothing of what was learned.")
def export_tables(crawl: str, out: Path, data_dir: Path, *, events_only: bool) -> None:
    """Write a crawl as tables in Parquet: fetches, pages, links, rewards, arms, templates, decisions, judged.

    The folder of the server stays as it is. Events that no state has yet are applied, 3 ms each.
    """
    import duckdb

    from linkscore_scoring.engine.events import decode
    from linkscore_scoring.engine.groups import Shard
    from linkscore_server.crawls.libraries import registrable_domain
    from linkscore_server.crawls.opening import opened
    from linkscore_server.tables.files import OF_THE_STATE, TABLES, tables_in
    from linkscore_server.tables.rows import EventRows, add_state

    names = [name for name in TABLES if not (events_only and name in OF_THE_STATE)]
    with _opened(data_dir) as store:
        shards = [key for key in store.shards() if Shard.of(key).crawl == crawl]
        if not shards:
            raise click.ClickException(f"crawl {crawl}: not in {data_dir}")
        secret = store.secret()
        try:
            with tables_in(out, names) as tables:
                for key in shards:
                    group = Shard.of(key).group
                    rows = EventRows(tables, group, secret)
                    shard = store.open(key)
                    for event in shard.events():
                        rows.add(event.seq, decode(event.body))
                    if not events_only:
                        model = opened(shard, ticket_key=secret, domain_of=registrable_domain)
                        add_state(tables, group, model)
        except duckdb.Error as exc:
            raise click.ClickException(f"--out: {exc}") from exc
    for name, count in tables.counts.items():
        click.echo(f"{out / name}.parquet: {count:,} rows")


@contextmanager
def _opened(folder: Path) -> Iterator[Store]:
    """Open a data folder, which no server may have open; errors end the command with their message."""
    from linkscore_scoring.errors import LinkscoreError
    from linkscore_server.data_folder import DataFolder
    from linkscore_server.store import open_store

    if not folder.is_dir():
        raise click.BadParameter(f"Directory '{folder}' does not exist.", param_hint="'--data-dir'")
    try:
        with closing(DataFolder(folder)), closing(open_store(str(folder))) as store:
            yield store
    except (LinkscoreError, OSError) as exc:
        raise click.ClickException(str(exc)) from exc
