"""`linkscore logs import`: sends browse logs to a server, and says what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import duckdb
import grpc
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import browse_log_service_pb2_grpc as pb_grpc
from linkscore_server.browse_logs.batching import BATCH_RECORDS, Cleaning, ReadLog, batches_of, fingerprint
from linkscore_server.browse_logs.cleaning import RULES
from linkscore_server.browse_logs.formats import LogFile
from linkscore_server.browse_logs.log_files import estimated_records

_TIMEOUT_S = 60.0
_IDS_AT_ONCE = 1_000


class KnownBatches:
    """Asks the server which batches of a file it has, a thousand at a time."""

    def __init__(
        self, stub: pb_grpc.BrowseLogServiceStub, crawl: str, prefix: str, batch_records: int
    ) -> None:
        self._stub = stub
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
            request = pb.GetBrowseStatsRequest(crawl=self._crawl, batch_ids=ids)
            answer = self._stub.GetBrowseStats(request, timeout=_TIMEOUT_S)
            self._known = set(answer.imported_batch_ids)
            self._asked += _IDS_AT_ONCE
        self.skipped += batch_id in self._known
        return batch_id in self._known


def import_logs(
    files: Sequence[LogFile],
    *,
    crawl: str,
    target: str,
    cleaning: Cleaning,
    batch_records: int = BATCH_RECORDS,
    console: Console | None = None,
) -> int:
    """Send files to a crawl, one after the other; prints what became of them, returns the exit code."""
    console = console or Console()
    try:
        with grpc.insecure_channel(target, options=[("grpc.max_send_message_length", 64 << 20)]) as channel:
            stub = pb_grpc.BrowseLogServiceStub(channel)
            for file in files:
                _import(file, stub, f"crawls/{crawl}", cleaning, batch_records, console)
    except grpc.RpcError as error:
        console.print(f"[red]{error.code().name}[/red]: {error.details()}")
        console.print("What was taken in stays; the same command goes on from there.")
        return 1
    except (duckdb.Error, OSError) as error:
        console.print(Text(f"{type(error).__name__}: {error}", style="red"))
        return 1
    return 0


class _Upload:
    """The batches of a file on their way: counts what is sent, and keeps what stopped the reading."""

    def __init__(self, crawl: str, batches: Iterator[pb.ImportBrowseRecordsRequest]) -> None:
        self._crawl = crawl
        self._batches = batches
        self.left_out: Counter[str] = Counter()
        self.error: Exception | None = None

    def messages(self, progress: Callable[[], None]) -> Iterator[pb.ImportBrowseRecordsRequest]:
        """Yield the batches; ends early if the file cannot be read on, which `error` says."""
        try:
            for message in self._batches:
                message.crawl = self._crawl
                self.left_out.update(message.left_out)
                progress()
                yield message
        except (duckdb.Error, OSError) as exc:
            self.error = exc


def _import(
    file: LogFile,
    stub: pb_grpc.BrowseLogServiceStub,
    crawl: str,
    cleaning: Cleaning,
    batch_records: int,
    console: Console,
) -> None:
    known = KnownBatches(stub, crawl, fingerprint(file, cleaning, batch_records), batch_records)
    read, answer = ReadLog(), pb.ImportBrowseRecordsResponse()
    upload = _Upload(crawl, batches_of(file, cleaning, read, is_known=known, batch_records=batch_records))
    with _progress(file, read, console) as progress:
        messages = upload.messages(progress)
        if (first := next(messages, None)) is not None:
            answer = stub.ImportBrowseRecords(chain([first], messages))
        progress()
    if upload.error is not None:
        raise upload.error
    new = Counter(answer.left_out) - upload.left_out
    console.print(_summary(file.path, read, answer.visit_count, read.left_out + new, known.skipped))
    for sample in read.bad.samples:
        console.print(Text(f"  a bad line, letters as a, digits as 9: {sample}"))


@contextmanager
def _progress(file: LogFile, read: ReadLog, console: Console) -> Iterator[Callable[[], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[records]:,} records"))
    with Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        task = bar.add_task(file.path.name, total=estimated_records(file), records=0)
        yield lambda: bar.update(task, completed=read.records, records=read.records)


def _summary(path: Path, read: ReadLog, visits: int, left_out: Counter[str], skipped: int) -> Table:
    table = Table("", "records", "", title=str(path), title_justify="left")
    table.add_row("read", f"{read.records:,}", f"{skipped:,} batches were there already" if skipped else "")
    for rule, meaning in RULES.items():
        if left_out[rule]:
            table.add_row(rule, f"{left_out[rule]:,}", meaning)
    table.add_row("visits", f"{visits:,}", "new: one a client, page and day")
    return table
