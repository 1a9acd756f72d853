"""`linkscore export tables`: a crawl as Parquet files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from linkscore_server.commands.data import opened_store, store_option

# Imported when tables are made. Whoever has no DuckDB is told now.
if find_spec("duckdb") is None:
    raise ModuleNotFoundError("No module named 'duckdb'", name="duckdb")


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
    with opened_store(data_dir) as store:
        from linkscore_server.tables import write_tables

        for name, count in write_tables(store, crawl, out, events_only=events_only).items():
            click.echo(f"{out / name}.parquet: {count:,} rows")
