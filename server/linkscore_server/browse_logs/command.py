"""`linkscore logs import`: sends browse logs to a server, and says what became of them.

Files are read here, by DuckDB, and sent as columns: that is why the command is the server's and not only the
client's.
"""

from __future__ import annotations

import inspect
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from linkscore import Client
from linkscore.errors import NotFound
from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import policy_pb2
from linkscore_cli.connection import Connection
from linkscore_cli.errors import in_options
from linkscore_cli.logs import RULES, online_or_folder
from linkscore_cli.output import json_option, print_json
from linkscore_cli.policies import PolicyType

if TYPE_CHECKING:  # duckdb only when a file is read
    from linkscore_server.browse_logs.reading import Cleaning, LogFile, ReadLog

# A bound: the calls beside the import itself, which has no deadline, take milliseconds.
_TIMEOUT_S = 60.0
# A tenth of what GetBrowseStats takes.
_IDS_AT_ONCE = 1_000
_LOOK_S = 0.01  # between two looks whether a thread has read its batch; chosen, not measured
_FORMATS = ("csv", "tsv", "json", "combined", "vhost_combined", "parquet")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_FILE)
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
@click.option(
    "--batch-records",
    type=click.IntRange(1, 100_000),
    default=50_000,
    show_default=True,
    help="Lines of a file in one batch.",
)
@click.option("--create", is_flag=True, help="Create the crawl if there is none of that name.")
@click.option(
    "--policy",
    type=PolicyType(),
    help="Policy of a crawl made by --create, one that reads logs: news_prefix.",
)
@json_option
@online_or_folder
def import_logs(
    files: tuple[Path, ...],
    format_: str | None,
    columns: tuple[str, ...],
    names: str,
    host: str,
    hosts: tuple[str, ...],
    bots: str | None,
    batch_records: int,
    create: bool,
    policy: policy_pb2.PolicySpec | None,
    as_json: bool,
    connection: Connection,
) -> None:
    """Take browse logs into a crawl.

    CSV, TSV, JSON lines, Parquet, access logs of Apache and nginx; plain, gzip or zstd. A command that was
    cut short goes on where it was when it is given again.
    """
    import duckdb

    from linkscore_scoring.errors import InvalidInput, LinkscoreError
    from linkscore_server.browse_logs.reading import BOT_AGENTS, Cleaning, log_file

    if policy is not None and not create:
        raise click.UsageError("--policy needs --create: it is for a crawl that is not there yet.")
    crawl, order = connection.crawl, tuple(name for name in names.split(",") if name)
    try:
        logs = [
            log_file(path, format=format_ or "", columns=_pairs(columns), names=order, host=host)
            for path in files
        ]
        cleaning = Cleaning(hosts, BOT_AGENTS if bots is None else bots)
        with connection.client(timeout_s=_TIMEOUT_S) as client:
            if create:
                _create(client, crawl, policy)
            upload = _Upload(client, crawl, cleaning, batch_records, Console(stderr=as_json))
            imports = [upload.send(log) for log in logs]
    except InvalidInput as exc:
        raise click.ClickException(in_options([(p.field, p.rule) for p in exc.problems])) from exc
    except (LinkscoreError, duckdb.Error, OSError) as exc:
        raise click.ClickException(f"{type(exc).__name__}: {exc}") from exc
    if as_json:
        print_json(imports)


def _create(client: Client, crawl: str, policy: policy_pb2.PolicySpec | None) -> None:
    try:
        client.get_crawl(crawl=crawl)
    except NotFound:
        client.create_crawl(crawl=crawl, policy=policy)
        click.echo(f"created: {crawl}", err=True)


def _pairs(columns: tuple[str, ...]) -> dict[str, str]:
    pairs = [column.partition("=") for column in columns]
    for field, _, name in pairs:
        if not field or not name:
            raise click.BadParameter("must have the form FIELD=NAME", param_hint="--column")
    return {field: name for field, _, name in pairs}


