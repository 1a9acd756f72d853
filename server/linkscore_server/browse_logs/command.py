"""`linkscore logs import`: sends browse logs to a server, and says what became of them.

Files are read here, by DuckDB, and sent as columns: that is why the command is the server's and not only the
client's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from linkscore import Client
from linkscore_cli.connection import Connection, online
from linkscore_cli.errors import in_options
from linkscore_cli.output import json_option, print_json
from linkscore_cli.sites import RULES

if TYPE_CHECKING:  # duckdb only when a file is read
    from linkscore_server.browse_logs.reading import LogFile, ReadLog

_TIMEOUT_S = 60.0  # a bound: calls take milliseconds, a batch seconds
_FORMATS = ("csv", "tsv", "json", "combined", "vhost_combined", "parquet")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
@click.option("--format", "format_", type=click.Choice(_FORMATS), help="Format; found out if not given.")
@click.option(
    "--column", "columns", multiple=True, metavar="FIELD=NAME", help="Column of a field; repeatable."
)
@click.option("--host", default="", help="Host of paths in access logs: https://example.org.")
@click.option("--only", "hosts", multiple=True, help="Keep this host and no other; repeatable.")
@json_option
@online
def import_logs(
    files: tuple[Path, ...],
    format_: str | None,
    columns: tuple[str, ...],
    host: str,
    hosts: tuple[str, ...],
    as_json: bool,
    connection: Connection,
) -> None:
    """Take browse logs into a crawl, whose policy is to be one that reads them: news_prefix, say.

    CSV, TSV, JSON lines, Parquet, access logs of Apache and nginx; plain, gzip or zstd. A command that was
    cut short goes on where it was when it is given again.
    """
    import duckdb

    from linkscore_scoring.errors import InvalidInput, LinkscoreError
    from linkscore_server.browse_logs.reading import log_file

    crawl = connection.crawl
    try:
        logs = [log_file(path, format=format_ or "", columns=_pairs(columns), host=host) for path in files]
        with connection.client(timeout_s=_TIMEOUT_S) as client:
            console = Console(stderr=as_json)
            imports = [_send(client, crawl, log, hosts, console) for log in logs]
    except InvalidInput as exc:
        raise click.ClickException(in_options([(p.field, p.rule) for p in exc.problems])) from exc
    except (LinkscoreError, duckdb.Error, OSError) as exc:
        raise click.ClickException(f"{type(exc).__name__}: {exc}") from exc
    if as_json:
        print_json(imports)


def _pairs(columns: tuple[str, ...]) -> dict[str, str]:
    pairs = [column.partition("=") for column in columns]
    for field, _, name in pairs:
        if not field or not name:
            raise click.BadParameter("must have the form FIELD=NAME", param_hint="--column")
    return {field: name for field, _, name in pairs}


def _send(
    client: Client, crawl: str, file: LogFile, hosts: tuple[str, ...], console: Console
) -> dict[str, Any]:
    """Send a file, print and return what became of it; after an error the same command goes on from there."""
    from linkscore_server.browse_logs import reading

    read, left_out = reading.ReadLog(), Counter[str]()
    visits = known = 0
    batches = reading.batches_of(file, hosts, read)
    with closing(batches), _progress(file, read, console) as progress:
        for batch in batches:
            got = client.import_browse_records(
                crawl=crawl, batch_id=batch.batch_id, records=batch.records, left_out=batch.left_out
            )
            left_out.update(batch.left_out if got.duplicate else got.left_out)
            visits += got.visit_count
            known += got.duplicate
            progress()
    console.print(_summary(file.path, read, visits, left_out, known))
    for sample in read.samples:
        console.print(Text(f"  a bad line, letters as a, digits as 9: {sample}"))
    return {
        "file": str(file.path),
        "records": read.records,
        "left_out": +left_out,
        "visits": visits,
        "batches_known": known,
        "bad_lines": read.samples,
    }


@contextmanager
def _progress(file: LogFile, read: ReadLog, console: Console) -> Iterator[Callable[[], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[records]:,} records"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        task = bar.add_task(file.path.name, total=None, records=0)
        yield lambda: bar.update(task, completed=read.records, records=read.records)


def _summary(path: Path, read: ReadLog, visits: int, left_out: Counter[str], skipped: int) -> Table:
    table = Table("", "records", "", title=str(path), title_justify="left")
    table.add_row("read", f"{read.records:,}", f"{skipped:,} batches were there already" if skipped else "")
    for rule, meaning in RULES.items():
        if left_out[rule]:
            table.add_row(rule, f"{left_out[rule]:,}", meaning)
    table.add_row("visits", f"{visits:,}", "new: one a client, page and day")
    return table
