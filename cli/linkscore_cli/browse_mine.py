"""`linkscore logs mine` and `linkscore logs stats`: what browse logs tell, and what there is of them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import grpc
from google.protobuf.timestamp_pb2 import Timestamp
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linkscore.v1 import browse_log_service_pb2 as pb
from linkscore.v1 import browse_log_service_pb2_grpc as pb_grpc
from linkscore_scoring.errors import InvalidInput, InvalidPage
from linkscore_scoring.features.body import decompress
from linkscore_server.browse_logs.cleaning import RULES
from linkscore_server.grpc.convert.names import site_name

_TIMEOUT_S = 60.0
_MINING_TIMEOUT_S = 3_600.0
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_MAX_LABEL_BYTES = 1 << 30
_YES, _NO = ("1", "true", "yes", "news"), ("0", "false", "no", "")


def mine_sites(
    sites: Sequence[str],
    *,
    crawl: str,
    target: str,
    window_days: int = 0,
    labels: Mapping[str, bool] | None = None,
    threshold: float = 0.0,
    console: Console | None = None,
) -> int:
    """Mine sites, all of the crawl if none is named; prints what policies learned, returns the exit code."""
    console = console or Console()
    news = [pb.NewsLabel(url=url, is_news=is_news) for url, is_news in (labels or {}).items()]
    try:
        with grpc.insecure_channel(target, options=[("grpc.max_send_message_length", 64 << 20)]) as channel:
            stub = pb_grpc.BrowseLogServiceStub(channel)
            for site in sites or [found.site for found in _stats(stub, crawl).sites]:
                request = pb.MineSiteRequest(
                    name=site_name(crawl, site),
                    window_days=window_days,
                    news_labels=news,
                    news_threshold=threshold,
                )
                answer = stub.MineSite(request, timeout=_MINING_TIMEOUT_S)
                if not answer.policies:
                    console.print(f"No policy of crawl {crawl} reads browse logs: there is nothing to mine.")
                    return 0
                console.print(_mined(site, answer))
    except grpc.RpcError as error:
        console.print(f"[red]{error.code().name}[/red]: {error.details()}")
        return 1
    return 0


def show_stats(*, crawl: str, target: str, console: Console | None = None) -> int:
    """Print what a crawl holds of browse logs; return the exit code."""
    console = console or Console()
    try:
        with grpc.insecure_channel(target) as channel:
            stats = _stats(pb_grpc.BrowseLogServiceStub(channel), crawl)
    except grpc.RpcError as error:
        console.print(f"[red]{error.code().name}[/red]: {error.details()}")
        return 1
    console.print(_records(stats))
    console.print(_sites(stats))
    return 0


def read_labels(path: Path) -> dict[str, bool]:
    """Return whether pages are news, from a table with the columns url and is_news, tabs or commas between.

    The table may be compressed by gzip or zstd.

    Raises
    ------
    InvalidInput
        If it is no text, a column is missing, or a row says neither yes nor no; names the line.
    """
    lines = _text(path).splitlines()
    table = csv.DictReader(lines, delimiter="\t" if lines and "\t" in lines[0] else ",")
    if not {"url", "is_news"} <= set(table.fieldnames or ()):
        raise InvalidInput(f"{path.name} must have the columns url and is_news", field="labels")
    return {row["url"]: _is_news(row["is_news"], path, table.line_num) for row in table}


def _text(path: Path) -> str:
    """Return the text of a file, plain or compressed."""
    raw = path.read_bytes()
    coding = next((name for magic, name in _MAGIC.items() if raw.startswith(magic)), "")
    try:
        return decompress(raw, coding, max_bytes=_MAX_LABEL_BYTES).decode("utf-8")
    except (InvalidPage, UnicodeDecodeError) as exc:
        raise InvalidInput(f"{path.name} must be a table in UTF-8, got {exc}", field="labels") from exc


def _is_news(value: str, path: Path, line: int) -> bool:
    if value.lower() not in _YES + _NO:
        rule = f"{path.name}, line {line}: is_news must be 1 or 0, got {value[:40]!r}"
        raise InvalidInput(rule, field="labels")
    return value.lower() in _YES


def _stats(stub: pb_grpc.BrowseLogServiceStub, crawl: str) -> pb.GetBrowseStatsResponse:
    found: pb.GetBrowseStatsResponse = stub.GetBrowseStats(
        pb.GetBrowseStatsRequest(crawl=f"crawls/{crawl}"), timeout=_TIMEOUT_S
    )
    return found


def _mined(site: str, answer: pb.MineSiteResponse) -> Table:
    table = Table(title=site, title_justify="left", show_header=False)
    table.add_row("window", f"{answer.window_days} days from {_date(answer.window_start)}")
    table.add_row("visits", f"{answer.visit_count:,} of {answer.page_count:,} pages")
    if answer.left_out_count:
        table.add_row("left out", f"{answer.left_out_count:,} visits of clients that are no people")
    for mined in answer.policies:
        table.add_row(mined.policy, Text(mined.summary))
    return table


def _records(stats: pb.GetBrowseStatsResponse) -> Table:
    table = Table(
        "",
        "records",
        "",
        title=f"{len(stats.days)} days, {stats.batch_count:,} batches",
        title_justify="left",
    )
    table.add_row("visits", f"{stats.visit_count:,}", "one a client, page and day of a batch")
    for rule, count in sorted(stats.left_out.items(), key=lambda item: -item[1]):
        table.add_row(Text(rule), f"{count:,}", RULES.get(rule, "left out by the sender"))
    return table


def _sites(stats: pb.GetBrowseStatsResponse) -> Table:
    table = Table("site", "visits", "first day", "last day", "mined")
    for site in stats.sites:
        mined = f"{site.mined_days} days from {_date(site.mined_start)}" if site.mined_days else "not yet"
        table.add_row(
            Text(site.site), f"{site.visit_count:,}", _date(site.first_day), _date(site.last_day), mined
        )
    return table


def _date(time: Timestamp) -> str:
    return datetime.fromtimestamp(time.seconds, UTC).date().isoformat()