class _KnownBatches:
    """Asks the server which batches of a file it has, a thousand at a time."""

    def __init__(self, client: Client, crawl: str, prefix: str, batch_records: int) -> None:
        self._client = client
        self._crawl = crawl
        self._prefix = prefix
        self._step = batch_records
        self._asked = 0
        self._known: set[str] = set()
        self.skipped = 0

    def __call__(self, batch_id: str) -> bool:
        """Say whether the server has a batch, and count it if so."""
        begin = int(batch_id.rpartition("-")[2])
        while begin >= self._asked * self._step:
            numbers = range(self._asked, self._asked + _IDS_AT_ONCE)
            ids = [f"{self._prefix}-{number * self._step}" for number in numbers]
            answer = self._client.get_browse_stats(crawl=self._crawl, batch_ids=ids)
            self._known = set(answer.imported_batch_ids)
            self._asked += _IDS_AT_ONCE
        self.skipped += batch_id in self._known
        return batch_id in self._known


class _Batches:
    """The batches of a file on their way: counts what is sent, and keeps what stopped the reading."""

    def __init__(
        self, batches: Iterator[pb.ImportBrowseRecordsRequest], progress: Callable[[], None]
    ) -> None:
        self._batches = batches
        self._progress = progress
        self.left_out: Counter[str] = Counter()
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[pb.ImportBrowseRecordsRequest]:
        """Yield the batches; ends early if the file cannot be read on, which `error` says.

        What gRPC runs in its own thread must not raise: the call would hang or hide the reason.
        """
        import duckdb

        try:
            for message in self._batches:
                self.left_out.update(message.left_out)
                self._progress()
                yield message
        except (duckdb.Error, OSError) as exc:
            self.error = exc


class _Upload:
    """Sends files to a crawl, one after the other, and prints what became of each."""

    def __init__(
        self, client: Client, crawl: str, cleaning: Cleaning, batch_records: int, console: Console
    ) -> None:
        self._client = client
        self._crawl = crawl
        self._cleaning = cleaning
        self._batch_records = batch_records
        self._console = console

    def send(self, file: LogFile) -> dict[str, Any]:
        """Send a file, return what became of it; after an error the same command goes on from there."""
        from linkscore_server.browse_logs import reading

        size, answer = self._batch_records, pb.ImportBrowseRecordsResponse()
        prefix = reading.fingerprint(file, self._cleaning, size)
        known, read = _KnownBatches(self._client, self._crawl, prefix, size), reading.ReadLog()
        batches = reading.batches_of(file, self._cleaning, read, is_known=known, batch_records=size)
        with _ended(batches), _progress(file, read, self._console) as progress:
            sent = _Batches(batches, progress)
            messages = iter(sent)
            if (first := next(messages, None)) is not None:  # an import of nothing is refused
                answer = self._client.import_browse_records(
                    crawl=self._crawl, batches=chain([first], messages)
                )
            progress()
        if sent.error is not None:
            raise sent.error
        left_out = read.left_out + (Counter(answer.left_out) - sent.left_out)
        self._console.print(_summary(file.path, read, answer.visit_count, left_out, known.skipped))
        for sample in read.samples:
            self._console.print(Text(f"  a bad line, letters as a, digits as 9: {sample}"))
        return {
            "file": str(file.path),
            "records": read.records,
            "left_out": +left_out,
            "visits": answer.visit_count,
            "batches_known": known.skipped,
            "bad_lines": read.samples,
        }


@contextmanager
def _ended(batches: Generator[Any, None, None]) -> Iterator[None]:
    """Let go of the file on leaving; gRPC's thread may be reading its next batch after a failure."""
    try:
        yield
    finally:
        while inspect.getgeneratorstate(batches) == inspect.GEN_RUNNING:
            time.sleep(_LOOK_S)
        batches.close()


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
